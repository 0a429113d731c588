"""What requests and responses look like, for FastAPI's checks and for ``/docs``.

Fields that the library checks itself are taken as they come, so that a client is told the same
sentence as a user of the library.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": {"type": "string"}}
_VECTORS = {
    "description": "Nested lists of numbers; with `Accept: application/json; encoding=base64` an "
    "object of dtype (float32), shape and base64 (little-endian, row by row).",
    "anyOf": [
        {"type": "array", "items": {}},
        {
            "type": "object",
            "properties": {
                "dtype": {"const": "float32"},
                "shape": {"type": "array", "items": {"type": "integer"}},
                "base64": {"type": "string"},
            },
        },
    ],
}

ModelField = Annotated[
    str | None, Field(description="A name from /v1/models. Default: the first of them.")
]
InputField = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "A text, or a list of texts; a text is a string, tokenised by elmokit, "
            "or a list of tokens, taken as they are.",
            "anyOf": [_TEXT, {"type": "array", "items": {"anyOf": [_TEXT, _TOKENS]}}],
            "examples": ["I like apples.", ["I like apples.", ["So", "do", "I", "."]]],
        }
    ),
]
MixField = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "One vector of all layers: a name, a layer's number (-1 is the last), "
            "or weights and gamma.",
            "anyOf": [
                {"enum": ["average", "sum", "top", "concat"]},
                {"type": "integer"},
                {
                    "type": "object",
                    "properties": {
                        "weights": {"type": "array", "items": {"type": "number"}},
                        "gamma": {"type": "number"},
                    },
                    "required": ["weights"],
                },
                {"type": "null"},
            ],
            "default": "average",
        }
    ),
]
LayersField = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": 'These layers side by side instead of a mix: "all", or their numbers.',
            "anyOf": [
                {"const": "all"},
                {"type": "array", "items": {"type": "integer"}},
                {"type": "null"},
            ],
        }
    ),
]
PoolingField = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "One vector per text instead of one per token.",
            "anyOf": [{"enum": ["mean", "max", "ends"]}, {"type": "null"}],
        }
    ),
]
StartField = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "What every sentence starts from.",
            "enum": ["fresh", "settled"],
            "default": "fresh",
        }
    ),
]


class Strict(BaseModel):
    """A misspelt field is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmbedRequest(Strict):
    """Token vectors (or one vector per text) of some texts."""

    input: InputField
    model: ModelField = None
    mix: MixField = None
    layers: LayersField = None
    pooling: PoolingField = None
    split_sentences: Annotated[
        bool, Field(description="Read each sentence of a text on its own.")
    ] = False
    start: StartField = "fresh"


class EmbeddedTextResponse(BaseModel):
    """One text."""

    tokens: list[str]
    offsets: Annotated[
        list[tuple[int, int]] | None,
        Field(description="Start and end of each token in the text; null where tokens were given."),
    ]
    sentences: Annotated[
        list[tuple[int, int]],
        Field(description="First and last + 1 token of each sentence that was read on its own."),
    ]
    vectors: Annotated[Any, WithJsonSchema(_VECTORS)]


class Usage(BaseModel):
    """What it cost."""

    tokens: int


class EmbedResponse(BaseModel):
    """The texts in the order in which they were sent."""

    model: str
    results: list[EmbeddedTextResponse]
    usage: Usage


class EmbeddingsRequest(BaseModel):
    """What OpenAI's clients send; fields that mean nothing here are ignored."""

    input: InputField
    model: ModelField = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[
        int | None, Field(description="Only the model's own number of dimensions.")
    ] = None


class Embedding(BaseModel):
    """One text: the mean over its tokens of the average of all layers."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class OpenAiUsage(BaseModel):
    """What it cost."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsResponse(BaseModel):
    """As OpenAI's clients expect it."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: OpenAiUsage


class PredictRequest(Strict):
    """A sentence with a blank."""

    text: Annotated[
        Any,
        WithJsonSchema(
            {
                "description": "A sentence, or its tokens; ___ stands in the place of the word.",
                "anyOf": [_TEXT, _TOKENS],
                "examples": ["I ate an ___ ."],
            }
        ),
    ]
    model: ModelField = None
    top: Annotated[int, Field(ge=1, le=1000, description="How many words.")] = 10


class GuessResponse(BaseModel):
    """A word and the natural logarithm of its probability."""

    word: str
    log_probability: float


class PredictResponse(BaseModel):
    """The likeliest words by what stands before the blank, after it, and both."""

    model: str
    left: list[str]
    right: list[str]
    forward: list[GuessResponse]
    backward: list[GuessResponse]
    combined: list[GuessResponse]


class SurprisalRequest(Strict):
    """Texts whose tokens are to be measured."""

    input: InputField
    model: ModelField = None
    split_sentences: Annotated[
        bool, Field(description="Read each sentence of a text on its own.")
    ] = False


class PredictionsResponse(BaseModel):
    """One number per token; null for words outside the vocabulary, whose rank is 0."""

    bits: list[float | None]
    entropy: list[float]
    rank: list[int]


class MeasuredTextResponse(BaseModel):
    """One text."""

    tokens: list[str]
    offsets: list[tuple[int, int]] | None
    sentences: list[tuple[int, int]]
    forward: PredictionsResponse
    backward: PredictionsResponse
    combined: PredictionsResponse
    is_unknown: list[bool]


class SurprisalResponse(BaseModel):
    """Surprisal, entropy and rank by what stands before a token, after it, and both."""

    model: str
    results: list[MeasuredTextResponse]


class NeighboursRequest(Strict):
    """A word in its sentence."""

    sentence: Annotated[
        str,
        Field(
            description="One word is marked with asterisks.", examples=["a spectacular *play* ."]
        ),
    ]
    layer: Annotated[int | None, Field(description="Default: the top layer.")] = None
    top: Annotated[int, Field(ge=1, le=1000, description="How many neighbours.")] = 5


class NeighbourResponse(BaseModel):
    """An occurrence in the indexed text."""

    similarity: float
    tokens: list[str]
    place: int


class StaticNeighbourResponse(BaseModel):
    """A word, by the layer that sees no context."""

    similarity: float
    word: str


class NeighboursResponse(BaseModel):
    """The nearest occurrences in context, beside the static neighbours."""

    model: str
    layer: str
    tokens: list[str]
    place: int
    neighbours: list[NeighbourResponse]
    static: list[StaticNeighbourResponse] | None


class ExploredToken(Strict):
    """A token in its sentence."""

    tokens: Annotated[list[str], Field(max_length=400)]
    place: int


class ExploreRequest(Strict):
    """What the explorer's page wants to show; nothing: what it opens on."""

    words: Annotated[
        list[str], Field(max_length=4, description="Words whose uses in the corpus are wanted.")
    ] = []
    sentences: Annotated[
        list[str],
        Field(max_length=4, description="Sentences whose expected words and similarities are."),
    ] = []
    near: Annotated[
        list[ExploredToken], Field(max_length=4, description="Tokens whose neighbours are.")
    ] = []
    both_sides: Annotated[bool, Field(description="The words under the second model, too.")] = False


class ModelResponse(BaseModel):
    """A served model, with the fields that OpenAI's clients expect."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    num_layers: int
    dim: int
    fingerprint: str
    can_predict: bool
    has_index: bool


class ModelsResponse(BaseModel):
    """All of them, the default one first."""

    object: Literal["list"]
    data: list[ModelResponse]


class ErrorDetail(BaseModel):
    """What went wrong, in one sentence."""

    message: str
    type: str
    code: int


class ErrorResponse(BaseModel):
    """Every answer other than 200."""

    error: ErrorDetail
