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
