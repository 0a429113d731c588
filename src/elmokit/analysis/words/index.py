"""Neighbours in context (Table 4): an index of every token of a corpus, at every LSTM layer.

INDEX/index.json         what it is, of which model and of which text
      layer-K.f16        (N, D) float16, unit length: every token at layer K
      layer-K.usearch    a graph over them, for corpora too large to look at every token
      sentences.txt, sentences.npy       the text, and the byte where each sentence starts
      tokens.npy         (N, 2): the sentence and the place of each token
      words.txt, words.npy       the commonest words and their token-layer vectors
      SHA256SUMS         what ``elmokit verify INDEX`` compares

All are memory-mapped. Up to five million tokens are searched exactly (0.2 s per million); beyond
that usearch's graph (HNSW over 8-bit vectors) proposes and the float16 vectors decide.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, Floats, Sentences, chunks, unit
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.texts import first_tokens, read_sentences
from elmokit.errors import InputError, missing_extra, reason_of
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.files.arrays import map_npy
from elmokit.files.checksums import write_checksums
from elmokit.files.json_text import parse_json
from elmokit.progress import meter
from elmokit.recipe import from_plain, to_plain
from elmokit.text.static_vectors import StaticVectors

FORMAT = "elmokit-index"
VERSION = 1
EXACT_TOKENS = 5_000_000
MAX_WORDS = 50_000
PROPOSALS = 20
"""Candidates that the graph gives for each neighbour that is wanted."""


EncodedChunks = Iterator[tuple[Sentences, list[Floats]]]
EncodeChunks = Callable[[Iterable[Sentences]], EncodedChunks]
"""Chunks of sentences -> each of them with its layers, in the same order."""


class Neighbour(NamedTuple):
    """An occurrence in the index, and its cosine similarity to the one asked about."""

    similarity: float
    occurrence: Occurrence


class IndexFacts(NamedTuple):
    """What index.json says."""

    encoder: str
    """The name of the model."""
    fingerprint: str
    layer_names: list[str]
    """All layers of the model."""
    layers: list[int]
    """Those that are indexed."""
    dim: int
    num_tokens: int
    num_sentences: int
    is_exact: bool
    """Every token is searched; else there is a graph."""
    made_of: dict[str, Any] = {}  # noqa: RUF012  never changed
    """Which text."""
    format: str = FORMAT
    version: int = VERSION


class IndexReport(NamedTuple):
    """What ``build_index`` did."""

    num_sentences: int
    num_tokens: int
    layers: tuple[int, ...]
    is_exact: bool


def build_index(
    encoder: Encoder,
    sentences: Iterable[Sequence[str]],
    out: Path,
    layers: Sequence[int] | None = None,
    exact_tokens: int = EXACT_TOKENS,
    quiet: bool = False,
    made_of: Mapping[str, Any] | None = None,
    encode_chunks: EncodeChunks | None = None,
) -> IndexReport:
    """Write the index of all tokens.

    Args:
        encoder: whose vectors are indexed.
        sentences: lists of tokens.
        out: the folder to write.
        layers: default to all but the token layer.
        exact_tokens: a larger index gets a graph.
        quiet: show no progress.
        made_of: where the sentences come from, stored with the index.
        encode_chunks: computes the encoder's layers elsewhere, for instance on a cluster.
    """
    require_replaceable(out, "index.json", "index")
    chosen = _check_layers(encoder, layers)
    with replacing_folder(out) as aside:
        wanted = chunks(sentence for sentence in sentences if sentence)
        encoded = (encode_chunks or _encode_here(encoder))(wanted)
        text = _write_tokens(encoded, aside, chosen, quiet)
        if text.num_tokens == 0:
            raise InputError(
                f"{out}: there is nothing to index; the text has no tokens, or its first sentence "
                f"is longer than --tokens allows"
            )
        is_exact = text.num_tokens <= exact_tokens
        _write_words(encoder, text.words, aside)
        facts = IndexFacts(
            encoder=encoder.name,
            fingerprint=encoder.fingerprint,
            layer_names=list(encoder.layer_names),
            layers=chosen,
            dim=text.dim,
            num_tokens=text.num_tokens,
            num_sentences=text.num_sentences,
            is_exact=is_exact,
            made_of=dict(made_of or {}),
        )
        if not is_exact:
            for layer in chosen:
                _write_graph(aside, layer, facts, quiet)
        write_json(aside / "index.json", to_plain(facts))
        write_checksums(aside)
    return IndexReport(text.num_sentences, text.num_tokens, tuple(chosen), is_exact)


def index_texts(
    encoder: Encoder,
    texts: Sequence[str],
    out: Path,
    layers: Sequence[int] | None = None,
    max_tokens: int | None = None,
    pretokenized: bool = False,
    quiet: bool = False,
    encode_chunks: EncodeChunks | None = None,
) -> IndexReport:
    """``build_index`` for the text of files and folders, or its first ``max_tokens`` tokens."""
    sentences = first_tokens(read_sentences(texts, pretokenized, out), max_tokens)
    facts = _made_of(texts, max_tokens, pretokenized)
    return build_index(
        encoder, sentences, out, layers, quiet=quiet, made_of=facts, encode_chunks=encode_chunks
    )


def _made_of(texts: Sequence[str], max_tokens: int | None, pretokenized: bool) -> dict[str, Any]:
    return {"texts": list(texts), "max_tokens": max_tokens, "pretokenized": pretokenized}


def _check_layers(encoder: Encoder, layers: Sequence[int] | None) -> list[int]:
    number = len(encoder.layer_names)
    chosen = sorted(set(range(min(1, number - 1), number) if layers is None else layers))
    for layer in chosen:
        if not 0 <= layer < number:
            raise InputError(f"{encoder.name} has layers 0 to {number - 1}, not {layer}")
    if not chosen:
        raise InputError("an index needs at least one layer")
    return chosen


class _Text(NamedTuple):
    num_sentences: int
    num_tokens: int
    dim: int
    words: Counter[str]


def _encode_here(encoder: Encoder) -> EncodeChunks:
    return lambda wanted: ((chunk, encoder.layers(chunk)) for chunk in wanted)


def _write_tokens(encoded: EncodedChunks, out: Path, layers: list[int], quiet: bool) -> _Text:
    """One pass over the text, one chunk in memory."""
    words: Counter[str] = Counter()
    starts, places, dim = [0], [np.zeros((0, 2), dtype=np.int32)], 0
    with ExitStack() as files, meter("indexing", "tokens", None, quiet) as progress:
        text = files.enter_context((out / "sentences.txt").open("wb"))
        raw = {n: files.enter_context((out / f"layer-{n}.f16").open("wb")) for n in layers}
        for chunk, arrays in encoded:
            for sentence, vectors in zip(chunk, arrays, strict=True):
                for layer, stream in raw.items():
                    stream.write(unit(vectors[layer]).astype(np.float16).tobytes())
                place = np.arange(len(sentence))
                number = np.full(len(sentence), len(starts) - 1)
                places.append(np.stack([number, place], axis=1).astype(np.int32))
                starts.append(starts[-1] + text.write(f"{' '.join(sentence)}\n".encode()))
                words.update(sentence)
                dim = vectors.shape[2]
            progress.advance(sum(map(len, chunk)))
    np.save(out / "sentences.npy", np.array(starts, dtype=np.int64))
    np.save(out / "tokens.npy", np.concatenate(places))
    return _Text(len(starts) - 1, words.total(), dim, words)


def _write_words(encoder: Encoder, words: Counter[str], out: Path) -> None:
    """The commonest words by themselves, at the layer that sees no context."""
    commonest = [word for word, _ in words.most_common(MAX_WORDS)]
    vectors = [
        array[0, 0] for part in chunks(commonest) for array in encoder.layers([[w] for w in part])
    ]
    np.save(out / "words.npy", unit(np.stack(vectors)).astype(np.float16))
    text = "".join(f"{word}\n" for word in commonest)
    (out / "words.txt").write_text(text, encoding="utf-8", newline="\n")


def _write_graph(out: Path, layer: int, facts: IndexFacts, quiet: bool) -> None:
    vectors = _map_layer(out, layer, facts)
    graph = _usearch().Index(
        ndim=facts.dim, metric="cos", dtype="i8", connectivity=16, expansion_add=64
    )
    with meter(f"graph of layer {layer}", "tokens", len(vectors), quiet) as progress:
        for start in range(0, len(vectors), 1 << 14):
            part = vectors[start : start + (1 << 14)].astype(np.float32)
            graph.add(np.arange(start, start + len(part)), part)
            progress.advance(len(part))
    graph.save(str(out / f"layer-{layer}.usearch"))


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
        pretokenized: bool = False,
    ) -> bool:
        """Was it made with this model, from exactly these texts?"""
        is_same_text = self.facts.made_of == _made_of(texts, max_tokens, pretokenized)
        return is_same_text and self.facts.fingerprint == encoder.fingerprint

    @property
    def num_tokens(self) -> int:
        """How many tokens are indexed."""
        return self.facts.num_tokens

    @cached_property
    def words(self) -> StaticVectors:
        """One vector per word, from the layer that sees no context: the static neighbours."""
        with self._damage_said_plainly():
            words = (self.path / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
            vectors = _load_array(self.path / "words.npy", len(words)).astype(np.float32)
            return StaticVectors(words, vectors, str(self.path))

    def neighbours(
        self, encoder: Encoder, occurrence: Occurrence, layer: int | None = None, number: int = 5
    ) -> list[Neighbour]:
        """The nearest occurrences at a layer (default: the top), the sentence itself left out.

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
        # The sentence itself, and others, may occur in the text more than once; then look further.
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
        """An index is mapped, not read: numbers that do not fit are met only in use."""
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
        vectors = _map_layer(self.path, layer, self.facts)
        if vectors.shape[1] != len(query):
            raise InputError(f"{self.path}: vectors of another width; make the index again")
        number = min(number, len(vectors))
        if self.facts.is_exact:
            search = _usearch().search
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
            graph = _usearch().Index.restore(str(file), view=True)
        except (RuntimeError, ValueError):  # usearch has no one type for it
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


def _map_layer(path: Path, layer: int, facts: IndexFacts) -> npt.NDArray[np.float16]:
    file = path / f"layer-{layer}.f16"
    shape = (facts.num_tokens, facts.dim)
    if not file.is_file() or file.stat().st_size != 2 * shape[0] * shape[1]:
        raise InputError(f"{file}: missing or cut short; make the index again")
    return np.memmap(file, dtype=np.float16, mode="r", shape=shape)


def _usearch() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise missing_extra("usearch", "analysis", "an index of neighbours") from None
    return usearch.index
