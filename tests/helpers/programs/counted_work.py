"""Counts the work that splitting a text takes, so that no test of speed needs a clock.

Three kinds of work are added up: lines of Python run in elmokit.text, steps that regular
expressions take, and characters that methods of strings look at or copy. Python's own engine of
regular expressions cannot be watched, so a plain backtracking one walks the same parse tree.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

import pytest

try:
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_parse as parser

Node = tuple[Any, Any]


class Work:
    """What has been counted so far."""

    num_steps = 0


class CountedText(str):
    """Counts the characters that its methods look at; its pieces count theirs as well."""

    def __getitem__(self, key: Any) -> "CountedText":
        return CountedText(_counted(super().__getitem__(key)))

    def find(self, part: str, start: int = 0, *stop: int) -> int:
        place = super().find(part, start, *stop)
        Work.num_steps += (place if place >= 0 else len(self)) - start + 1
        return place

    def rfind(self, part: str, start: int = 0, stop: int | None = None) -> int:
        stop = len(self) if stop is None else min(stop, len(self))
        Work.num_steps += max(stop - start, 0) + 1
        return super().rfind(part, start, stop)


def _counted(text: str) -> str:
    Work.num_steps += len(text) + 1
    return text


def _counting(name: str) -> Callable[..., Any]:
    def method(self: str, *arguments: Any) -> Any:
        result = getattr(str, name)(_counted(self), *arguments)
        if isinstance(result, str):
            return CountedText(result)
        return list(map(CountedText, result)) if isinstance(result, list) else result

    return method


for _name in (
    "isalnum",
    "isdecimal",
    "lower",
    "lstrip",
    "removesuffix",
    "rstrip",
    "split",
    "strip",
):
    setattr(CountedText, _name, _counting(_name))


class CountingPattern:
    """A compiled pattern that counts the steps of a backtracking engine, and checks its finds."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._ignores_case = bool(pattern.flags & re.IGNORECASE)
        self._nodes = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
        self._known: dict[tuple[Any, ...], bool] = {}
        self.groups = pattern.groups

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        place = 0
        for found in self._pattern.finditer(text):
            while place < found.start():
                assert self._end(text, place, len(text)) is None
                place += 1
            assert self._end(text, place, len(text)) == found.end()
            place = found.end()
            yield found
        for later in range(place, len(text)):
            assert self._end(text, later, len(text)) is None

    def findall(self, text: str) -> list[CountedText]:
        return [CountedText(found.group()) for found in self.finditer(text)]

    def search(self, text: str) -> re.Match[str] | None:
        return next(self.finditer(text), None)

    def match(self, text: str, start: int = 0, stop: int = sys.maxsize) -> re.Match[str] | None:
        found = self._pattern.match(text, start, stop)
        assert self._end(text, start, min(stop, len(text))) == (found and found.end())
        return found

    def fullmatch(self, text: str) -> re.Match[str] | None:
        self._end(text, 0, len(text))
        return self._pattern.fullmatch(text)

    def _end(self, text: str, start: int, stop: int) -> int | None:
        trace = sys.gettrace()
        sys.settrace(None)  # the engine is not what is measured
        end = next(self._ends(self._nodes, text, start, stop), None)
        sys.settrace(trace)
        return end

    def _ends(self, nodes: Sequence[Node], text: str, start: int, stop: int) -> Iterator[int]:
        """Where a match of all nodes may end, the preferred end first."""
        if not nodes:
            yield start
            return
        for end in self._ends_of_one(*nodes[0], text, start, stop):
            yield from self._ends(nodes[1:], text, end, stop)

    def _ends_of_one(
        self, kind: Any, value: Any, text: str, start: int, stop: int
    ) -> Iterator[int]:
        Work.num_steps += 1
        match str(kind):
            case "BRANCH":
                for branch in value[1]:
                    yield from self._ends(branch, text, start, stop)
            case "SUBPATTERN":
                yield from self._ends(value[-1], text, start, stop)
            case "MAX_REPEAT":
                yield from self._ends_of_repeat(*value, text, start, stop)
            case "ASSERT" | "ASSERT_NOT":
                direction, body = value
                begin = start if direction > 0 else start - body.getwidth()[0]
                found = begin >= 0 and any(True for _ in self._ends(body, text, begin, stop))
                if found == (str(kind) == "ASSERT"):
                    yield start
            case "AT":
                assert str(value) == "AT_END_STRING"
                if start == stop:
                    yield start
            case _:
                if start < stop and self._holds(kind, value, str.__getitem__(text, start)):
                    yield start + 1

    def _ends_of_repeat(
        self, least: int, most: int, body: Any, text: str, start: int, stop: int
    ) -> Iterator[int]:
        """Greedy; the bodies in elmokit.text match in one way only, so each is tried once."""
        ends = [start]
        while len(ends) <= most:
            end = next(self._ends(body, text, ends[-1], stop), None)
            if end is None:
                break
            ends.append(end)
        for end in reversed(ends[least:]):
            Work.num_steps += 1
            yield end

    def _holds(self, kind: Any, value: Any, character: str) -> bool:
        key = (id(value), kind, value if isinstance(value, int) else 0, character)
        if key not in self._known:
            self._known[key] = self._examine(kind, value, character)
        return self._known[key]

    def _examine(self, kind: Any, value: Any, character: str) -> bool:
        match str(kind):
            case "LITERAL":
                other = chr(value)
                is_same = self._ignores_case and character.lower() == other.lower()
                return is_same or character == other
            case "NOT_LITERAL":
                return ord(character) != value
            case "RANGE":
                return bool(value[0] <= ord(character) <= value[1])
            case "CATEGORY":
                is_in = {
                    "SPACE": character.isspace(),
                    "WORD": character.isalnum() or character == "_",
                    "DIGIT": character.isdecimal(),
                }[str(value).rpartition("_")[2]]
                return is_in != ("NOT" in str(value))
        assert str(kind) == "IN"
        negated = str(value[0][0]) == "NEGATE"
        return any(self._holds(*part, character) for part in value[negated:]) != negated


def count_patterns(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pattern of a module, alone or in a tuple, count its steps."""
    for name, value in vars(module).copy().items():
        if isinstance(value, re.Pattern):
            monkeypatch.setattr(module, name, CountingPattern(value))
        elif isinstance(value, tuple) and all(isinstance(each, re.Pattern) for each in value):
            monkeypatch.setattr(module, name, tuple(map(CountingPattern, value)))


def work_of(function: Callable[[str], object], text: str) -> int:
    """Steps that ``function(text)`` takes in elmokit.text and in the patterns it uses."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith("elmokit.text."):
            return None
        Work.num_steps += 1
        return trace

    Work.num_steps = 0
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        function(CountedText(text))
    finally:
        sys.settrace(previous)
    return Work.num_steps
