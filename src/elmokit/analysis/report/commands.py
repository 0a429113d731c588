"""Command lines shown on the page; each recomputes the section above it."""

import shlex
from collections.abc import Iterable


def elmokit_line(*words: object) -> str:
    """One command line, quoted for a shell.

    >>> elmokit_line("analyse", "pos", "en-small", "--data", "my data")
    "elmokit analyse pos en-small --data 'my data'"
    """
    return shlex.join(["elmokit", *map(str, words)])


def option(name: str, value: object) -> tuple[str, ...]:
    """An option and its value; nothing if there is no value."""
    return () if value is None or value == "" else (name, str(value))


def repeated(name: str, values: Iterable[object]) -> tuple[str, ...]:
    """An option that is repeated for each value."""
    return tuple(word for value in values for word in (name, str(value)))
