"""What do narrow weights cost in exactness? Each layer's distance from float32, on natural text.

    python benchmarks/speed/narrow_cost.py [MODEL] [--sentences 1000]

Relative RMS: of the differences, as a share of the exact vectors' own RMS. Lowest cosine: of any
token's vector with its exact one. What they cost a probe or a task:

    elmokit analyse pos --data EWT --precision int8
    elmokit analyse senses --data WSD --precision int8
    elmokit task train ner ... --precision int8
"""

import argparse

import numpy as np
from inference import natural_sentences

import elmokit
from elmokit.embed.sentences import Vectors
from elmokit.model.kernels.lstm_weights import PRECISIONS


def joined(model: str, precision: str, sentences: list[list[str]]) -> Vectors:
    """(L + 1, tokens, D)"""
    elmo = elmokit.load(model, precision=precision)
    return np.concatenate(elmo.layers(sentences), axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="en-small")
    parser.add_argument("--sentences", type=int, default=1000)
    arguments = parser.parse_args()
    sentences = natural_sentences(arguments.sentences)
    exact = joined(arguments.model, PRECISIONS[0], sentences)
    print(f"{arguments.model}, {len(sentences):,} sentences, {exact.shape[1]:,} tokens")
    for precision in PRECISIONS[1:]:
        narrow = joined(arguments.model, precision, sentences)
        for number, (one, other) in enumerate(zip(exact, narrow, strict=True)):
            rms = np.sqrt(((one - other) ** 2).mean() / (one**2).mean())
            norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
            cosine = ((one * other).sum(axis=1) / norms).min()
            print(f"  {precision:<8}  layer {number}  relative RMS {rms:.1e}  ", end="")
            print(f"lowest cosine {cosine:.6f}")


if __name__ == "__main__":
    main()
