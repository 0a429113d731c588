"""spaCy: ``nlp.add_pipe("elmokit")`` gives every token its vector.

    doc.tensor             (T, D), where spaCy's own components look for vectors
    doc._.elmo             (T, D), the same; survives DocBin, and components that set doc.tensor
    span._.elmo            (tokens of the span, D)
    token._.elmo           (D,)
    doc._.elmo_layers      (L + 1, T, D), with ``config={"layers": True}``
    token._.elmo_layers    (L + 1, D)

Tokens and sentence boundaries are spaCy's; a doc without boundaries is read as one sentence.
Whitespace tokens are not read, and their vectors are zero.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmokit.embed.chunks import windows_of
from elmokit.embed.embedder import WINDOW_TOKENS, Embedder, Start
from elmokit.embed.load import load
from elmokit.embed.mix import AnyMix, Mix, checked_mix, mix_layers, mixed_dim
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError, missing_extra
from elmokit.integrations.shared import shared_embedder
from elmokit.weights.native import write_native

try:
    import srsly
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span, Token
except ImportError:
    raise missing_extra("spaCy", "spacy", "the pipeline component 'elmokit'") from None

DEFAULTS: dict[str, Any] = {
    "model": "en-small",
    "mix": "average",
    "layers": False,
    "start": "fresh",
    "device": "cpu",
}
MixSetting = str | int | list[float]
"""A mix as a config file can hold it; a list gives the weights of all layers."""


@Language.factory("elmokit", assigns=["doc.tensor", "doc._.elmo"], default_config=DEFAULTS)
def make_component(
    nlp: Language,
    name: str,
    model: str,
    mix: MixSetting,
    layers: bool,
    start: str,
    device: str,
) -> "ElmoComponent":
    """The factory that ``nlp.add_pipe("elmokit", config={...})`` calls."""
    return ElmoComponent(name, model, mix=mix, layers=layers, start=start, device=device)


class ElmoComponent(Pipe):
    """The pipeline component ``"elmokit"``.

    Args:
        name: name of the component in its pipeline.
        model: name or path of a model, loaded when first needed.
        mix: ``"average"``, ``"sum"``, ``"top"``, ``"concat"``, the number of a layer, or the
            weights of all layers.
        layers: also keep all layers in ``doc._.elmo_layers``.
        start: the initial state of every sentence, ``"fresh"`` or ``"settled"``.
        device: where the model runs; vectors are NumPy arrays for any device.

    ``nlp.to_disk`` and ``nlp.to_bytes`` save the model's weights with the pipeline (without its
    softmax), so that components trained on its vectors are never used with others.
    """

    def __init__(
        self,
        name: str = "elmokit",
        model: str = "en-small",
        *,
        mix: MixSetting = "average",
        layers: bool = False,
        start: str = "fresh",
        device: str = "cpu",
    ) -> None:
        self.name = name
        self.model = model
        self.mix = as_mix(mix)
        self.layers = layers
        self.start: Any = start
        self.device = device
        self._own: Embedder | None = None  # weights that came with the pipeline

    @property
    def embedder(self) -> Embedder:
        """The model, loaded on first use."""
        return self._own or shared_embedder(self.model, self.device)

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one doc."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Annotate a stream of docs, at most ``batch_size`` docs at once and bounded in tokens."""
        handle_error = self.get_error_handler()
        for docs in windows_of(stream, WINDOW_TOKENS, batch_size):
            try:
                self._annotate(docs)
            except Exception as error:
                handle_error(self.name, self, docs, error)
            else:
                yield from docs

    def _annotate(self, docs: Sequence[Doc]) -> None:
        elmo = self.embedder
        if not self.layers:
            for doc, vectors in zip(
                docs, vectors_of(elmo, docs, self.mix, self.start), strict=True
            ):
                _keep(doc, vectors)
            return
        mix = checked_mix(self.mix, elmo.num_layers)
        for doc, layers in zip(docs, layers_of(elmo, docs, self.start), strict=True):
            doc._.elmo_layers = layers
            _keep(doc, mix_layers(torch.from_numpy(layers)[None], mix)[0].numpy())

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the model's weights to a folder that ``elmokit.load`` reads too."""
        write_native(replace(self.embedder.pretrained, output_words=None), Path(path))

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "ElmoComponent":
        """Load the weights that ``to_disk`` wrote."""
        self._own = load(Path(path), device=self.device)
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The files of ``to_disk`` as bytes."""
        with tempfile.TemporaryDirectory(prefix="elmokit-") as aside:
            folder = Path(aside) / "model"
            self.to_disk(folder)
            files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        packed: bytes = srsly.msgpack_dumps(files)
        return packed

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> "ElmoComponent":
        """Load the weights that ``to_bytes`` returned."""
        with tempfile.TemporaryDirectory(prefix="elmokit-") as aside:
            for name, content in srsly.msgpack_loads(data).items():
                (Path(aside) / Path(name).name).write_bytes(content)
            self.from_disk(aside)
        return self


def _keep(doc: Any, vectors: Vectors) -> None:
    doc._.elmo = doc.tensor = vectors


def as_mix(mix: MixSetting) -> AnyMix:
    """A mix from a config file."""
    return Mix(tuple(mix)) if isinstance(mix, list) else mix  # type: ignore[return-value]


def vectors_of(elmo: Embedder, docs: Sequence[Doc], mix: AnyMix, start: Start) -> list[Vectors]:
    """The vectors (T, D) of every doc."""
    dim = mixed_dim(mix, elmo.num_layers, elmo.dim)
    return _by_doc(docs, lambda sentences: elmo.embed(sentences, mix, start=start), (dim,))


def layers_of(elmo: Embedder, docs: Sequence[Doc], start: Start) -> list[Vectors]:
    """The layers (L + 1, T, D) of every doc."""

    def embed(sentences: list[list[str]]) -> list[Vectors]:
        return [layers.swapaxes(0, 1) for layers in elmo.layers(sentences, start=start)]

    by_token = _by_doc(docs, embed, (elmo.num_layers, elmo.dim))  # each (T, L + 1, D)
    return [np.ascontiguousarray(layers.swapaxes(0, 1)) for layers in by_token]


def _by_doc(
    docs: Sequence[Doc],
    embed: Callable[[list[list[str]]], list[Vectors]],
    shape: tuple[int, ...],
) -> list[Vectors]:
    """Embed the sentences of all docs together; return (T, *shape) for every doc."""
    results, places, sentences = [], [], []
    for doc in docs:
        vectors = np.zeros((len(doc), *shape), dtype=np.float32)
        results.append(vectors)
        for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
            tokens = [token for token in sentence if not token.is_space]
            places.append((vectors, [token.i for token in tokens]))
            sentences.append([token.text for token in tokens])
    for (vectors, rows), embedded in zip(places, embed(sentences), strict=True):
        vectors[rows] = embedded
    return results


def _of_doc(doc: Doc, name: str, axis: int) -> Vectors:
    """The vectors that the component stored in a doc, if they still fit its tokens."""
    vectors: Vectors | None = getattr(doc._, name)
    if vectors is None:
        needs = "" if name == "elmo" else " with layers=True"
        raise InputError(f"this Doc has no ._.{name}; run the component 'elmokit'{needs} on it")
    if vectors.shape[axis] != len(doc):
        raise InputError(
            f"the tokens of this Doc have changed since 'elmokit' ran (now {len(doc)}, then "
            f"{vectors.shape[axis]}); run the component on it again"
        )
    return vectors


def _register_attributes() -> None:
    for name, axis in (("elmo", 0), ("elmo_layers", 1)):

        def of_span(span: Span, name: str = name, axis: int = axis) -> Vectors:
            vectors = _of_doc(span.doc, name, axis)
            return vectors[(slice(None),) * axis + (slice(span.start, span.end),)]

        def of_token(token: Token, name: str = name, axis: int = axis) -> Vectors:
            vectors = _of_doc(token.doc, name, axis)
            return vectors[(slice(None),) * axis + (token.i,)]

        Doc.set_extension(name, default=None, force=True)
        Span.set_extension(name, getter=of_span, force=True)
        Token.set_extension(name, getter=of_token, force=True)


_register_attributes()
