"""WordNet's sense inventory, from its index.sense: which senses a lemma has, in order."""

import re
from pathlib import Path

from elmokit.errors import InputError

PART_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
"""The digit after % in a sense key; 5 is a satellite adjective."""


def lemma_of(key: str) -> str:
    """The lemma of a sense key.

    >>> lemma_of("play%1:10:01::")
    'play'
    """
    return key.partition("%")[0]


def part_of_speech(key: str) -> str:
    """The part of speech of a sense key.

    >>> part_of_speech("play%1:10:01::")
    'NOUN'
    """
    return PART_OF_SPEECH[key.partition("%")[2][0]]


def lexicographer_file(key: str) -> str:
    """The number of the lexicographer file that contains a sense: act, communication ...

    >>> lexicographer_file("play%1:10:01::")
    '10'
    """
    return key.partition("%")[2].split(":")[1]


class WordNet:
    """Sense keys by (lemma, part of speech), WordNet's first sense first."""

    def __init__(self, senses: dict[tuple[str, str], list[str]]) -> None:
        self.senses = senses
        self._keys = {key for keys in senses.values() for key in keys}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def first_sense(self, lemma: str, pos: str) -> str | None:
        """WordNet's first (most frequent) sense of a lemma; None if it has none."""
        senses = self.senses.get((lemma, pos))
        return senses[0] if senses else None

    def repair(self, lemma: str, sense: str, number: int) -> str | None:
        """The key that SemCor's ``lemma%sense`` means in this WordNet, or None.

        SemCor 3.0 was mapped automatically from an older WordNet. Tried in this order: the key
        itself; the key without the marks `(a)`, `(p)`, `(ip)` of a head adjective; the sense's
        number, if SemCor gives one; the only sense of the lemma in the same lexicographer file;
        the only sense of the lemma.
        """
        lemma = "not" if lemma == "n't" else lemma
        plain = re.sub(r"\((a|p|ip)\)", "", sense)
        for candidate in (f"{lemma}%{sense}", f"{lemma}%{plain}"):
            if candidate in self._keys:
                return candidate
        if sense[:1] not in PART_OF_SPEECH:
            return None
        senses = self.senses.get((lemma, PART_OF_SPEECH[sense[0]]), [])
        if 1 <= number <= len(senses):
            return senses[number - 1]
        file_number = plain.split(":")[1:2]
        same_file = [key for key in senses if key.partition("%")[2].split(":")[1:2] == file_number]
        for candidates in (same_file, senses):
            if len(candidates) == 1:
                return candidates[0]
        return None


def read_wordnet(path: Path) -> WordNet:
    """Read index.sense: `key offset number count` per line; ``path`` may be its folder."""
    if path.is_dir():
        path = path / "index.sense"
    if not path.exists():
        raise InputError(f"{path}: no such file; give the folder of WordNet's index.sense")
    numbered: dict[tuple[str, str], list[tuple[int, str]]] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if len(fields) != 4 or "%" not in fields[0] or not fields[2].isdigit():
                raise InputError(f"{path}, line {number}: expected `key offset number count`")
            key = fields[0]
            where = lemma_of(key), part_of_speech(key)
            numbered.setdefault(where, []).append((int(fields[2]), key))
    senses = {where: [key for _, key in sorted(pairs)] for where, pairs in numbered.items()}
    return WordNet(senses)
