"""The rows of one encoder in a table, kept on disk.

KEEP/KIND-DATA/FINGERPRINT.json: a kill costs the encoder that was at work, and a new model only its
own rows.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from elmokit.analysis.encoders import Encoder
from elmokit.analysis.results import plain, rebuild
from elmokit.files import write_json

Row = TypeVar("Row")


def rows_folder(keep: Path | None, kind: str, *made_of: Any) -> Path | None:
    """Of rows on the same data; ``made_of``: values whose ``repr`` tells them apart."""
    if keep is None:
        return None
    digest = hashlib.sha256(repr(made_of).encode("utf-8", "surrogatepass"))
    return keep / f"{kind}-{digest.hexdigest()[:16]}"


def kept_rows(
    folder: Path | None, encoder: Encoder, row: type[Row], compute: Callable[[], list[Row]]
) -> list[Row]:
    """An encoder's rows: those that are there, else computed and kept. None: kept nowhere."""
    if folder is None:
        return compute()
    path = folder / f"{encoder.fingerprint}.json"
    if not path.exists():
        write_json(path, plain(compute()))
    kept = json.loads(path.read_text(encoding="utf-8"))
    return [rebuild(row, {**values, "encoder": encoder.name}) for values in kept]
