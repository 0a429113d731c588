"""Neighbours in context (Table 4): an index of every token of a corpus, at every LSTM layer.

INDEX/index.json         what it is, of which model and of which text
      layer-K.f16        (N, D) float16, unit length: every token at layer K
      layer-K.usearch    a graph over them, for corpora too large for exact search
      sentences.txt, sentences.npy       the text, and the byte where each sentence starts
      tokens.npy         (N, 2): the sentence and the position of each token
      words.txt, words.npy       the most common words and their token-layer vectors
      SHA256SUMS         the checksums that ``elmokit verify INDEX`` compares

All files are memory-mapped. Up to five million tokens are searched exactly (0.2 s per million).
Larger indexes use usearch's graph (HNSW over 8-bit vectors) to find candidates, which are ranked by
their float16 vectors.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, Floats, unit
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.errors import InputError, missing_extra, reason_of
from elmokit.files.arrays import map_npy
from elmokit.recipe import from_plain, parse_json
from elmokit.text.static_vectors import StaticVectors

FORMAT = "elmokit-index"
VERSION = 1
PROPOSALS = 20
"""Candidates to take from the graph for each requested neighbour."""


class Neighbour(NamedTuple):
    """An occurrence in the index, and its cosine similarity to the query."""

    similarity: float
    occurrence: Occurrence


class IndexFacts(NamedTuple):
    """The contents of index.json."""

    encoder: str
    """The name of the model."""
    fingerprint: str
    layer_names: list[str]
    """All layers of the model."""
    layers: list[int]
    """The layers that are indexed."""
    dim: int
    num_tokens: int
    num_sentences: int
    is_exact: bool
    """Whether every token is searched; otherwise there is a graph."""
    made_of: dict[str, Any] = {}  # noqa: RUF012  never changed
    """The text that was indexed."""
    format: str = FORMAT
    version: int = VERSION


def text_facts(texts: Sequence[str], max_tokens: int | None, pretokenized: bool) -> dict[str, Any]:
    """The description, in index.json, of the text that was indexed."""
    return {"texts": list(texts), "max_tokens": max_tokens, "pretokenized": pretokenized}


def open_index(path: Path) -> "OccurrenceIndex":
    """Open what ``build_index`` wrote."""
    file = path / "index.json"
    if not file.is_file():
        raise InputError(f"{path}: no index here; make one with  elmokit index TEXT -o {path}")
    try:
        values = parse_json(file.read_text(encoding="utf-8"))
        known = {"format": FORMAT, "version": VERSION}
        if not isinstance(values, dict) or {name: values.get(name) for name in known} != known:
            raise InputError(f"{file}: not an index that this version of elmokit reads")
        return OccurrenceIndex(path, from_plain(IndexFacts, values, str(file)))
    except InputError as error:
        raise InputError(f"{error}; make the index again") from None
    except ValueError:
        raise InputError(f"{file}: is damaged; make the index again") from None


@dataclass(frozen=True)
class OccurrenceIndex:
    """An opened index: every occurrence in a text, searched by the vectors of a layer."""

    path: Path
    facts: IndexFacts

    @property
    def layers(self) -> list[int]:
        """The layers that are indexed."""
        return self.facts.layers

    def is_of(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        max_tokens: int | None = None,
    ) -> bool:
        """Whether it was made with this model from exactly these texts, which it tokenized."""
        is_same_text = self.facts.made_of == text_facts(texts, max_tokens, pretokenized=False)
        return is_same_text and self.facts.fingerprint == encoder.fingerprint

    @property
    def num_tokens(self) -> int:
        """How many tokens are indexed."""
        return self.facts.num_tokens

    @cached_property
    def words(self) -> StaticVectors:
        """The token-layer vectors of the most common words, for static neighbours."""
        with self._damage_said_plainly():
            words = (self.path / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
            vectors = _load_array(self.path / "words.npy", len(words)).astype(np.float32)
            return StaticVectors(words, vectors, str(self.path))

    def neighbours(
        self, encoder: Encoder, occurrence: Occurrence, layer: int | None = None, number: int = 5
    ) -> list[Neighbour]:
        """The nearest occurrences at a layer (default: the top), except in the sentence itself.

        A sentence that the text repeats is listed once.
        """
        if encoder.fingerprint != self.facts.fingerprint:
            raise InputError(
                f"{self.path}: was made with another model ({self.facts.encoder}); vectors of "
                "two models cannot be compared: index the text again, or name that model"
            )
        layer = self.layers[-1] if layer is None else layer
        if layer not in self.layers:
            known = ", ".join(map(str, self.layers))
            raise InputError(f"{self.path}: holds layers {known}, not {layer}; index it again")
        with self._damage_said_plainly():
            query = unit(encoder.layers([occurrence.tokens])[0][layer, occurrence.place][None])[0]
        # Repeated sentences are dropped, so more candidates may be needed.
        found: dict[tuple[tuple[str, ...], int], Neighbour] = {}
        wanted = number
        while len(found) < number and wanted <= 64 * number:
            wanted = 2 * wanted + 8
            found = {}
            for row, similarity in self._search(layer, query, wanted):
                other = self.occurrence(row)
                if other.tokens != occurrence.tokens:
                    key = (tuple(other.tokens), other.place)
                    found.setdefault(key, Neighbour(similarity, other))
            if wanted >= self.num_tokens:
                break
        return list(found.values())[:number]

    def occurrence(self, row: int) -> Occurrence:
        """The token in a row of the index, with its sentence."""
        with self._damage_said_plainly():
            sentence, place = (int(number) for number in self._tokens[row])
            start, end = self._starts[sentence], self._starts[sentence + 1]
            tokens = self._text[start : end - 1].tobytes().decode().split(" ")
            _ = tokens[place]
        return Occurrence(tokens, place)

    @contextmanager
    def _damage_said_plainly(self) -> Iterator[None]:
        """An index is memory-mapped, so damage may show only when it is used."""
        try:
            yield
        except (IndexError, TypeError, ValueError, FileNotFoundError, MemoryError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self.path}: damaged ({reason_of(error)}); make the index again"
            ) from None

    def sentences(self) -> Iterator[list[str]]:
        """All sentences of the text, in order."""
        for start, end in pairwise(self._starts.tolist()):
            yield self._text[start : end - 1].tobytes().decode().split(" ")

    def _search(self, layer: int, query: Floats, number: int) -> list[tuple[int, float]]:
        vectors = map_layer(self.path, layer, self.facts)
        if vectors.shape[1] != len(query):
            raise InputError(f"{self.path}: vectors of another width; make the index again")
        number = min(number, len(vectors))
        if self.facts.is_exact:
            search = usearch_module().search
            found = search(vectors, query.astype(np.float16), number, "cos", exact=True)
            rows = found.keys.astype(np.int64)
        else:
            graph = self._graph(layer)
            rows = graph.search(query, PROPOSALS * number).keys.astype(np.int64)
        rows = np.sort(rows)
        similarity = vectors[rows].astype(np.float32) @ query
        order = np.argsort(-similarity, kind="stable")[:number]
        return [(int(rows[place]), float(similarity[place])) for place in order]

    def _graph(self, layer: int) -> Any:
        file = self.path / f"layer-{layer}.usearch"
        try:
            graph = usearch_module().Index.restore(str(file), view=True)
        except (RuntimeError, ValueError):  # usearch raises either
            graph = None
        if graph is None:
            raise InputError(f"{file}: missing or damaged; make the index again")
        return graph

    @cached_property
    def _tokens(self) -> npt.NDArray[np.int32]:
        return _load_array(self.path / "tokens.npy", self.num_tokens)

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        return _load_array(self.path / "sentences.npy", self.facts.num_sentences + 1)

    @cached_property
    def _text(self) -> npt.NDArray[np.uint8]:
        file = self.path / "sentences.txt"
        if not file.is_file() or file.stat().st_size != self._starts[-1]:
            raise InputError(f"{file}: missing or cut short; make the index again")
        return np.memmap(file, dtype=np.uint8, mode="r")


def _load_array(file: Path, length: int) -> npt.NDArray[Any]:
    try:
        array = map_npy(file)
        if array.ndim and len(array) == length:
            return array
    except (ValueError, OSError):
        pass
    raise InputError(f"{file}: missing or damaged; make the index again")


def map_layer(path: Path, layer: int, facts: IndexFacts) -> npt.NDArray[np.float16]:
    """(N, D): the vectors of one layer, memory-mapped."""
    file = path / f"layer-{layer}.f16"
    shape = (facts.num_tokens, facts.dim)
    if not file.is_file() or file.stat().st_size != 2 * shape[0] * shape[1]:
        raise InputError(f"{file}: missing or cut short; make the index again")
    return np.memmap(file, dtype=np.float16, mode="r", shape=shape)


def usearch_module() -> Any:
    """The module ``usearch.index``; raises an error that names the extra if it is missing."""
    try:
        import usearch.index
    except ImportError:
        raise missing_extra("usearch", "analysis", "an index of neighbours") from None
    return usearch.index
