"""A corpus of what a model has not read yet, in which some kinds of text are rarer than in the whole.

    python training/unread_text.py CORPUS OUT --streams 128 --unread 384780-774645 979425-1549290 \\
        --keep wikipedia=0.33

CORPUS was prepared with ``--shuffle``; each of its equal parts (``--streams``) was read side by side with
the others, and ``--unread`` lists the positions in a part that were not. ``--keep KIND=SHARE`` keeps
only a share of the documents of a kind. Lexicon, vocabulary and held-out text stay the same, so that
perplexities compare.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.files.checksums import write_checksums
from elmokit.files.replacing import replacing_folder, write_json
from elmokit.pretrain.corpus.corpus import Corpus, Split

Bools = npt.NDArray[np.bool_]


def in_stretches(split: Split, streams: int, stretches: list[tuple[int, int]]) -> Bools:
    """(sentences,) whether a sentence begins in one of the stretches of its stream."""
    inside = np.asarray(split.starts) % (len(split.tokens) / streams)
    chosen = np.zeros(split.num_sentences, dtype=bool)
    for begin, end in stretches:
        chosen |= (inside >= begin) & (inside < end)
    return chosen


def thinned(kinds: npt.NDArray[np.int64], kind: int, share: float, seed: int) -> Bools:
    """(sentences,) True but for those of ``kind`` that are left out.

    Runs of sentences of one kind are kept or left out as a whole: documents, or a few of them.
    """
    run = np.cumsum(np.diff(kinds, prepend=kinds[:1]) != 0)
    is_kept = np.random.default_rng(seed).random(run[-1] + 1) < share
    kept: Bools = (kinds != kind) | is_kept[run]
    return kept


def stretch(text: str) -> tuple[int, int]:
    begin, end = text.split("-")
    return int(begin), int(end)


def share_of_kind(text: str) -> tuple[str, float]:
    kind, share = text.split("=")
    return kind, float(share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--streams", type=int, required=True)
    parser.add_argument("--unread", type=stretch, nargs="+", required=True, metavar="FROM-TO")
    parser.add_argument("--keep", type=share_of_kind, nargs="*", default=[], metavar="KIND=SHARE")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    assert corpus.train.kinds is not None, "prepare the corpus again: it does not store kinds"
    kinds = np.asarray(corpus.train.kinds)
    chosen = in_stretches(corpus.train, options.streams, options.unread)
    for kind, share in options.keep:
        chosen &= thinned(kinds, corpus.kinds.index(kind), share, options.seed)
    unread = corpus.train.take(np.flatnonzero(chosen))
    with replacing_folder(options.out) as aside:
        names = shutil.ignore_patterns("train", "report.json", "SHA256SUMS")
        shutil.copytree(options.corpus, aside, ignore=names, dirs_exist_ok=True)
        (aside / "train").mkdir()
        unread.tokens.tofile(aside / "train" / "tokens.bin")
        np.save(aside / "train" / "starts.npy", unread.starts)
        np.save(aside / "train" / "kinds.npy", unread.kinds)
        facts = json.loads((aside / "corpus.json").read_text())
        facts["train"] |= {"num_sentences": unread.num_sentences, "num_tokens": unread.num_tokens}
        del facts["train"]["num_documents"], facts["train"]["num_unknown"]
        write_json(aside / "corpus.json", facts)
        write_checksums(aside)
    print(f"wrote {options.out}: {unread.num_tokens:,} of {corpus.train.num_tokens:,} tokens")
    for number, name in enumerate(corpus.kinds):
        tokens = int(np.diff(unread.starts, append=len(unread.tokens))[unread.kinds == number].sum())
        print(f"  {name:12} {tokens / len(unread.tokens):6.1%}  {tokens:,}")


if __name__ == "__main__":
    main()
