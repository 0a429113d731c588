"""HELD-OUT PERPLEXITY by the full softmax: every prediction counted, ``<UNK>`` targets too."""

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.lstm import LstmStack, LstmState
from elmokit.model.side_by_side import side_by_side
from elmokit.model.softmax import Softmax
from elmokit.pretrain.batches import BatchMaker, distinct_types
from elmokit.pretrain.corpus import Corpus, Split
from elmokit.pretrain.recipe import TrainConfig
from elmokit.pretrain.windows import UNKNOWN, Lanes, Window, Windows
from elmokit.progress import meter
from elmokit.text.token_ids import TokenIds
from elmokit.weights.pretrained import PretrainedModel

Start = Literal["fresh", "carried"]
MAX_LANES, WINDOW = 64, 32


class Perplexity(NamedTuple):
    """Of both directions, from a stated start, over ``num_predictions`` a direction."""

    forward: float
    backward: float
    start: Start
    num_predictions: int
    unknown_rate: float

    @property
    def mean(self) -> float:
        return (self.forward + self.backward) / 2

    def __str__(self) -> str:
        return (
            f"perplexity (full softmax, {self.start} start): forward {self.forward:.2f}, "
            f"backward {self.backward:.2f}, mean {self.mean:.2f} "
            f"over {self.num_predictions:,} predictions a direction, "
            f"{self.unknown_rate:.2%} of the targets <UNK>"
        )


@torch.no_grad()
def measure_perplexity(
    bilm: BiLm,
    softmax: Softmax,
    corpus: Corpus,
    split: Split,
    start: Start = "fresh",
    max_tokens: int | None = None,
    quiet: bool = False,
) -> Perplexity:
    """``fresh``: every sentence from zeros; ``carried``: from the state the last one left."""
    split = split.head(max_tokens)
    num_lanes = max(1, min(MAX_LANES, len(split.starts)))
    windows = Windows(split, len(corpus.vocabulary), Lanes(num_lanes, 0, num_lanes), WINDOW, seed=0)
    maker = BatchMaker(corpus, windows, bilm.config, TrainConfig(), rank=0)
    states = list(bilm.zero_state(num_lanes))
    nats, unknown = np.zeros(2), 0
    with meter("perplexity", "tokens", windows.num_positions, quiet) as progress:
        for step in range(windows.all_steps()):
            window = windows.at(0, step)
            found = _both_directions(bilm, softmax, maker, window, states, start)
            nats += [nats_of_side for nats_of_side, _ in found]
            states = [state for _, state in found]
            unknown += int((window.forward.targets[window.is_real] == UNKNOWN).sum())
            progress.advance(int(window.is_real.sum()))
    count = windows.num_positions
    forward, backward = (math.exp(total / count) for total in nats)
    return Perplexity(forward, backward, start, count, unknown / count)


def perplexity_of(
    model: PretrainedModel, data: Path, part: Literal["heldout", "train"], start: Start
) -> Perplexity:
    """Of a model with a softmax, on a corpus prepared with the model's vocabulary."""
    if model.output_words is None:
        raise InputError(
            f"{model.source}: this model has no softmax; give it one with  elmokit finetune"
        )
    corpus = Corpus.open(data)
    if corpus.vocabulary.words != model.output_words.vocabulary.words:
        raise InputError(
            f"{data}: was not prepared with the vocabulary of {model.source}; perplexities over "
            f"different vocabularies cannot be compared: prepare it with  --vocabulary vocab.txt"
        )
    split = corpus.heldout if part == "heldout" else corpus.train
    return measure_perplexity(model.bilm, model.output_words.softmax, corpus, split, start)


def _both_directions(
    bilm: BiLm,
    softmax: Softmax,
    maker: BatchMaker,
    window: Window,
    states: list[LstmState],
    start: Start,
) -> tuple[tuple[float, LstmState], tuple[float, LstmState]]:
    """For each direction, the nats of a window's predictions and the state after it."""
    types, rows = distinct_types(window)
    ids = maker.token_ids(types)
    device = bilm.device
    table = bilm.encoder(TokenIds(*(None if p is None else p.to(device) for p in ids)))
    is_real = torch.from_numpy(window.is_real.reshape(-1)).to(device)
    keep = None
    if start == "fresh":
        keep = torch.from_numpy(~window.is_start).to(device, table.dtype).reshape(-1, 1)

    @torch.no_grad()
    def run(stack: LstmStack, side: int) -> tuple[float, LstmState]:
        batch_sizes = [window.is_start.shape[1]] * len(window.is_start)
        outputs, state = stack(table[rows[side].to(device)], batch_sizes, states[side], keep)
        targets = torch.from_numpy((window.forward, window.backward)[side].targets.reshape(-1))
        losses = softmax.negative_log_likelihoods(outputs[-1][is_real], targets.to(device)[is_real])
        return losses.double().sum().item(), state

    return side_by_side(
        lambda: run(bilm.forward_lstm, 0), lambda: run(bilm.backward_lstm, 1), device
    )
