"""``elmokit embed --resume``: vectors are kept beside OUT, window by window, until it is complete.

    .OUT.resume/settings.json     all that determines the vectors; other settings are rejected
                000000.window     a JSON line (checksums and shapes), then the numbers in float32

A window is what a stream of vectors computes at once, so a resumed run computes the same batches as
an uninterrupted one, and OUT is bit-identical. OUT itself is written at the end, from the windows,
because none of its formats can safely be appended to after a kill.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.embed.chunks import windows_of
from elmokit.embed.embedder import BATCH_TOKENS, Embedder, Start
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.to_file import Selection, note_of, stream_selection, window_tokens_for
from elmokit.embed.files.writers import Layout, full_disk_said_plainly, writing
from elmokit.errors import InputError
from elmokit.files import remove_leftovers, replacing_file, write_json
from elmokit.files.locks import try_lock
from elmokit.progress import Meter
from elmokit.recipe import parse_json

Array = npt.NDArray[Any]
FORMAT = 1
_LONGEST_HEADER = 1 << 26


def embed_resumably(
    elmo: Embedder,
    read_items: Callable[[], Iterable[Item]],
    path: Path,
    selection: Selection,
    progress: Meter,
    *,
    layout: Layout,
    start: Start = "fresh",
    batch_tokens: int = BATCH_TOKENS,
) -> int:
    """``embed_to_file`` that resumes where a killed run stopped; returns the number of tokens.

    ``read_items`` is called twice: to compute, and to write.
    """
    settings = {
        "format": FORMAT,
        "model": elmo.fingerprint,
        "device": str(elmo.device),
        "selection": repr(selection),
        "start": str(start),
        "batch_tokens": batch_tokens,
    }
    num_tokens = 0
    with _keeping_windows(path, settings, progress) as kept:
        sentences = (item.tokens for item in read_items())
        for number, window in enumerate(windows_of(sentences, window_tokens_for(batch_tokens))):
            if kept.has(number, window):
                elmo.warm_cache(window, batch_tokens=batch_tokens)
            else:
                found = stream_selection(elmo, window, selection, start, batch_tokens)
                with full_disk_said_plainly(path):
                    kept.write(number, window, list(found))
            num_tokens += sum(map(len, window))
            progress.advance(len(window), note_of(progress, num_tokens))
        with writing(path, layout) as writer:
            for item, vectors in zip(read_items(), kept.vectors(), strict=True):
                writer.add(item, vectors)
    return num_tokens


class KeptWindows:
    """The computed windows of one output; each file is complete or absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.num_windows = 0
        """Windows of this run so far, kept from an earlier run or written by this one."""

    def has(self, number: int, window: Sequence[Sequence[str]]) -> bool:
        """Whether the vectors of exactly this window are kept, and intact."""
        read = self._read(number)
        self.num_windows = max(self.num_windows, number + 1)
        return read is not None and read[0].get("tokens") == _digest_of(window)

    def write(self, number: int, window: Sequence[Sequence[str]], vectors: Sequence[Array]) -> None:
        """Keep the vectors of a window."""
        numbers = [np.ascontiguousarray(array, dtype="<f4") for array in vectors]
        digest = hashlib.sha256()
        for array in numbers:
            digest.update(array.tobytes())
        header = {
            "tokens": _digest_of(window),
            "sha256": digest.hexdigest(),
            "shapes": [array.shape for array in numbers],
        }
        with replacing_file(self._path(number)) as aside, aside.open("wb") as file:
            file.write(json.dumps(header).encode("ascii") + b"\n")
            for array in numbers:
                file.write(array.tobytes())

    def vectors(self) -> Iterator[Array]:
        """The vectors of every sentence of all windows, in order."""
        for number in range(self.num_windows):
            read = self._read(number)
            if read is None:
                raise InputError(
                    f"{self._path(number)}: changed while it was being read; run the same command "
                    f"again"
                )
            header, numbers = read
            start = 0
            for shape in header["shapes"]:
                size = int(np.prod(shape))
                yield numbers[start : start + size].reshape(shape)
                start += size

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.window"

    def _read(self, number: int) -> tuple[dict[str, Any], Array] | None:
        """Header and numbers; None if they are missing or damaged and must be computed again."""
        try:
            with self._path(number).open("rb") as file:
                header = parse_json(file.readline(_LONGEST_HEADER))
                content = file.read()
            sizes = [int(np.prod(shape)) for shape in header["shapes"]]
            is_whole = header["sha256"] == hashlib.sha256(content).hexdigest()
        except (FileNotFoundError, ValueError, LookupError, TypeError, OverflowError):
            return None
        if not is_whole or 4 * sum(sizes) != len(content):
            return None
        return header, np.frombuffer(content, dtype="<f4")


@contextmanager
def _keeping_windows(out: Path, settings: dict[str, Any], progress: Meter) -> Iterator[KeptWindows]:
    folder = out.with_name(f".{out.name}.resume")
    folder.mkdir(parents=True, exist_ok=True)
    with try_lock(folder / "lock") as is_ours:
        if not is_ours:
            raise InputError(f"{out}: another process is writing it; wait for it, or stop it")
        remove_leftovers(folder / "*")
        _require_same(folder, settings, out)
        try:
            yield KeptWindows(folder)
        except BaseException:
            print(
                f"{out}: stopped at {progress.unit[:-1]} {progress.done:,}; the same command "
                f"continues from there",
                file=sys.stderr,
            )
            raise
    shutil.rmtree(folder)


def _require_same(folder: Path, settings: dict[str, Any], out: Path) -> None:
    path = folder / "settings.json"
    if not path.is_file():
        write_json(path, settings)
        return
    try:
        old = parse_json(path.read_text(encoding="utf-8"))
    except ValueError:
        old = None
    if old != settings:
        raise InputError(
            f"{out}: was started with another model or other options; give the same ones, or "
            f"delete {folder} to start again"
        )


def _digest_of(window: Iterable[Sequence[str]]) -> str:
    text = json.dumps([list(sentence) for sentence in window])
    return hashlib.sha256(text.encode("ascii")).hexdigest()
