"""An exploration as one self-contained HTML file."""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from elmokit.files import replacing_file
from elmokit.serve.page.bundle import bundle, page_folder

NOTEBOOK_HEIGHT = 820


class ExplorerPage:
    """The explorer with its data: ``save`` it, or leave it at the end of a notebook's cell.

    ``document`` is all that it shows, as plain values: an ``ExplorerData`` of
    ``elmokit.analysis.explore.exploration``, as JSON holds it.

    >>> from elmokit.analysis.explore.exploration import ExplorerData
    >>> page = ExplorerPage(ExplorerData((), title="Banks").to_json_value())
    >>> page.html.splitlines()[0]
    '<!doctype html>'
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @cached_property
    def html(self) -> str:
        """The page; it needs no other file, and loads none."""
        folder = page_folder()
        script = bundle(folder)
        # A script ends at the first "</script", wherever that stands.
        if "</script" in script.lower():
            raise ValueError("the page's modules may not contain </script")
        parts = {
            "policy": _policy(script, bool(self.document["is_live"])),
            "title": html.escape(self.document["title"]),
            "style": folder.joinpath("style.css").read_text(encoding="utf-8"),
            "data": _safe_json(self.document),
            "script": script,
        }
        page = folder.joinpath("index.html").read_text(encoding="utf-8")
        pieces = page.split("{{")
        # Each placeholder once, so that a placeholder inside the data stays what it is.
        filled = [pieces[0]]
        for piece in pieces[1:]:
            name, _, rest = piece.partition("}}")
            filled += [parts[name], rest]
        return "".join(filled)

    def save(self, path: str | Path) -> None:
        """Write the page; it appears when it is whole."""
        with replacing_file(Path(path)) as aside:
            aside.write_text(self.html, encoding="utf-8", newline="\n")

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame of its own."""
        title = html.escape(self.document["title"])
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{title}" '
            f'style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:0"></iframe>'
        )


def _safe_json(document: Mapping[str, Any]) -> str:
    """JSON in which no text of the corpus can end the script element it stands in."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _policy(script: str, is_live: bool) -> str:
    """What the browser may load: this script, no other, and nothing from elsewhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    connect = "'self'" if is_live else "'none'"
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
