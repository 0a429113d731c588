"""Does a model carry what a sentence is about to the word? Senses that are known, made from nouns.

    python benchmarks/quality/pseudo_senses.py DATA MODEL... # DATA: corpus/*.txt, wsd/wordnet30

160 nouns with at most two senses in WordNet are drawn from seven kinds of text, with 12 sentences
each. In every sentence the noun is replaced by one made-up word, so that all of them look like uses
of one word whose senses are the nouns. For pairs of nouns: how often is a use nearer (by cosine) to
another use of its own noun than to a use of the other? 50 is chance. This measures context alone
and is development data: it was used to choose how en-small is trained.
"""

import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import unit
from elmokit.analysis.encoders.opening import open_encoder
from elmokit.analysis.words.texts import first_tokens, read_sentences

KINDS = ("enwiki-3", "fiction", "news", "reviews", "web", "reddit", "textbooks")
TOKENS_PER_KIND = 400_000
NOUNS, USES, SEED = 160, 12, 7
MADE_UP = "blicket"
Floats = npt.NDArray[np.float32]


class Use(NamedTuple):
    """A sentence, and the place of the noun in it."""

    tokens: list[str]
    place: int

    def hidden(self) -> list[str]:
        return [*self.tokens[: self.place], MADE_UP, *self.tokens[self.place + 1 :]]


def plain_nouns(wordnet: Path) -> set[str]:
    """Words that are nothing but nouns, of at most two senses."""
    nouns, others = Counter[str](), Counter[str]()
    for line in (wordnet / "index.sense").read_text(encoding="utf-8").splitlines():
        word, key = line.split()[0].split("%")
        (nouns if key.startswith("1") else others)[word] += 1
    return {
        word
        for word, count in nouns.items()
        if count <= 2 and others[word] == 0 and word.isalpha() and len(word) > 3
    }


def draw_uses(data: Path) -> list[list[Use]]:
    """``USES`` of each of ``NOUNS`` nouns, always the same ones."""
    nouns = plain_nouns(data / "wsd" / "wordnet30")
    found: dict[str, list[Use]] = defaultdict(list)
    for kind in KINDS:
        texts = read_sentences([str(data / "corpus" / f"{kind}.txt")])
        for tokens in first_tokens(texts, TOKENS_PER_KIND):
            if 10 <= len(tokens) <= 40:
                for place, token in enumerate(tokens):
                    if token in nouns and tokens.count(token) == 1:
                        found[token].append(Use(list(tokens), place))
    source = random.Random(SEED)
    frequent = sorted(noun for noun, uses in found.items() if len(uses) >= 40)
    source.shuffle(frequent)
    return [source.sample(found[noun], USES) for noun in frequent[:NOUNS]]


def separation(vectors: Floats) -> npt.NDArray[np.float64]:
    """(num_layers,) percent, from (NOUNS, USES, num_layers, D)."""
    units = unit(vectors)
    is_other = ~np.eye(USES, dtype=bool)
    scores = []
    for first in range(0, len(units) - 1, 2):
        for own, other in ((first, first + 1), (first + 1, first)):
            same = np.einsum("ald,bld->lab", units[own], units[own])
            cross = np.einsum("ald,bld->lab", units[own], units[other])
            scores.append(
                [
                    np.mean(
                        [
                            (layer[use][is_other[use]][:, None] > against[use][None]).mean()
                            for use in range(USES)
                        ]
                    )
                    for layer, against in zip(same, cross, strict=True)
                ]
            )
    return 100 * np.mean(scores, axis=0)


def main() -> None:
    data, *names = sys.argv[1:]
    nouns = draw_uses(Path(data))
    uses = [use for noun in nouns for use in noun]
    print("| | layer | the word | its sentence's mean | both |\n|---|---|---|---|---|")
    for name in names:
        encoder = open_encoder(name)
        layers = encoder.layers([use.hidden() for use in uses])
        shape = (len(nouns), USES, len(encoder.layer_names), -1)
        own = np.stack([each[:, use.place] for each, use in zip(layers, uses, strict=True)])
        means = np.stack([each.mean(axis=1) for each in layers])
        ways = [
            separation(vectors.reshape(shape)) for vectors in (own, means, unit(own) + unit(means))
        ]
        for number in range(1, len(encoder.layer_names)):
            cells = " | ".join(f"{way[number]:.1f}" for way in ways)
            print(f"| {name} | {encoder.layer_names[number]} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
