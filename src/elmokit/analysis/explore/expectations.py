"""The words that the forward model, the backward model and both expect at each position."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from elmokit.analysis.explore.exploration import Expected, TokenExpectations
from elmokit.pretrain.surprisal.contexts import ContextReader
from elmokit.text.vocabulary import MARKERS

PLACES_AT_ONCE = 32
"""Positions per softmax call; each needs three rows as long as the vocabulary."""


class ExpectationReader:
    """Computes the expectations of one sentence at a time with the same model."""

    def __init__(self, contexts: ContextReader, top: int = 8) -> None:
        """``top``: how many words per position and direction."""
        self._contexts = contexts
        self._top = top
        words = contexts.output_words.vocabulary.words
        self._is_marker = torch.tensor([word in MARKERS for word in words])

    @torch.no_grad()
    def read(self, tokens: Sequence[str]) -> tuple[TokenExpectations, ...]:
        """One result per token, by the full softmax."""
        if not tokens:
            return ()
        contexts = self._contexts.read([tokens])
        softmax = self._contexts.output_words.softmax
        found: list[TokenExpectations] = []
        for start in range(0, len(tokens), PLACES_AT_ONCE):
            part = slice(start, start + PLACES_AT_ONCE)
            logits = torch.stack(
                [softmax(states[0, part]) for states in (contexts.forward, contexts.backward)]
            )
            # The geometric mean of the two probabilities, normalised again: as in ``predict``.
            both = torch.cat([logits, logits.mean(dim=0, keepdim=True)])  # (3, n, V)
            found += self._places(both.log_softmax(dim=-1).cpu(), tokens[part])
        return tuple(found)

    def _places(self, log_p: Tensor, tokens: Sequence[str]) -> list[TokenExpectations]:
        vocabulary = self._contexts.output_words.vocabulary
        top = min(self._top, len(vocabulary) - len(MARKERS))
        best = log_p.masked_fill(self._is_marker, -math.inf).topk(top, dim=-1)
        found = []
        for place, token in enumerate(tokens):
            forward, backward, both = (
                tuple(
                    Expected(vocabulary.words[number], round(math.exp(value), 5))
                    for value, number in zip(
                        best.values[way, place].tolist(),
                        best.indices[way, place].tolist(),
                        strict=True,
                    )
                )
                for way in range(3)
            )
            bits: list[float | None] = [None] * 3
            if token in vocabulary:
                values = log_p[:, place, vocabulary.id_of(token)] / -math.log(2)
                bits = [round(value, 2) for value in values.tolist()]
            found.append(TokenExpectations(forward, backward, both, (bits[0], bits[1], bits[2])))
        return found
