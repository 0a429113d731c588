"""Surprisal by the full softmax, beside its limit: the two matrix products it cannot do without.

    OMP_NUM_THREADS=2 python benchmarks/speed/surprisal.py TEXT [--tokens N] [--model NAME]

Prints tokens per second of ``elmokit.surprisal`` (forward, backward and combined bits, entropy and
rank of every token), of the command with its table, of the softmax without the LSTMs, and of the
bare products (N, P) x (P, V) of both directions; each is the best of ROUNDS, which take turns
because a processor's speed changes. Then it prepares the same sentences as a corpus and checks that
the sum of all bits is what ``elmokit perplexity`` counts. About a minute on two cores.
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
from elmokit.pretrain.surprisal.statistics import prediction_statistics
from elmokit.pretrain.surprisal.to_file import SurprisalOptions, surprisal_to_file
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

ROUNDS = 4
ROWS = 4096


def best_rates(works: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, float]:
    """Tokens per second of each, at its best; the first round only fills caches."""
    best = dict.fromkeys(works, math.inf)
    for number in range(ROUNDS + 1):
        for name, (_, work) in works.items():
            started = time.perf_counter()
            work()
            if number:
                best[name] = min(best[name], time.perf_counter() - started)
    return {name: count / best[name] for name, (count, _) in works.items()}


def write_text(sentences: list[list[str]], path: Path) -> None:
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))


def command(model: PretrainedModel, sentences: list[list[str]]) -> None:
    """What ``elmokit surprisal`` does once the model is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "text.txt", Path(folder) / "out.tsv"
        write_text(sentences, text)
        surprisal_to_file(model, [str(text)], out, SurprisalOptions(pretokenized=True, quiet=True))


def softmax_alone(model: PretrainedModel) -> Callable[[], object]:
    """Bits, entropies and ranks of ROWS predictions from states that are there already."""
    softmax = model.output_words.softmax
    forward, backward = (torch.randn(ROWS, softmax.weight.shape[1]) for _ in range(2))
    targets = torch.randint(len(softmax.weight), (1, ROWS)).expand(2, -1)
    return lambda: prediction_statistics(softmax, forward, backward, targets)


def bare_products(model: PretrainedModel) -> Callable[[], object]:
    """The products (N, P) x (P, V) of ROWS tokens in both directions, and nothing with them."""
    weight = model.output_words.softmax.weight.detach()
    states = torch.randn(1024, weight.shape[1])
    logits = torch.empty(len(states), len(weight))

    def work() -> None:
        for _ in range(2 * ROWS // len(states)):
            torch.mm(states, weight.t(), out=logits)

    return work


def largest_difference(model: PretrainedModel, sentences: list[list[str]]) -> float:
    """Of the bits per prediction, by ``surprisal`` and by ``perplexity``, relative."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_text(sentences, text)
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
    parser.add_argument("--tokens", type=int, default=8_000)
    parser.add_argument("--model", default="en-small")
    options = parser.parse_args()
    model = load_pretrained(options.model)
    sentences = list(first_tokens(read_sentences([options.text]), options.tokens))
    count = sum(map(len, sentences))
    rates = best_rates(
        {
            "`elmokit.surprisal`": (count, lambda: surprisal(model, sentences)),
            "`elmokit surprisal`, with its table": (count, lambda: command(model, sentences)),
            "its softmax alone": (ROWS, softmax_alone(model)),
            "the bare products alone": (ROWS, bare_products(model)),
        }
    )
    limit = rates["the bare products alone"]
    print(f"{torch.get_num_threads()} threads, {count:,} tokens of {len(sentences):,} sentences\n")
    print("| | tokens/s | of the bare products |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {rate / limit:.0%} |")
    weight = model.output_words.softmax.weight
    print(f"\nThe bare products made {4e-9 * weight.numel() * limit:.0f} GFLOP/s.")
    difference = largest_difference(model, sentences)
    print(f"Largest relative difference from perplexity: {difference:.1e}")


if __name__ == "__main__":
    main()
