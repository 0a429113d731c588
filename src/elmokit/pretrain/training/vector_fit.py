"""THE TOKEN ENCODER LEARNS STATIC VECTORS: words have meanings before the biLM reads a text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.token_encoder import TokenEncoder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.progress import meter
from elmokit.text.token_ids import TokenIds, Utf8Characters

_WORDS_PER_STEP = 512
_RATE = 0.003
_WARMUP_SHARE = 0.03
_WORDS_AT_ONCE = 4096
_RIDGE = 1e-4


@dataclass
class KnownWords:
    """K words that have a static vector: their characters (K, C), and how often each is drawn."""

    characters: Tensor
    often: Tensor

    @classmethod
    def of(cls, bilm: BiLm, corpus: Corpus, known: Tensor) -> "KnownWords":
        """The words ``known`` (K,) of the corpus; drawn by the root of their count."""
        cnn = bilm.config.char_cnn
        if cnn is None or bilm.config.words is not None:
            raise InputError("train.vectors needs a model without a word table; leave it out")
        characters = Utf8Characters(cnn.max_characters)
        ids = torch.from_numpy(corpus.lexicon.characters(known.numpy(), characters))
        counts = np.maximum(corpus.lexicon.counts[known.numpy()], 1.0)
        return cls(ids, torch.from_numpy(np.sqrt(counts)).float())

    @torch.no_grad()
    def encode(self, encoder: TokenEncoder) -> Tensor:
        """(K, P): the token vectors of all words."""
        return torch.cat(
            [encoder(TokenIds(rows, None)) for rows in torch.split(self.characters, _WORDS_AT_ONCE)]
        )


def fit_to_goals(encoder: TokenEncoder, words: KnownWords, goals: Tensor, num_steps: int) -> None:
    """Fit the token vectors to ``goals`` (K, P), by least squares."""
    scale = goals.pow(2).mean()

    def unexplained(found: Tensor, drawn: Tensor) -> tuple[Tensor, float]:
        loss = (found - goals[drawn]).pow(2).mean() / scale
        return loss, loss.item()

    _fit(encoder, words, num_steps, unexplained, encoder.parameters())


def teach_vectors(bilm: BiLm, words: KnownWords, vectors: Tensor, num_steps: int) -> None:
    """Change the token vectors so that a linear map tells ``vectors`` (K, E) from them.

    The biLM has been trained with the token vectors as they were, so a change costs as much as it
    moves the gates of the first layers.
    """
    before = words.encode(bilm.encoder)  # (K, P)
    gates = torch.cat(
        [
            stack.get_parameter("layers.0.input_weight").detach()
            for stack in (bilm.forward_lstm, bilm.backward_lstm)
        ],
        dim=1,
    )  # (P, 8H)
    metric = gates @ gates.t()  # (P, P)
    shares = (words.often / words.often.sum())[:, None]
    centred = before - (before * shares).sum(dim=0)
    size = ((centred @ metric) * centred * shares).sum()
    variance = ((vectors - (vectors * shares).sum(dim=0)).square() * shares).sum()
    reader = nn.Parameter(least_squares(before, vectors, shares))  # (P + 1, E)

    def unexplained(found: Tensor, drawn: Tensor) -> tuple[Tensor, float]:
        told = found @ reader[:-1] + reader[-1]
        missing = (vectors[drawn] - told).square().sum(dim=1).mean() / variance
        change = found - before[drawn]
        moved = ((change @ metric) * change).sum(dim=1).mean() / size
        return missing + moved, missing.item()

    _fit(bilm.encoder, words, num_steps, unexplained, [*bilm.encoder.parameters(), reader])


def _fit(
    encoder: TokenEncoder,
    words: KnownWords,
    num_steps: int,
    unexplained: Callable[[Tensor, Tensor], tuple[Tensor, float]],
    parameters: Iterable[nn.Parameter],
) -> None:
    """``unexplained``: of the words drawn, the loss and the share of the variance."""
    optimizer = torch.optim.Adam(list(parameters), lr=_RATE)
    with meter("fitting the characters to the vectors", "steps", num_steps) as steps:
        for step in range(num_steps):
            warmth = min(1.0, (step + 1) / (_WARMUP_SHARE * num_steps))
            optimizer.param_groups[0]["lr"] = _RATE * warmth * (1 - step / num_steps)
            drawn = torch.multinomial(words.often, _WORDS_PER_STEP, replacement=True)
            loss, missing = unexplained(encoder(TokenIds(words.characters[drawn], None)), drawn)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            steps.advance(1, f"{1 - missing:.0%} of the variance")
    optimizer.zero_grad(set_to_none=True)


def least_squares(inputs: Tensor, goals: Tensor, shares: Tensor) -> Tensor:
    """The map (P + 1, E) from ``inputs`` (K, P) and a constant to ``goals`` (K, E)."""
    ones = torch.cat([inputs, torch.ones(len(inputs), 1)], dim=1).double()
    ridge = _RIDGE * torch.eye(ones.shape[1], dtype=ones.dtype)
    weighted = ones * shares
    found: Tensor = torch.linalg.solve(ones.t() @ weighted + ridge, weighted.t() @ goals.double())
    return found.float()
