"""Examples in docstrings (``>>> ...``) become blocks of code on the site."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts a fence around every example, before the docstring is read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called once per module, class, function and attribute."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", text)
