"""Former spellings of options: still accepted, no longer in the help."""

from collections.abc import Mapping
from typing import Any

import typer.core


def accepting(former: Mapping[str, str]) -> type[typer.core.TyperCommand]:
    """For ``@app.command(cls=accepting({"--count": "--top"}))``: former -> current option."""

    class Command(typer.core.TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, [_today(word) for word in args])

    def _today(word: str) -> str:
        name, equals, value = word.partition("=")
        return f"{former.get(name, name)}{equals}{value}"

    return Command


class JsonMayStandAlone(typer.core.TyperCommand):
    """For commands whose ``--json`` took no value: by itself, it still means ``--json -``.

    The word after it is its value if it is ``-`` or ends in .json or .jsonl.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a ``--json`` that stands alone its value."""
        end = args.index("--") if "--" in args else len(args)
        completed = []
        for place, word in enumerate(args):
            completed.append(word)
            if word == "--json" and place < end and not _is_json_path(args[place + 1 : end]):
                completed.append("-")
        return super().parse_args(ctx, completed)


def _is_json_path(following: list[str]) -> bool:
    return bool(following) and (following[0] == "-" or following[0].endswith((".json", ".jsonl")))
