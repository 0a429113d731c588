"""Free data sets that replace the paper's: training, development and test sets of six tasks.

``root`` is the folder with the unpacked archives (wnut17/, sst/, nli/, ...). Test sets are never
used for training or early stopping; every split is determined by the files alone.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmokit.errors import InputError
from elmokit.tasks.data.entailment import SentencePair
from elmokit.tasks.task import find_task

HELD_OUT_PAIRS = 2000
HELD_OUT_ARTICLES = 40


FOLDERS = {
    "ner": "wnut17",
    "sentiment": "sst",
    "entailment": "nli",
    "srl": "ewt-propbank",
    "coref": "litbank",
    "squad": "squad",
}
"""Where a task's data are below ``root``."""


class OtherTest(NamedTuple):
    """A further test set, of another kind of text."""

    name: str
    examples: list[Any]


class Splits(NamedTuple):
    """What a task is trained, stopped and tested on."""

    train: list[Any]
    dev: list[Any]
    test: list[Any]
    others: tuple[OtherTest, ...] = ()


def benchmark_splits(name: str, root: Path) -> Splits:
    """The three sets of a task."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give the one that holds wnut17, sst, nli ...")
    if name not in _SPLITS:
        raise InputError(f"no benchmark data for the task {name!r}; for {', '.join(_SPLITS)}")
    return _SPLITS[name](root)


def hold_out_by_premise(
    pairs: Sequence[SentencePair], num_held_out: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """(kept, held out): premises, with all their pairs, go one way or the other.

    Premises are drawn until ``num_held_out`` pairs are reached; both lists keep the given order.
    """
    premises = list(dict.fromkeys(pair.premise for pair in pairs))
    of_premise: dict[tuple[str, ...], int] = dict.fromkeys(premises, 0)
    for pair in pairs:
        of_premise[pair.premise] += 1
    chosen: set[tuple[str, ...]] = set()
    num_chosen = 0
    for place in np.random.default_rng(0).permutation(len(premises)).tolist():
        if num_chosen >= num_held_out:
            break
        chosen.add(premises[place])
        num_chosen += of_premise[premises[place]]
    kept = [pair for pair in pairs if pair.premise not in chosen]
    return kept, [pair for pair in pairs if pair.premise in chosen]


def _entities(root: Path) -> Splits:
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    return _files("ner", root, names)


def _sentiment(root: Path) -> Splits:
    return _files("sentiment", root, ("train.txt", "dev.txt", "test.txt"))


def _entailment(root: Path) -> Splits:
    """SNLI's development set and the counterfactual pairs, in place of SNLI's training set.

    2,000 of the development pairs, grouped by premise, are held out for early stopping. The few
    training pairs whose premise is in the test set too are left out.
    """
    read, folder = find_task("entailment").read, root / FOLDERS["entailment"]
    test = read(folder / "snli_1.0_test.jsonl")
    seen = {pair.premise for pair in test}
    pairs = [pair for pair in read(folder / "snli_1.0_dev.jsonl") if pair.premise not in seen]
    kept, held_out = hold_out_by_premise(pairs, HELD_OUT_PAIRS)
    seen |= {pair.premise for pair in held_out}
    revised = read(folder / "counterfactual-all-train.tsv")
    return Splits(kept + [pair for pair in revised if pair.premise not in seen], held_out, test)


def _roles(root: Path) -> Splits:
    names = ("ewt.train.conll", "ewt.dev.conll", "ewt.test.conll")
    return _files("srl", root, names)


def _coreference(root: Path) -> Splits:
    """LitBank's novels; beside them, where it is there, GUM's test set of today's texts of many
    kinds (splits.md names its documents).
    """
    train, dev, test = map(_documents, split_by_name(root / FOLDERS["coref"] / "conll"))
    gum = root / "gum"
    if not gum.is_dir():
        return Splits(train, dev, test)
    paths = named_split(gum / "coref-ontogum-conll", gum / "splits.md", "test")
    return Splits(train, dev, test, (OtherTest("GUM", _documents(paths)),))


def split_by_name(folder: Path) -> tuple[list[Path], list[Path], list[Path]]:
    """LitBank has no split of its own: 80 / 10 / 10 % of its files in order of name."""
    files = sorted(folder.glob("*.conll"), key=lambda file: file.name)
    if len(files) < 10:
        raise InputError(f"{folder}: {len(files)} *.conll files; a split needs at least 10")
    first, second = len(files) * 8 // 10, len(files) * 9 // 10
    return files[:first], files[first:second], files[second:]


def named_split(folder: Path, splits: Path, name: str) -> list[Path]:
    """The files of ``folder`` that GUM's ``splits.md`` lists under ``## name``."""
    sections = re.split(r"^## +", splits.read_text(encoding="utf-8"), flags=re.MULTILINE)
    bodies = [section for section in sections if section.split("\n", 1)[0].strip() == name]
    if not bodies:
        raise InputError(f"{splits}: has no section '## {name}'")
    listed = re.findall(r"^\s*\*\s+(\S+)", bodies[0], flags=re.MULTILINE)
    files = [folder / f"{document}.conll" for document in listed]
    return sorted(file for file in files if file.exists())


def _documents(paths: Sequence[Path]) -> list[Any]:
    return [document for path in paths for document in find_task("coref").read(path)]


def _questions(root: Path) -> Splits:
    """SQuAD's test set is not public: its development set is the test set here.

    For early stopping, the last articles of the training file, in order of title, are held out.
    """
    read, folder = find_task("squad").read, root / FOLDERS["squad"]
    examples = read(folder / "train.json")
    titles = sorted({example.article for example in examples})
    if len(titles) <= HELD_OUT_ARTICLES:
        raise InputError(
            f"{folder / 'train.json'}: questions on {len(titles)} articles, of which "
            f"{HELD_OUT_ARTICLES} would be held out; give a file with more articles"
        )
    held_out = set(titles[-HELD_OUT_ARTICLES:])
    return Splits(
        [example for example in examples if example.article not in held_out],
        [example for example in examples if example.article in held_out],
        read(folder / "dev.json"),
    )


def _files(task: str, root: Path, names: Sequence[str]) -> Splits:
    folder = root / FOLDERS[task]
    train, dev, test = (find_task(task).read(folder / name) for name in names)
    return Splits(train, dev, test)


_SPLITS: dict[str, Callable[[Path], Splits]] = {
    "ner": _entities,
    "sentiment": _sentiment,
    "entailment": _entailment,
    "srl": _roles,
    "coref": _coreference,
    "squad": _questions,
}
