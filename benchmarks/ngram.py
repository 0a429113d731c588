"""Does the biLM know more than a 5-gram? Forward perplexity on the same words, counted alike.

    python benchmarks/ngram.py CORPUS MODEL...          # CORPUS: a folder of `elmokit prepare`
    python benchmarks/ngram.py CORPUS --train-tokens 10000000
    python benchmarks/ngram.py CORPUS --lmplz PATH      # the same by kenlm, to compare

The 5-gram (modified Kneser-Ney, unpruned) counts the corpus's training part; both models predict
every word and the end of every held-out sentence, out of the same vocabulary, ``<UNK>`` included.
It starts each sentence anew, so the biLM is measured from a fresh start, and carried beside it.
Takes about 8 GB and a few minutes for 72 million words.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from elmokit.analysis.kneser_ney import Row, row_of, train_kneser_ney
from elmokit.analysis.tables import Table, count
from elmokit.pretrain.corpus import Corpus
from elmokit.pretrain.perplexity import perplexity_of
from elmokit.weights.load import load_pretrained


def write_text(row: Row, path: Path) -> None:
    """One sentence a line, words as numbers: kenlm must not see our markers as its own."""
    starts = np.flatnonzero(row.is_first)
    ends = np.append(starts[1:], len(row.words))
    with path.open("w") as file:
        for start, end in zip(starts, ends, strict=True):
            file.write(" ".join(f"w{word}" for word in row.words[start + 1 : end - 1]) + "\n")


def kenlm_perplexity(lmplz: Path, train: Row, heldout: Row, order: int) -> float:
    """By kenlm's own programs: ``lmplz`` and, beside it, ``query``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(train, folder / "train.txt")
        write_text(heldout, folder / "heldout.txt")
        estimate = [lmplz, "-o", str(order), "-S", "4G", "-T", folder, "--arpa", folder / "lm.arpa"]
        with (folder / "train.txt").open() as text:
            subprocess.run(estimate, stdin=text, check=True)
        query = [lmplz.with_name("query"), "-v", "summary", folder / "lm.arpa"]
        with (folder / "heldout.txt").open() as text:
            done = subprocess.run(query, stdin=text, check=True, capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith("Perplexity including OOVs"):
            return float(line.split(":")[1])
    raise SystemExit(f"{query[0]}: no perplexity in its answer:\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("models", nargs="*", help="models with a softmax, over this vocabulary")
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--train-tokens", type=int, help="only the first so many")
    parser.add_argument("--lmplz", type=Path, help="kenlm's program; `query` lies beside it")
    parser.add_argument("-o", "--out", type=Path, help="JSON to write")
    given = parser.parse_args()
    corpus = Corpus.open(given.corpus)
    train = row_of(corpus.train, corpus.vocabulary, given.train_tokens)
    heldout = row_of(corpus.heldout, corpus.vocabulary)
    started = time.monotonic()
    model = train_kneser_ney(train, len(corpus.vocabulary), given.order)
    found = {f"{given.order}-gram, modified Kneser-Ney": model.perplexity(heldout)}
    print(f"counted in {time.monotonic() - started:.0f} s", flush=True)
    del model
    if given.lmplz:
        found["the same by kenlm"] = kenlm_perplexity(given.lmplz, train, heldout, given.order)
    for name in given.models:
        pretrained = load_pretrained(name)
        for start in ("fresh", "carried"):
            measured = perplexity_of(pretrained, given.corpus, "heldout", start)
            assert measured.num_predictions == heldout.num_predictions
            found[f"{name}, forward, {start} start"] = measured.forward
            found[f"{name}, backward, {start} start"] = measured.backward
    rows = tuple((name, f"{value:.2f}") for name, value in found.items())
    note = (
        f"{count(heldout.num_predictions)} predictions; trained on {count(train.num_predictions)}; "
        f"vocabulary {count(len(corpus.vocabulary))}"
    )
    print(Table("Held-out perplexity", ("", "perplexity"), rows, note).markdown())
    if given.out:
        facts = {"perplexity": found, "note": note, "corpus": corpus.facts}
        given.out.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
