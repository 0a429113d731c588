"""Vectors -> the bytes of a response, in the form that the client accepts.

Arrays are sent as they are in memory; orjson writes JSON directly from them.
"""

import base64
import importlib.util
import io
import json
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import orjson

from elmokit.embed.files.inputs import Item
from elmokit.embed.files.writers import arrow_columns
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError, missing_extra
from elmokit.pretrain.surprisal.measure import SentenceSurprisal, TokenPredictions
from elmokit.serve.gate import Refusal


class Form(Enum):
    """Kinds of answers, by their media types."""

    JSON = "application/json"
    BASE64 = "application/json; encoding=base64"
    NPY = "application/x-npy"
    NPZ = "application/x-npz"
    ARROW = "application/vnd.apache.arrow.stream"
    NDJSON = "application/x-ndjson"


_FORMS = {form.value.replace(" ", ""): form for form in Form}
_ANYTHING = {"*/*": Form.JSON, "application/*": Form.JSON}


class AnsweredText(NamedTuple):
    """One text: its tokens, their offsets, and its vectors (pooled, or of several layers)."""

    tokens: list[str]
    offsets: list[tuple[int, int]] | None
    sentences: list[tuple[int, int]]
    vectors: Vectors


class MeasuredText(NamedTuple):
    """One text: the offsets of its tokens, and the surprisal of each of its sentences."""

    offsets: list[tuple[int, int]] | None
    sentences: list[tuple[int, int]]
    surprisal: list[SentenceSurprisal]

    def plain(self) -> dict[str, Any]:
        """As JSON shows it: the sentences one after the other, as the vectors of ``/v1/embed``."""

        def joined(side: str) -> dict[str, Any]:
            parts: list[TokenPredictions] = [getattr(each, side) for each in self.surprisal]
            return {
                name: np.concatenate([np.zeros(0, dtype), *(getattr(p, name) for p in parts)])
                for name, dtype in (("bits", float), ("entropy", float), ("rank", np.int64))
            }

        unknown = [each.is_unknown for each in self.surprisal]
        return {
            "tokens": [token for each in self.surprisal for token in each.tokens],
            "offsets": self.offsets,
            "sentences": self.sentences,
            **{side: joined(side) for side in ("forward", "backward", "combined")},
            "is_unknown": np.concatenate([np.zeros(0, bool), *unknown]),
        }


def accepted_form(accept: str | None) -> Form:
    """The form that an Accept header asks for; JSON by default."""
    wanted: list[tuple[float, int, Form]] = []
    for place, part in enumerate((accept or "*/*").split(",")):
        fields = [field.strip().lower() for field in part.split(";")]
        weights = [field[2:] for field in fields if field.startswith("q=")]
        name = ";".join(field for field in fields if not field.startswith("q="))
        form = _FORMS.get(name) or _ANYTHING.get(name) or _without_charset(name)
        if form is not None and _weight(weights) > 0:
            wanted.append((-_weight(weights), place, form))
    if not wanted:
        raise Refusal(406, f"the answer can be one of: {', '.join(form.value for form in Form)}")
    return min(wanted, key=lambda found: found[:2])[2]


def _without_charset(name: str) -> Form | None:
    return Form.JSON if name.startswith("application/json;charset=") else None


def _weight(weights: list[str]) -> float:
    try:
        return float(weights[0]) if weights else 1.0
    except ValueError:
        return 1.0


def require_fitting(form: Form, num_texts: int, is_pooled: bool) -> None:
    """Reject, before any work, a form that cannot hold the result or cannot be written here."""
    if form is Form.NPY and (num_texts == 0 or (num_texts > 1 and not is_pooled)):
        raise InputError(
            f"{Form.NPY.value} holds one array, got {num_texts}: send one text, set "
            f"pooling, or accept {Form.NPZ.value}"
        )
    if form is Form.ARROW and importlib.util.find_spec("pyarrow") is None:
        error = missing_extra("pyarrow", "parquet", "an answer in Arrow's format")
        raise Refusal(406, str(error))


def write_answer(
    form: Form, model: str, texts: Sequence[AnsweredText], is_pooled: bool
) -> Iterator[bytes]:
    """The body, piece by piece, so that a large answer is not held twice."""
    if form is Form.NPY:
        yield _npy(texts, is_pooled)
    elif form is Form.NPZ:
        yield _npz(texts)
    elif form is Form.ARROW:
        yield _arrow(texts, is_pooled)
    elif form is Form.NDJSON:
        for number, text in enumerate(texts):
            yield ndjson_line(number, text)
    else:
        yield b'{"model":' + orjson.dumps(model) + b',"results":['
        for number, text in enumerate(texts):
            yield (b"," if number else b"") + to_json(_fields(text, form is Form.BASE64))
        num_tokens = sum(len(text.tokens) for text in texts)
        yield b'],"usage":{"tokens":%d}}' % num_tokens


def ndjson_line(number: int, text: AnsweredText) -> bytes:
    """One text of a streamed answer."""
    return to_json({"index": number, **_fields(text, is_base64=False)}) + b"\n"


def embedding_of(vector: Vectors, encoding: str) -> Any:
    """A vector as OpenAI's clients read it: base64 of float32, or numbers."""
    return _base64(vector) if encoding == "base64" else vector


def _fields(text: AnsweredText, is_base64: bool) -> dict[str, Any]:
    vectors = np.ascontiguousarray(text.vectors)
    return {
        "tokens": text.tokens,
        "offsets": text.offsets,
        "sentences": text.sentences,
        "vectors": _base64_array(vectors) if is_base64 else vectors,
    }


def _base64_array(vectors: Vectors) -> dict[str, Any]:
    return {
        "dtype": "float32",
        "shape": vectors.shape,
        "base64": _base64(vectors),
    }


def _base64(vectors: Vectors) -> str:
    return base64.b64encode(vectors.tobytes()).decode()


def to_json(value: Any) -> bytes:
    """JSON of plain values and arrays."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _npy(texts: Sequence[AnsweredText], is_pooled: bool) -> bytes:
    """One array: the vectors of one text, or one row per text where they are pooled."""
    array = np.stack([text.vectors for text in texts]) if is_pooled else texts[0].vectors
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(texts: Sequence[AnsweredText]) -> bytes:
    """As ``elmokit embed`` writes it: arrays 0, 1, 2, ..., and JSON from key to tokens."""
    arrays = {str(number): text.vectors for number, text in enumerate(texts)}
    tokens = {str(number): text.tokens for number, text in enumerate(texts)}
    offsets = {str(number): text.offsets for number, text in enumerate(texts)}
    buffer = io.BytesIO()
    np.savez(
        buffer,
        tokens=np.array([json.dumps(tokens)]),
        offsets=np.array([json.dumps(offsets)]),
        **arrays,  # type: ignore[arg-type]
    )
    return buffer.getvalue()


def _arrow(texts: Sequence[AnsweredText], is_pooled: bool) -> bytes:
    """The columns of ``elmokit embed``'s Parquet files, with start and end of each token."""
    import pyarrow

    group = [
        (Item(str(number), " ".join(text.tokens), text.tokens), text.vectors)
        for number, text in enumerate(texts)
    ]
    if is_pooled:
        group = [(item, vectors[..., None, :]) for item, vectors in group]
    columns = arrow_columns(group, is_pooled)
    if not is_pooled:
        for column, side in (("start", 0), ("end", 1)):
            places = [
                None if text.offsets is None else text.offsets[number][side]
                for text in texts
                for number in range(len(text.tokens))
            ]
            columns[column] = pyarrow.array(places, pyarrow.int32())
    table = pyarrow.table(columns)
    buffer = io.BytesIO()
    with pyarrow.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return buffer.getvalue()
