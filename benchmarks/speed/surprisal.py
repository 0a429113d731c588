"""Surprisal by the full softmax, beside its floor: the two matrix products it cannot do without.

    OMP_NUM_THREADS=2 python benchmarks/speed/surprisal.py TEXT [--tokens N] [--model NAME]

Prints tokens per second of ``elmokit.surprisal`` (forward, backward and combined bits, entropy and
rank of every token) and of the bare products (N, P) x (P, V) of both directions in the same
process, best of three each, and their ratio. Then it prepares the same sentences as a corpus and
checks that the sum of all bits is what ``elmokit perplexity`` counts.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from elmokit.analysis.words.texts import first_tokens, read_sentences
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.perplexity import perplexity_of
from elmokit.pretrain.surprisal.measure import surprisal
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

ROWS = 1024


def best_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    work()  # warm: caches and threads
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def bare_products(model: PretrainedModel) -> float:
    """Tokens per second of two products (ROWS, P) x (P, V), their results thrown away."""
    weight = model.output_words.softmax.weight.detach()
    states = torch.randn(ROWS, weight.shape[1])
    logits = torch.empty(ROWS, len(weight))

    def work() -> None:
        for _ in range(2):
            torch.mm(states, weight.t(), out=logits)

    return ROWS / best_seconds(work)


def largest_difference(model: PretrainedModel, sentences: list[list[str]]) -> float:
    """Of the bits per prediction, by ``surprisal`` and by ``perplexity``, relative."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
        config = PrepareConfig(pretokenized=True, heldout=0.0)
        prepare(
            [str(text)],
            Path(folder) / "data",
            config,
            vocabulary=model.output_words.vocabulary,
            quiet=True,
        )
        expected = perplexity_of(model, Path(folder) / "data", "train", "fresh")
    found = surprisal(model, sentences)
    differences = []
    for side, value in enumerate((expected.forward, expected.backward)):
        bits = sum(each.total_bits[side] for each in found) / expected.num_predictions
        differences.append(abs(bits / math.log2(value) - 1))
    return max(differences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--model", default="en-small")
    options = parser.parse_args()
    model = load_pretrained(options.model)
    sentences = list(first_tokens(read_sentences([options.text]), options.tokens))
    count = sum(map(len, sentences))
    ours = count / best_seconds(lambda: surprisal(model, sentences))
    floor = bare_products(model)
    print(f"{torch.get_num_threads()} threads, {count:,} tokens of {len(sentences):,} sentences")
    print(f"surprisal        {ours:8,.0f} tokens/s")
    print(f"bare products    {floor:8,.0f} tokens/s")
    print(f"ratio            {ours / floor:8.2f}")
    difference = largest_difference(model, sentences)
    print(f"largest relative difference from perplexity: {difference:.1e}")


if __name__ == "__main__":
    main()
