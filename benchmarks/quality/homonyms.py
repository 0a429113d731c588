"""Are two uses of a homonym nearer where they mean the same? Development data, written by hand.

    python benchmarks/quality/homonyms.py MODEL...

``homonyms.txt`` has 23 words of two unrelated senses, with five sentences for each. Of a use a,
another use b of the same sense and a use c of the other sense, b has to be nearer to a (by cosine):
50 is chance. The n-th sentences of both senses have the word in the same grammatical place, so
where a and c are both n-th, the place misleads: b never has it.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import unit
from elmokit.analysis.encoders.opening import open_encoder

Floats = npt.NDArray[np.float32]


class Use(NamedTuple):
    """A sentence with the homonym in it."""

    word: str
    sense: str
    number: int
    tokens: list[str]


def read_uses() -> dict[str, list[Use]]:
    """The uses of each word."""
    path = Path(__file__).with_name("homonyms.txt")
    found: dict[str, list[Use]] = defaultdict(list)
    word = sense = ""
    number = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if ": " in line and not line.startswith("#"):
            word, sense = line.split(": ")
            number = 0
        elif line and not line.startswith("#"):
            tokens = line.split()
            if tokens.count(word) != 1:
                raise ValueError(f"{path}: {word} must occur once in: {line}")
            found[word].append(Use(word, sense, number, tokens))
            number += 1
    return dict(found)


def judge(uses: list[Use], vectors: Floats) -> tuple[list[bool], list[bool]]:
    """Of every (a, b, c): is it right, and does the grammatical place mislead?"""
    units = unit(vectors)
    cosines = units @ units.T
    right, misleading = [], []
    for a, first in enumerate(uses):
        for b, same in enumerate(uses):
            for c, other in enumerate(uses):
                if a != b and first.sense == same.sense != other.sense:
                    right.append(bool(cosines[a, b] > cosines[a, c]))
                    misleading.append(first.number == other.number)
    return right, misleading


def main() -> None:
    by_word = read_uses()
    sentences = [use.tokens for uses in by_word.values() for use in uses]
    print("| | all | same place | other place | sentence's mean | with it |")
    print("|---|---|---|---|---|---|")
    for name in sys.argv[1:]:
        encoder = open_encoder(name)
        layers = iter(encoder.layers(sentences))
        own: dict[str, list[Floats]] = {word: [] for word in by_word}
        means: dict[str, list[Floats]] = {word: [] for word in by_word}
        for word, uses in by_word.items():
            for use, each in zip(uses, layers, strict=False):
                # The mean of the LSTM layers is a row of its own.
                each = np.concatenate([each, each[1:].mean(axis=0, keepdims=True)])
                own[word].append(each[:, use.tokens.index(word)])
                means[word].append(each.mean(axis=1))
        for layer, layer_name in enumerate([*encoder.layer_names, "mean of layers 1 and 2"]):
            if layer == 0:
                continue
            scores: list[list[float]] = []
            for word, uses in by_word.items():
                vectors = np.stack(own[word])[:, layer]
                mean = np.stack(means[word])[:, layer]
                right, misleading = map(np.array, judge(uses, vectors))
                scores.append(
                    [
                        right.mean(),
                        right[misleading].mean(),
                        right[~misleading].mean(),
                        np.mean(judge(uses, mean)[0]),
                        np.mean(judge(uses, unit(vectors) + unit(mean))[0]),
                    ]
                )
            cells = " | ".join(f"{100 * score:.1f}" for score in np.mean(scores, axis=0))
            print(f"| {name}, {layer_name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
