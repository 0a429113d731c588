"""Writes the index of a text; ``index.py`` says what is in it, and reads it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder, Floats, Sentences, chunks, unit
from elmokit.analysis.words.index import IndexFacts, map_layer, text_facts, usearch_module
from elmokit.analysis.words.texts import first_tokens, read_sentences
from elmokit.errors import InputError
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.files.checksums import write_checksums
from elmokit.progress import meter
from elmokit.recipe import to_plain

EXACT_TOKENS = 5_000_000
MAX_WORDS = 50_000

EncodedChunks = Iterator[tuple[Sentences, list[Floats]]]
EncodeChunks = Callable[[Iterable[Sentences]], EncodedChunks]
"""Chunks of sentences -> each chunk with its layers, in the same order."""


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
        encoder: computes the vectors.
        sentences: lists of tokens.
        out: the folder to write.
        layers: the layers to index; default: all but the token layer.
        exact_tokens: an index with more tokens gets a graph for approximate search.
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
                f"{out}: nothing to index; the text has no tokens, or its first sentence is longer "
                f"than --tokens allows"
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
    """``build_index`` for files and folders of text, or its first ``max_tokens`` tokens."""
    sentences = first_tokens(read_sentences(texts, pretokenized, out), max_tokens)
    facts = text_facts(texts, max_tokens, pretokenized)
    return build_index(
        encoder, sentences, out, layers, quiet=quiet, made_of=facts, encode_chunks=encode_chunks
    )


def _check_layers(encoder: Encoder, layers: Sequence[int] | None) -> list[int]:
    number = len(encoder.layer_names)
    chosen = sorted(set(range(min(1, number - 1), number) if layers is None else layers))
    for layer in chosen:
        if not 0 <= layer < number:
            raise InputError(f"{encoder.name} has layers 0 to {number - 1}, not {layer}")
    if not chosen:
        raise InputError("an index needs at least one layer, got none; name layers such as 1,2")
    return chosen


class _Text(NamedTuple):
    num_sentences: int
    num_tokens: int
    dim: int
    words: Counter[str]


def _encode_here(encoder: Encoder) -> EncodeChunks:
    return lambda wanted: ((chunk, encoder.layers(chunk)) for chunk in wanted)


def _write_tokens(encoded: EncodedChunks, out: Path, layers: list[int], quiet: bool) -> _Text:
    """One pass over the text, with one chunk in memory at a time."""
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
    """Write the token-layer vectors of the most common words."""
    commonest = [word for word, _ in words.most_common(MAX_WORDS)]
    vectors = [
        array[0, 0] for part in chunks(commonest) for array in encoder.layers([[w] for w in part])
    ]
    np.save(out / "words.npy", unit(np.stack(vectors)).astype(np.float16))
    text = "".join(f"{word}\n" for word in commonest)
    (out / "words.txt").write_text(text, encoding="utf-8", newline="\n")


def _write_graph(out: Path, layer: int, facts: IndexFacts, quiet: bool) -> None:
    vectors = map_layer(out, layer, facts)
    graph = usearch_module().Index(
        ndim=facts.dim, metric="cos", dtype="i8", connectivity=16, expansion_add=64
    )
    with meter(f"graph of layer {layer}", "tokens", len(vectors), quiet) as progress:
        for start in range(0, len(vectors), 1 << 14):
            part = vectors[start : start + (1 << 14)].astype(np.float32)
            graph.add(np.arange(start, start + len(part)), part)
            progress.advance(len(part))
    graph.save(str(out / f"layer-{layer}.usearch"))
