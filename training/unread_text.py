"""A corpus of what a model has not read yet, in which some kinds of text are rarer.

    python training/unread_text.py CORPUS OUT --streams 128 --unread 384780-774645 979425-1549290 \\
        --keep wikipedia=0.33

CORPUS was prepared with ``--shuffle``; its equal parts (``--streams``) were read side by side, and
``--unread`` lists the positions in a part that were not. ``--keep KIND=SHARE`` keeps a share of the
documents of a kind only. Lexicon, vocabulary and held-out text stay the same, so that perplexities
compare.
"""

import argparse
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


def select(
    corpus: Corpus,
    streams: int,
    stretches: list[tuple[int, int]],
    keep: list[tuple[str, float]],
    seed: int,
) -> Split:
    """The unread sentences of the training part, some kinds thinned."""
    if corpus.train.kinds is None:
        raise SystemExit(f"{corpus.path}: stores no kinds of text; prepare it again")
    chosen = in_stretches(corpus.train, streams, stretches)
    for kind, share in keep:
        if kind not in corpus.kinds:
            raise SystemExit(f"{corpus.path}: no kind {kind!r}, only {', '.join(corpus.kinds)}")
        chosen &= thinned(np.asarray(corpus.train.kinds), corpus.kinds.index(kind), share, seed)
    return corpus.train.take(np.flatnonzero(chosen))


def write(corpus: Corpus, train: Split, out: Path) -> None:
    """Write ``corpus`` with another training part."""
    with replacing_folder(out) as aside:
        names = shutil.ignore_patterns("train", "report.json", "SHA256SUMS")
        shutil.copytree(corpus.path, aside, ignore=names, dirs_exist_ok=True)
        (aside / "train").mkdir()
        train.tokens.tofile(aside / "train" / "tokens.bin")
        np.save(aside / "train" / "starts.npy", train.starts)
        np.save(aside / "train" / "kinds.npy", train.kinds)
        size = {"num_sentences": train.num_sentences, "num_tokens": train.num_tokens}
        write_json(aside / "corpus.json", {**corpus.facts, "train": size})
        write_checksums(aside)


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
    unread = select(corpus, options.streams, options.unread, options.keep, options.seed)
    write(corpus, unread, options.out)
    print(f"wrote {options.out}: {unread.num_tokens:,} of {corpus.train.num_tokens:,} tokens")
    for number, name in enumerate(corpus.kinds):
        tokens = unread.of_kind(number).num_tokens
        print(f"  {name:12} {tokens / unread.num_tokens:6.1%}  {tokens:,}")


if __name__ == "__main__":
    main()
