"""The rows of a table, cached on disk for each encoder.

CACHE/KIND-DATA/FINGERPRINT.json: an interrupted analysis loses only the encoder it was working on,
and adding a model to a table computes the rows of that model alone.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from elmokit.analysis.encoders.encoder import Encoder
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.recipe import from_plain, parse_json, to_plain

Row = TypeVar("Row")


def rows_folder(cache: Path | None, kind: str, *made_of: Any) -> Path | None:
    """The folder for rows of one kind on the same data; None if nothing is cached.

    ``made_of``: all that the rows depend on besides the encoder, as values that JSON can hold.
    """
    if cache is None:
        return None
    digest = hashlib.sha256(json.dumps(made_of).encode())
    return cache / f"{kind}-{digest.hexdigest()[:16]}"


def cached_rows(
    folder: Path | None, encoder: Encoder, row: type[Row], compute: Callable[[], list[Row]]
) -> list[Row]:
    """The encoder's rows, read from ``folder`` or computed and stored there.

    Without a folder they are computed every time.
    """
    if folder is None:
        return compute()
    path = folder / f"{encoder.fingerprint}.json"
    if not path.exists():
        write_json(path, to_plain(compute()))
    try:
        rows = parse_json(path.read_text(encoding="utf-8"))
        return [from_plain(row, {**values, "encoder": encoder.name}, str(path)) for values in rows]
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{path}: not rows that this version of elmokit can read ({error}); delete the file"
        ) from None
