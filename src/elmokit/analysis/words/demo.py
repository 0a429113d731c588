"""A first look: the same word in two senses has two vectors.

The two pairs of sentences are those of the README and of the paper's Table 4. The other sentences
were written before any model had been run on them, and must not be changed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.output.pictures import Picture, panels
from elmokit.analysis.output.tables import Table
from elmokit.analysis.words.compare import UNCASED
from elmokit.analysis.words.occurrences import cosine, find_word, occurrence_vectors


class Case(NamedTuple):
    """A word, a sentence for each of two senses, and more sentences of each sense."""

    word: str
    senses: tuple[str, str]
    sentences: tuple[str, str]
    alike: tuple[tuple[str, ...], tuple[str, ...]]


CASES = (
    Case(
        "apple",
        ("fruit", "company"),
        ("I'd like to eat an apple.", "I like the products of Apple."),
        (
            (
                "She peeled an apple and cut it into slices.",
                "There was a single red apple left on the tree.",
            ),
            (
                "Apple announced a new phone on Tuesday.",
                "He has worked for Apple as an engineer since 2005.",
            ),
        ),
    ),
    Case(
        "play",
        ("sport", "theatre"),
        (
            "Chico Ruiz made a spectacular play on Alusik's grounder.",
            "Olivia De Havilland signed to do a Broadway play for Garson.",
        ),
        (
            (
                "The shortstop made a great play to end the inning.",
                "It was the best defensive play of the game.",
            ),
            (
                "She wrote a play about two sisters that opened in London last spring.",
                "The actor is best known for his role in a play by Shakespeare.",
            ),
        ),
    ),
)


@dataclass(frozen=True)
class CaseResult:
    """Cosine similarities at each layer, averaged over the sentences of a sense."""

    case: Case
    apart: tuple[float, ...]
    """Similarity of the two occurrences."""
    alike: tuple[tuple[float, ...], tuple[float, ...]]
    """Similarity of each occurrence to the sentences with the same sense."""


@dataclass(frozen=True)
class DemoResult:
    """The similarities of all cases."""

    encoder: str
    layer_names: tuple[str, ...]
    cases: tuple[CaseResult, ...]


def demo(encoder: Encoder, cases: tuple[Case, ...] = CASES) -> DemoResult:
    """Compare the two senses of each word, layer by layer."""
    return DemoResult(
        encoder.name, encoder.layer_names, tuple(_measure(encoder, case) for case in cases)
    )


def _measure(encoder: Encoder, case: Case) -> CaseResult:
    sentences = [*case.sentences, *case.alike[0], *case.alike[1]]
    vectors = occurrence_vectors(
        encoder, [find_word(case.word, sentence) for sentence in sentences]
    )
    first = vectors[2 : 2 + len(case.alike[0])]  # (N, num_layers, D)
    second = vectors[2 + len(case.alike[0]) :]

    def mean(occurrence: int, others: np.ndarray) -> tuple[float, ...]:
        return tuple(
            cosine(np.broadcast_to(vectors[occurrence], others.shape), others).mean(axis=0)
        )

    return CaseResult(case, mean(0, vectors[1:2]), (mean(0, first), mean(1, second)))


def _rows(result: CaseResult) -> dict[str, tuple[float, ...]]:
    senses = result.case.senses
    return {
        f"two senses: {senses[0]} and {senses[1]}": (1.0, *result.apart),
        f"same sense: {senses[0]}": (1.0, *result.alike[0]),
        f"same sense: {senses[1]}": (1.0, *result.alike[1]),
    }


def demo_tables(result: DemoResult) -> list[Table]:
    """One table per word."""
    return [
        Table(
            f"{found.case.word}: cosine similarity",
            ("", UNCASED, *result.layer_names),
            tuple(
                (name, *(f"{value:.2f}" for value in values))
                for name, values in _rows(found).items()
            ),
            _note(found.case),
        )
        for found in result.cases
    ]


def _note(case: Case) -> str:
    lines = []
    for sense, sentence, others in zip(case.senses, case.sentences, case.alike, strict=True):
        lines.append(f"{sense}: {sentence}  \nother sentences with this sense: {' '.join(others)}")
    forms = dict.fromkeys(find_word(case.word, sentence).word for sentence in case.sentences)
    if len(forms) > 1:
        lines.append(f"The token layer sees the spelling alone: {' and '.join(forms)}.")
    return "  \n".join(lines)


def demo_picture(result: DemoResult) -> Picture:
    """One panel per word."""
    return panels(
        "demo",
        f"Two occurrences of a word at each layer of {result.encoder}",
        [f"“{found.case.word}”" for found in result.cases],
        (UNCASED, *result.layer_names),
        [_rows(found) for found in result.cases],
        "cosine similarity",
    )
