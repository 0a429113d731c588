"""What the token vectors of models know of their words: GloVe by a linear map, homonyms by sums.

    python training/token_meanings.py MODEL... --data CORPUS --vectors GLOVE

Three shares of the variance of GloVe's vectors that a linear map of the token vectors explains:
each word of the vocabulary counted once, by the root of its count, and as often as it stands in
held-out sentences (weighted as in ``train.context``). Then the homonyms of
benchmarks/quality/homonyms.py, all and in the same place: the token vectors so mapped, summed over
the words before a token and over those after it, as two LSTMs that forget nothing could hold them.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from context_words import ContextWords, linear_map
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "quality"))
from homonyms import judge, read_uses

from elmokit.embed.embedder import Embedder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import first_sentences
from elmokit.pretrain.training.initial_weights import vectors_of_words
from elmokit.pretrain.training.vector_fit import KnownWords, least_squares
from elmokit.text.static_vectors import read_static_vectors
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

SENTENCES = 3000


def explained(told: Tensor, wanted: Tensor, shares: Tensor) -> float:
    """The share of the variance of ``wanted`` (N, E); rows count by ``shares`` (N, 1)."""
    missing = ((wanted - told).square() * shares).sum()
    centred = wanted - (wanted * shares).sum(dim=0) / shares.sum()
    return float(1 - missing / (centred.square() * shares).sum())


def of_vocabulary(model: PretrainedModel, corpus: Corpus, vectors: Path) -> list[float]:
    """Explained shares: each word once, and by the root of its count."""
    known, wanted = vectors_of_words(corpus, read_static_vectors(vectors))
    words = KnownWords.of(model.bilm, corpus, known)
    tokens = words.encode(model.bilm.encoder)
    found = []
    for shares in (
        torch.ones(len(known), 1) / len(known),
        (words.often / words.often.sum())[:, None],
    ):
        reader = least_squares(tokens, wanted, shares)
        found.append(explained(tokens @ reader[:-1] + reader[-1], wanted, shares))
    return found


def of_sentences(
    model: PretrainedModel, corpus: Corpus, vectors: Path
) -> tuple[float, list[float]]:
    """The explained share of the words of held-out sentences, and the homonyms by sums."""
    context_words, embedder = ContextWords(model, corpus, str(vectors)), Embedder(model)
    width = model.config.lstm.projection_dim

    def tokens_of(sentences: list[list[str]]) -> list[Tensor]:
        return [torch.from_numpy(one[0][:, :width]) for one in embedder.layers(sentences)]

    sentences = list(first_sentences(corpus, SENTENCES))
    tokens = torch.cat(tokens_of(sentences))
    words = torch.cat([context_words.of(sentence) for sentence in sentences])
    mean = tokens.mean(dim=0)
    reader, _ = linear_map(tokens - mean, words - words.mean(dim=0))
    told = (tokens - mean) @ reader
    share = explained(told + words.mean(dim=0), words, torch.ones(len(words), 1))
    scores = []
    for word, uses in read_uses().items():
        found = []
        for use, its in zip(uses, tokens_of([use.tokens for use in uses]), strict=True):
            mapped, place = (its - mean) @ reader, use.tokens.index(word)
            found.append(torch.cat([mapped[: place + 1].sum(dim=0), mapped[place:].sum(dim=0)]))
        right, misleading = map(np.array, judge(uses, torch.stack(found).numpy()))
        scores.append([right.mean(), right[misleading].mean()])
    return share, [float(score) for score in np.mean(scores, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    options = parser.parse_args()
    corpus = Corpus.open(options.data)
    print("| | words | by root of count | in sentences | homonyms by sums | same place |")
    print("|---|---|---|---|---|---|")
    for name in options.models:
        model = load_pretrained(name)
        share, homonyms = of_sentences(model, corpus, options.vectors)
        figures = [*of_vocabulary(model, corpus, options.vectors), share, *homonyms]
        print(f"| {name} | {' | '.join(f'{100 * figure:.1f}' for figure in figures)} |", flush=True)


if __name__ == "__main__":
    main()
