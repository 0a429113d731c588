"""Substitutes: the words that could replace a word, by both directions of a biLM.

By the context alone, words are predicted as for a blank in ``predict``: by the geometric mean of
the two directions' probabilities. That often yields words that fit the context but are unrelated
to the word ("the *meal* raised its rates"). With the word itself as evidence, each candidate is
weighted by how close its softmax row is to the word's own row,

    log p(w | context, word)  =  log p(w | context) + EVIDENCE * cos(row_w, row_word) + constant

with rows centred on their mean (Arefyev et al. 2020 call this "+embs"). EVIDENCE was chosen on
SemCor: see docs/guide/words.md. A word outside the vocabulary has no row, and no such substitutes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.chunks import chunks_of
from elmokit.embed.embedder import BATCH_TOKENS
from elmokit.embed.load import AnyModel
from elmokit.embed.sentences import Sentence, tokens_of
from elmokit.errors import InputError
from elmokit.pretrain.predict import Guess
from elmokit.pretrain.surprisal.contexts import ContextReader
from elmokit.text.vocabulary import MARKERS

EVIDENCE = 30.0
"""The weight of the word itself, in nats at a cosine of 1."""
PLACES_AT_ONCE = 64
"""Places whose (V,) distributions are computed at once."""
ROUNDING = 1e-4
"""Smaller relative differences between probabilities may be errors of float32."""

Place = tuple[Sequence[str], int]
"""The tokens of a sentence, and the index of the token to replace."""


class Substitutes(NamedTuple):
    """The most likely substitutes of a word.

    The word itself (ignoring case) and the markers are excluded; the probabilities of all other
    words add up to 1.
    """

    tokens: list[str]
    place: int
    by_context: list[Guess]
    """Predicted from the context alone."""
    with_word: list[Guess] | None
    """With the word itself as evidence; None if it is outside the vocabulary."""
    own_log_probability: float | None
    """Log probability of the word itself, given the context; None if outside the vocabulary."""

    @property
    def word(self) -> str:
        """The word that is replaced."""
        return self.tokens[self.place]


def substitutes(model: AnyModel, tokens: Sentence, place: int, top: int = 10) -> Substitutes:
    """Return the most likely substitutes of ``tokens[place]``.

    Args:
        model: what ``elmokit.load`` returns, or a name or path; it needs a softmax.
        tokens: the tokens of a sentence, or a string, which elmokit tokenises.
        place: the index of the token to replace.
        top: how many words to return.

    >>> import elmokit
    >>> found = elmokit.substitutes("en-small", "The bank raised its rates.", 1, top=3)
    >>> found.word, len(found.with_word), len(found.by_context)
    ('bank', 3, 3)
    """
    tokens = tokens_of(tokens)
    if not 0 <= place < len(tokens):
        raise InputError(f"place must be in 0 to {len(tokens) - 1}, got {place}")
    reader = SubstituteReader(model)
    word = tokens[place]
    (by_context,) = next(reader.log_probabilities([(tokens, place)], has_evidence=False))
    own, with_word = None, None
    if reader.knows(word):
        own = float(by_context[reader.words.index(word)])
        (weighted,) = next(reader.log_probabilities([(tokens, place)]))
        with_word = reader.best(weighted, word, top)
    return Substitutes(tokens, place, reader.best(by_context, word, top), with_word, own)


class SubstituteReader:
    """Finds substitutes at many places with one model."""

    def __init__(self, model: AnyModel, evidence: float = EVIDENCE) -> None:
        """``evidence``: the weight of the word itself; see the module docstring."""
        self.contexts = ContextReader(model, "find substitutes")
        self.evidence = evidence
        softmax, vocabulary = self.contexts.output_words
        self.vocabulary, self.words = vocabulary, vocabulary.words
        weight = softmax.weight.detach()
        rows = weight - weight.mean(dim=0)
        self._rows = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)  # (V, P)
        self._is_marker = torch.tensor([word in MARKERS for word in self.words])
        self._by_form: dict[str, list[int]] = {}
        for number, word in enumerate(self.words):
            self._by_form.setdefault(word.casefold(), []).append(number)

    def knows(self, word: str) -> bool:
        """Whether the word is in the vocabulary of the softmax."""
        return word in self.vocabulary

    @torch.no_grad()
    def log_probabilities(
        self, places: Sequence[Place], has_evidence: bool = True
    ) -> Iterator[Tensor]:
        """Blocks of (n, V) log probabilities, in the order of the places.

        ``has_evidence``: use the word itself as evidence if it is in the vocabulary.
        """
        softmax, _ = self.contexts.output_words
        for start in range(0, len(places), PLACES_AT_ONCE):
            some = places[start : start + PLACES_AT_ONCE]
            logits = softmax(self._states(some))  # (n, V)
            if has_evidence:
                numbers = torch.from_numpy(
                    self.vocabulary.ids(tokens[place] for tokens, place in some)
                ).to(logits.device)
                is_known = (numbers != self.vocabulary.unknown)[:, None]
                similarity = self._rows[numbers] @ self._rows.t()  # (n, V)
                logits += similarity.mul_(self.evidence * is_known)
            yield logits.log_softmax(dim=1).cpu()

    def best(self, log_probabilities: Tensor, word: str, top: int) -> list[Guess]:
        """The ``top`` words of one (V,) row, without the markers and ``word`` (ignoring case)."""
        values = self.without_words(log_probabilities[None], [word])[0]
        found = values.topk(min(top, int(values.isfinite().sum())))
        return [
            Guess(self.words[number], value)
            for value, number in zip(found.values.tolist(), found.indices.tolist(), strict=True)
        ]

    def without_words(self, log_probabilities: Tensor, words: Sequence[str]) -> Tensor:
        """(n, V) without the markers and each row's own word, renormalised."""
        values = log_probabilities.masked_fill(self._is_marker, -torch.inf)
        for row, word in enumerate(words):
            values[row, self._by_form.get(word.casefold(), [])] = -torch.inf
        return values.log_softmax(dim=1)

    def typical(self, groups: Sequence[Sequence[Place]], top: int = 10) -> list[list[str]]:
        """For each group of places, the substitutes that distinguish it from the others.

        A word's score is p log(p / q): p is its mean probability in the group, q the mean of p over
        all groups; words at or below zero do not distinguish the group and are left out. For a
        single group, the most likely substitutes are returned.
        """
        means = np.stack([self._mean_probabilities(places) for places in groups])  # (G, V)
        overall = means.mean(axis=0)
        tiny = np.finfo(np.float64).tiny
        scores = means if len(groups) == 1 else means * np.log((means + tiny) / (overall + tiny))
        return [
            [
                self.words[number]
                for number in np.argsort(-row, kind="stable")[:top]
                if row[number] > ROUNDING * mean[number]
            ]
            for row, mean in zip(scores, means, strict=True)
        ]

    def _mean_probabilities(self, places: Sequence[Place]) -> npt.NDArray[np.float64]:
        """(V,) mean over the places; the word at each place is excluded."""
        total, start = np.zeros(len(self.words)), 0
        for block in self.log_probabilities(places):
            words = [tokens[place] for tokens, place in places[start : start + len(block)]]
            total += self.without_words(block, words).exp().sum(dim=0, dtype=torch.float64).numpy()
            start += len(block)
        return total / max(len(places), 1)

    def _states(self, places: Sequence[Place]) -> Tensor:
        """(n, P): the mean of the forward and backward states that predict each word."""
        found: dict[int, Tensor] = {}
        for chunk in chunks_of([len(tokens) for tokens, _ in places], BATCH_TOKENS):
            contexts = self.contexts.read([places[number][0] for number in chunk])
            for row, number in enumerate(chunk):
                place = places[number][1]
                found[number] = (contexts.forward[row, place] + contexts.backward[row, place]) / 2
        return torch.stack([found[number] for number in range(len(places))])
