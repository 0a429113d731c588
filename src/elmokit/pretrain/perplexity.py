"""HELD-OUT PERPLEXITY by the full softmax, over all predictions, including ``<UNK>`` targets."""

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.lstm import LstmStack, LstmState
from elmokit.model.softmax import Softmax
from elmokit.model.two_directions import run_both
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.corpus.corpus import Corpus, Split
from elmokit.pretrain.training.batches import BatchMaker, distinct_types
from elmokit.pretrain.training.windows import UNKNOWN, Ints, Lanes, Window, Windows
from elmokit.progress import meter
from elmokit.weights.pretrained import PretrainedModel

StateMode = Literal["fresh", "carried"]
"""The initial state of a sentence: ``fresh``, zeros; ``carried``, the previous final state."""
Floats = npt.NDArray[np.float64]
HEADER = (
    "text", "forward", "backward", "mean", "bits/character", "predictions per direction", "<UNK>",
)  # fmt: skip
MAX_LANES, WINDOW = 64, 32
_STRETCH = 20
"""Consecutive sentences that a sample keeps together if state is carried between them."""


class Perplexity(NamedTuple):
    """How well a biLM predicts a text; lower is better.

    ``bits_per_character`` is the mean of both directions: the bits of all predictions (the words
    and the end of every sentence) over the characters of all words plus one per word, for the
    space after it. Characters are Unicode code points. Unlike perplexity it can be compared
    between models with different vocabularies, with one reservation: a word that is ``<UNK>`` to a
    model costs only the bits of ``<UNK>``, so the model with more of these has an advantage.
    """

    forward: float
    backward: float
    start: StateMode
    num_predictions: int  # per direction
    unknown_rate: float  # the share of <UNK> among the targets
    bits_per_character: float

    @property
    def mean(self) -> float:
        """The mean of both directions' perplexities."""
        return (self.forward + self.backward) / 2

    def line(self) -> str:
        """A short form for the training log."""
        return (
            f"held-out perplexity {self.mean:.2f} (forward {self.forward:.2f}, backward "
            f"{self.backward:.2f}; {self.num_predictions:,} predictions)"
        )

    def to_log(self) -> dict[str, Any]:
        """The values by their names in log.jsonl."""
        return {
            "forward_perplexity": self.forward,
            "backward_perplexity": self.backward,
            "mean_perplexity": self.mean,
            "start": self.start,
            "predictions": self.num_predictions,
            "unknown_rate": self.unknown_rate,
            "bits_per_character": self.bits_per_character,
        }

    def __str__(self) -> str:
        return (
            f"perplexity (full softmax, {self.start} start): forward {self.forward:.2f}, "
            f"backward {self.backward:.2f}, mean {self.mean:.2f} "
            f"over {self.num_predictions:,} predictions per direction, "
            f"{self.unknown_rate:.2%} of the targets <UNK>"
        )


class PerplexityByKind(NamedTuple):
    """The perplexity of a whole text, and of each kind of text in it."""

    overall: Perplexity
    kinds: dict[str, Perplexity]
    """By kind, in the order of the corpus; kinds without sentences are left out."""

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The cells of a table under ``HEADER``: one row per kind, then all text together."""
        return tuple(
            (
                name,
                f"{each.forward:.2f}",
                f"{each.backward:.2f}",
                f"{each.mean:.2f}",
                f"{each.bits_per_character:.3f}",
                f"{each.num_predictions:,}",
                f"{each.unknown_rate:.2%}",
            )
            for name, each in [*self.kinds.items(), ("all", self.overall)]
        )

    def to_plain(self, by_kind: bool = True) -> dict[str, Any]:
        """Plain values for JSON."""
        kinds = {name: each.to_log() for name, each in self.kinds.items()}
        return {"all": self.overall.to_log(), **({"kinds": kinds} if by_kind else {})}


class _Sums:
    """Sums over the predictions of each of K kinds."""

    def __init__(self, num_kinds: int) -> None:
        self.nats = np.zeros((2, num_kinds))  # forward, backward
        self.predictions = np.zeros(num_kinds)
        self.unknown = np.zeros(num_kinds)
        self.characters = np.zeros(num_kinds)  # of the words, and a space after each

    def perplexity(self, kinds: slice, start: StateMode) -> Perplexity:
        nats = self.nats[:, kinds].sum(axis=1)
        count = int(self.predictions[kinds].sum())
        bits = float(nats.mean()) / math.log(2)
        forward, backward = (math.exp(total / count) for total in nats)
        return Perplexity(
            forward,
            backward,
            start,
            count,
            float(self.unknown[kinds].sum()) / count,
            bits / max(float(self.characters[kinds].sum()), 1.0),
        )


def measure_perplexity(
    bilm: BiLm,
    softmax: Softmax,
    corpus: Corpus,
    split: Split,
    start: StateMode = "fresh",
    max_tokens: int | None = None,
    quiet: bool = False,
) -> Perplexity:
    """The perplexity of one part of a corpus; see ``measure_by_kind``."""
    return measure_by_kind(bilm, softmax, corpus, split, start, max_tokens, quiet).overall


@torch.no_grad()
def measure_by_kind(
    bilm: BiLm,
    softmax: Softmax,
    corpus: Corpus,
    split: Split,
    start: StateMode = "fresh",
    max_tokens: int | None = None,
    quiet: bool = False,
) -> PerplexityByKind:
    """The perplexity of one part of a corpus, as a whole and by kind of text.

    Args:
        bilm: The language model.
        softmax: Its softmax, over the vocabulary of ``corpus``.
        corpus: Where ``split`` is from.
        split: The part to measure on, such as ``corpus.heldout``.
        start: The state that every sentence starts from.
        max_tokens: Measure on a sample of about this many tokens; None: all of them.
        quiet: Show no progress.
    """
    split = corpus.sample(split, max_tokens, _STRETCH if start == "carried" else 1)
    num_lanes = max(1, min(MAX_LANES, len(split.starts)))
    windows = Windows(split, corpus.num_words, Lanes(num_lanes, 0, num_lanes), WINDOW, seed=0)
    maker = BatchMaker(corpus, windows, bilm.config, TrainConfig(), rank=0)
    states = list(bilm.zero_state(num_lanes))
    names = corpus.kinds if split.kinds is not None else []
    sums = _Sums(max(1, len(names)))
    with meter("measuring perplexity", "tokens", windows.num_positions, quiet) as progress:
        for step in range(windows.all_steps()):
            window = windows.at(0, step)
            kinds = np.zeros_like(window.sentence)
            if names and split.kinds is not None:
                kinds = split.kinds[window.sentence]
            types, rows = distinct_types(window)
            found = _both_directions(bilm, softmax, maker, window, types, rows, states, start)
            states = [state for _, state in found]
            _add_up(sums, window, kinds, [nats for nats, _ in found])
            characters = corpus.lexicon.num_characters(types)[rows[0].numpy()].reshape(kinds.shape)
            is_word = window.is_real & ~window.is_start
            sums.characters += _by_kind(sums, kinds[is_word], characters[is_word] + 1)
            progress.advance(int(window.is_real.sum()))
    return PerplexityByKind(
        sums.perplexity(slice(None), start),
        {
            name: sums.perplexity(slice(number, number + 1), start)
            for number, name in enumerate(names)
            if sums.predictions[number]
        },
    )


def _add_up(sums: _Sums, window: Window, kinds: Ints, nats: list[Floats]) -> None:
    """Add a window's predictions; ``nats``: of its real predictions, for each direction."""
    real_kinds = kinds[window.is_real]
    for side, values in enumerate(nats):
        sums.nats[side] += _by_kind(sums, real_kinds, values)
    is_unknown = window.forward.targets[window.is_real] == UNKNOWN
    sums.unknown += _by_kind(sums, real_kinds, is_unknown)
    sums.predictions += _by_kind(sums, real_kinds, np.ones(len(real_kinds)))


def _by_kind(sums: _Sums, kinds: Ints, values: npt.NDArray[Any]) -> Floats:
    """(K,) the sum of the values of each kind."""
    found = np.bincount(kinds, weights=values, minlength=len(sums.predictions))
    return found.astype(np.float64)


def perplexity_of(
    model: PretrainedModel,
    data: Path,
    part: Literal["heldout", "train"],
    start: StateMode,
) -> Perplexity:
    """The perplexity of a model with a softmax; see ``perplexity_by_kind``."""
    return perplexity_by_kind(model, data, part, start).overall


def perplexity_by_kind(
    model: PretrainedModel,
    data: Path,
    part: Literal["heldout", "train"] = "heldout",
    start: StateMode = "fresh",
    max_tokens: int | None = None,
) -> PerplexityByKind:
    """The perplexity of a model with a softmax, on a corpus prepared with its vocabulary.

    Args:
        model: As ``load_pretrained`` returns it.
        data: The folder of the corpus.
        part: Which part of the corpus.
        start: The state that every sentence starts from.
        max_tokens: Measure on a sample of about this many tokens; None: all of them.
    """
    if model.output_words is None:
        raise InputError(
            f"{model.source}: this model has no softmax; give it one with  elmokit finetune"
        )
    corpus = Corpus.open(data)
    if corpus.vocabulary.words != model.output_words.vocabulary.words:
        raise InputError(
            f"{data}: was not prepared with the vocabulary of {model.source}; perplexities over "
            f"different vocabularies cannot be compared: prepare the same text with  --vocabulary "
            f"{model.source}, measure on that, and compare bits per character"
        )
    split = corpus.heldout if part == "heldout" else corpus.train
    if split.num_sentences == 0:
        raise InputError(f"{data}: its {part} part is empty; prepare a corpus with {part} text")
    return measure_by_kind(model.bilm, model.output_words.softmax, corpus, split, start, max_tokens)


def _both_directions(
    bilm: BiLm,
    softmax: Softmax,
    maker: BatchMaker,
    window: Window,
    types: Ints,
    rows: tuple[torch.Tensor, torch.Tensor],
    states: list[LstmState],
    start: StateMode,
) -> tuple[tuple[Floats, LstmState], tuple[Floats, LstmState]]:
    """For each direction, the nats of a window's real predictions and the state after it."""
    ids = maker.token_ids(types)
    device = bilm.device
    table = bilm.encoder(ids.to(device))
    is_real = torch.from_numpy(window.is_real.reshape(-1)).to(device)
    keep = None
    if start == "fresh":
        keep = torch.from_numpy(~window.is_start).to(device, table.dtype).reshape(-1, 1)

    @torch.no_grad()
    def run(stack: LstmStack, side: int) -> tuple[Floats, LstmState]:
        batch_sizes = [window.is_start.shape[1]] * len(window.is_start)
        outputs, state = stack(table[rows[side].to(device)], batch_sizes, states[side], keep)
        targets = torch.from_numpy((window.forward, window.backward)[side].targets.reshape(-1))
        losses = softmax.negative_log_likelihoods(outputs[-1][is_real], targets.to(device)[is_real])
        nats: Floats = losses.double().cpu().numpy()
        return nats, state

    return run_both(lambda: run(bilm.forward_lstm, 0), lambda: run(bilm.backward_lstm, 1), device)
