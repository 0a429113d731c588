"""Does the biLM know more than a 5-gram? Forward perplexity on the same words, counted alike.

    python benchmarks/quality/ngram.py CORPUS MODEL...      # CORPUS: a folder of `elmokit prepare`
    python benchmarks/quality/ngram.py CORPUS --seen 10000000:64 # what a run of 64 streams has read
    python benchmarks/quality/ngram.py CORPUS --lmplz PATH      # the same by kenlm, to compare

The 5-gram (modified Kneser-Ney, unpruned) counts the corpus's training part; both models predict
every word and the end of every held-out sentence, out of the same vocabulary, ``<UNK>`` included.
It starts each sentence anew, so the biLM is measured from a fresh start, and carried beside it.
72 million words took two minutes of CPU time and 5.4 GB. `elmokit analyse perplexity` is the same
without kenlm. kenlm counts words that training lacks as one more word; where there are none, both
agree to six digits.
"""

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from elmokit.analysis.lm.kneser_ney import Row, parse_seen, row_of
from elmokit.analysis.lm.perplexities import perplexities, perplexity_table
from elmokit.pretrain.corpus.corpus import Corpus


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
    parser.add_argument("--seen", type=parse_seen, nargs="+", default=[], metavar="TOKENS:LANES")
    parser.add_argument("--lmplz", type=Path, help="kenlm's program; `query` lies beside it")
    parser.add_argument("-o", "--out", type=Path, help="JSON to write")
    given = parser.parse_args()
    started = time.monotonic()
    result = perplexities(given.models, given.corpus, given.order, given.seen)
    print(perplexity_table(result).markdown())
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    found = asdict(result)
    if given.lmplz:
        corpus = Corpus.open(given.corpus)
        train = row_of(corpus.train, corpus.vocabulary, given.seen)
        heldout = row_of(corpus.heldout, corpus.vocabulary)
        found["kenlm"] = kenlm_perplexity(given.lmplz, train, heldout, given.order)
        print(f"the {given.order}-gram by kenlm: {found['kenlm']:.2f}")
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
