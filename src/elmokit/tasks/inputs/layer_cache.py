"""The layers of a frozen biLM, computed once and kept on disk: later epochs only read them.

    FOLDER/<fingerprint>-float32/<name>.layers    numbers, one sentence after the other
                                 <name>.index     where each sentence is

A sentence is stored as its token layer (T, P), once, then its L layers (L, T, D). Files are
written aside, renamed, and never changed, so runs and processes may share a folder; readers map
them into memory. When the folder outgrows its bound, the files unused for longest go first.
"""

import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError
from elmokit.files import remove_leftovers, replacing_file
from elmokit.files.locks import wait_for_lock
from elmokit.progress import meter

Sentences = Sequence[Sequence[str]]

SHARD_BYTES = 128 << 20
"""A file of layers is closed at this size: the most that a killed run computes again."""
DEFAULT_GIGABYTES = 20.0
_ENTRY = np.dtype([("key", "V16"), ("start", "<i8"), ("num_tokens", "<i8")])


class _Place(NamedTuple):
    shard: Path
    start: int
    num_tokens: int


class _Pending(NamedTuple):
    key: bytes
    num_tokens: int
    numbers: npt.NDArray[Any]


def default_folder() -> Path:
    """$ELMOKIT_CACHE, or the user's cache folder."""
    named = os.environ.get("ELMOKIT_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "elmokit" / "layers"


class ComputedLayers:
    """A LayerSource without a disk: runs the biLM every time."""

    def __init__(self, embedder: Embedder) -> None:
        self.num_layers = embedder.num_layers
        self.dim = embedder.dim
        self._embedder = embedder

    def layers(self, sentences: Sentences) -> Tensor:
        """(B, L + 1, T, D) on the biLM's device, zero beyond each sentence's length."""
        return self._embedder.padded_layers(sentences)


class LayerCache:
    """A LayerSource that reads what it has and computes the rest.

    ``prepare`` computes and stores what is missing; ``layers`` never writes. ``float16`` halves
    the size and costs exactness (the layers are rounded); arithmetic stays float32.
    """

    def __init__(
        self,
        embedder: Embedder,
        folder: Path | None = None,
        *,
        precision: str = "float32",
        max_gigabytes: float = DEFAULT_GIGABYTES,
    ) -> None:
        if max_gigabytes <= 0:
            raise InputError(f"layer cache: max_gigabytes must be positive, got {max_gigabytes}")
        if precision not in ("float32", "float16"):
            raise InputError(f"the layer cache stores float32 or float16, got {precision!r}")
        self.num_layers = embedder.num_layers
        self.dim = embedder.dim
        self.max_bytes = round(max_gigabytes * 1e9)
        self._embedder = embedder
        self._root = folder or default_folder()
        self._folder = self._root / f"{embedder.fingerprint[:32]}-{precision}"
        self._dtype = np.dtype(precision)
        self._places: dict[bytes, _Place] = {}
        self._maps: dict[Path, npt.NDArray[Any]] = {}
        self._known: set[Path] = set()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._refresh()

    def prepare(self, sentences: Iterable[Sequence[str]], *, quiet: bool = False) -> int:
        """Store the layers of these sentences; return how many had to be computed.

        Sentences for which there is no room are left out: ``layers`` computes them every time.
        """
        wanted = {_key(sentence): sentence for sentence in sentences if len(sentence)}
        if not self._missing(wanted):
            return 0
        with _one_at_a_time(self._folder, quiet):  # the other runs wait, and find it done
            missing = self._missing(wanted)
            if missing:
                self._compute(missing, quiet)
        return len(missing)

    def _missing(self, wanted: Mapping[bytes, Sequence[str]]) -> list[Sequence[str]]:
        """The sentences that neither this nor another run has stored."""
        self._refresh()
        return [
            sentence for key, sentence in wanted.items() if self._lookup(key, len(sentence)) is None
        ]

    def layers(self, sentences: Sentences) -> Tensor:
        """(B, L + 1, T, D) on the CPU, zero beyond each sentence's length."""
        longest = max((len(sentence) for sentence in sentences), default=0)
        batch = torch.empty(len(sentences), self.num_layers, longest, self.dim)
        view = batch.numpy()
        missing = []
        for number, sentence in enumerate(sentences):
            place = self._lookup(_key(sentence), len(sentence)) if len(sentence) else None
            if place is not None:
                self._read(place, view[number])
            elif len(sentence):
                missing.append(number)
            view[number, :, len(sentence) :] = 0
        if missing:
            found = self._embedder.padded_layers([sentences[number] for number in missing])
            batch[missing, :, : found.shape[2]] = found.cpu()
        return batch

    @property
    def num_bytes(self) -> int:
        """The size of all models' layers in the folder."""
        return sum(size for _, _, size in self._shards_by_age())

    def _read(self, place: _Place, out: Vectors) -> None:
        """Into ``out`` (L + 1, T, D)."""
        tokens, half = place.num_tokens, self.dim // 2
        end_of_x = place.start + tokens * half
        numbers = self._maps[place.shard]
        x = numbers[place.start : end_of_x].reshape(tokens, half)
        out[0, :tokens, :half] = x
        out[0, :tokens, half:] = x
        rest = numbers[end_of_x : end_of_x + (self.num_layers - 1) * tokens * self.dim]
        out[1:, :tokens] = rest.reshape(self.num_layers - 1, tokens, self.dim)

    def _lookup(self, key: bytes, num_tokens: int) -> _Place | None:
        """Where a sentence is stored, its file mapped; None if it is not there (any more)."""
        place = self._places.get(key)
        if place is None or place.num_tokens != num_tokens:
            return None
        if place.shard in self._maps:
            return place
        try:
            self._maps[place.shard] = np.asarray(np.memmap(place.shard, self._dtype, mode="r"))
            os.utime(place.shard)  # in use: others go first
        except (FileNotFoundError, ValueError):  # made room for something else, or cut short
            self._places = {k: p for k, p in self._places.items() if p.shard != place.shard}
            return None
        return place

    def _refresh(self) -> None:
        """Learn of files that other runs have added."""
        for index in sorted(self._folder.glob("*.index")):
            if index in self._known:
                continue
            try:
                entries = np.fromfile(index, dtype=_ENTRY)
            except FileNotFoundError:
                continue
            self._known.add(index)
            self._add(index.with_suffix(".layers"), entries)

    def _add(self, shard: Path, entries: npt.NDArray[Any]) -> None:
        """Learn where the sentences of a file lie; what does not fit into it is left out."""
        try:
            num_numbers = shard.stat().st_size // self._dtype.itemsize
        except FileNotFoundError:
            return
        per_token = self.dim // 2 + (self.num_layers - 1) * self.dim
        places = zip(entries["key"], entries["start"], entries["num_tokens"], strict=True)
        for key, start, num_tokens in places:
            if 0 <= start <= num_numbers and 0 < num_tokens <= (num_numbers - start) // per_token:
                self._places[key.tobytes()] = _Place(shard, int(start), int(num_tokens))
        if int(entries["num_tokens"].sum()) * per_token != num_numbers:
            print(f"{shard}: damaged; what it lacks is computed again", file=sys.stderr)

    def _compute(self, missing: list[Sequence[str]], quiet: bool) -> None:
        """Run the biLM over these sentences, storing a file whenever it is full."""
        total = sum(len(sentence) for sentence in missing)
        pending: list[_Pending] = []
        pending_bytes = num_stored = 0
        with meter("biLM layers", "tokens", total, quiet) as progress:
            stream = self._embedder.stream_layers(missing)
            for number, (sentence, layers) in enumerate(zip(missing, stream, strict=True), 1):
                parts = layers[0, :, : self.dim // 2].ravel(), layers[1:].ravel()
                numbers = np.concatenate(parts, dtype=self._dtype, casting="same_kind")
                pending.append(_Pending(_key(sentence), len(sentence), numbers))
                pending_bytes += pending[-1].numbers.nbytes
                progress.advance(len(sentence))
                if pending_bytes >= SHARD_BYTES or number == len(missing):
                    if not self._store(pending, pending_bytes):
                        break
                    num_stored = number
                    pending, pending_bytes = [], 0
        if num_stored < len(missing):
            print(
                f"the layer cache {self._root} is full ({self.max_bytes / 1e9:g} GB): "
                f"{len(missing) - num_stored:,} sentences will be computed in every epoch",
                file=sys.stderr,
            )

    def _store(self, pending: list[_Pending], num_bytes: int) -> bool:
        """One more file; False if there is no room for it."""
        if not self._make_room(num_bytes):
            return False
        shard = self._folder / f"{uuid.uuid4().hex}.layers"
        with replacing_file(shard) as aside, aside.open("wb") as file:
            for item in pending:
                item.numbers.tofile(file)
        entries = np.empty(len(pending), dtype=_ENTRY)
        entries["key"] = np.frombuffer(b"".join(item.key for item in pending), dtype="V16")
        entries["start"] = np.cumsum([0] + [item.numbers.size for item in pending[:-1]])
        entries["num_tokens"] = [item.num_tokens for item in pending]
        index = shard.with_suffix(".index")
        with replacing_file(index) as aside:
            entries.tofile(aside)
        self._known.add(index)
        self._add(shard, entries)
        self._lookup(
            pending[0].key, pending[0].num_tokens
        )  # mapped, so that it stays readable whatever others delete
        return True

    def _make_room(self, num_bytes: int) -> bool:
        for folder in self._root.iterdir():
            remove_leftovers(folder / "*")
        shards = self._shards_by_age()
        excess = sum(size for _, _, size in shards) + num_bytes - self.max_bytes
        for _, shard, size in shards:
            if excess <= 0:
                break
            if shard not in self._maps:
                shard.with_suffix(".index").unlink(missing_ok=True)
                shard.unlink(missing_ok=True)
                excess -= size
        return excess <= 0

    def _shards_by_age(self) -> list[tuple[float, Path, int]]:
        found = []
        for shard in self._root.glob("*/*.layers"):
            try:
                status = shard.stat()
            except FileNotFoundError:
                continue
            found.append((status.st_mtime, shard, status.st_size))
        return sorted(found)


def _key(sentence: Sequence[str]) -> bytes:
    # JSON, so that ["a b"] and ["a", "b"] differ, whatever a token contains.
    text = json.dumps(list(sentence)).encode("ascii")
    return hashlib.blake2b(text, digest_size=16).digest()


def _one_at_a_time(folder: Path, quiet: bool) -> AbstractContextManager[None]:
    """Hold a lock beside ``folder``: the runs that need the same layers wait for the first."""
    notice = "" if quiet else "waiting for another run that computes layers"
    return wait_for_lock(folder.with_name(f"{folder.name}.lock"), notice)
