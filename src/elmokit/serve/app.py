"""The application: endpoints and error handlers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from fastapi_offline import FastAPIOffline
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

import elmokit
from elmokit.analysis.explore.corpus import ExploredCorpus
from elmokit.errors import InputError
from elmokit.pretrain.predict import Guess
from elmokit.serve.answers import (
    AnsweredText,
    Form,
    accepted_form,
    embedding_of,
    ndjson_line,
    require_fitting,
    to_json,
    write_answer,
)
from elmokit.serve.batcher import OverloadedError
from elmokit.serve.gate import Gate, Refusal, error_body
from elmokit.serve.limits import Limits
from elmokit.serve.live_explorer import LiveExplorer
from elmokit.serve.models import ServedModel, ServedModels
from elmokit.serve.schemas import (
    EmbeddingsRequest,
    EmbeddingsResponse,
    EmbedRequest,
    EmbedResponse,
    ErrorResponse,
    ExploreRequest,
    ModelResponse,
    ModelsResponse,
    NeighboursRequest,
    NeighboursResponse,
    PredictRequest,
    PredictResponse,
    SurprisalRequest,
    SurprisalResponse,
)
from elmokit.serve.service import Service
from elmokit.serve.texts import read_input, read_query

Result = TypeVar("Result")

STREAMED_BYTES = 1 << 20
"""Larger answers are sent in pieces."""
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": text}
    for status, text in {
        401: "The key is missing or wrong.",
        404: "There is no such model, or no index.",
        413: "The request is too large.",
        422: "The request cannot be answered; the message says why.",
        429: "The server is overloaded; Retry-After says when to come back.",
    }.items()
}


def create_app(
    models: ServedModels,
    limits: Limits = Limits(),  # noqa: B008  frozen
    *,
    api_key: str | None = None,
    cors_origins: Sequence[str] = (),
    corpus: ExploredCorpus | None = None,
) -> FastAPI:
    """The server as an ASGI application, for any ASGI server.

    Args:
        models: what ``open_models`` returns.
        limits: bounds of requests, queue and batches.
        api_key: what clients must send as ``Authorization: Bearer KEY``.
        cors_origins: pages of these origins may call it from a browser.
        corpus: what the explorer at ``/`` shows; default: the index, or built-in sentences.
    """
    service = Service(models, limits)
    explorer = LiveExplorer(service, corpus)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        explorer.stop()
        await service.stop()

    app = FastAPIOffline(  # its /docs needs no CDN
        title="elmokit",
        version=elmokit.__version__,
        description="Deep contextualized word representations (ELMo).",
        lifespan=lifespan,
    )
    app.state.service = service
    _add_errors(app)
    _add_embedding(app, service)
    _add_words(app, service)
    _add_operations(app, service)
    _add_explorer(app, explorer)
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    app.add_middleware(
        Gate,  # the outermost
        limits=limits,
        metrics=service.metrics,
        readiness=service.readiness,
        api_key=api_key,
    )
    return app


def _add_errors(app: FastAPI) -> None:
    def refuse(status: int, message: str, headers: Any = None) -> Response:
        return Response(error_body(status, message), status, headers, "application/json")

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        return refuse(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        return refuse(422, f"{place}: {first['msg']}" if place else str(first["msg"]))

    @app.exception_handler(InputError)
    async def bad_input(request: Request, error: InputError) -> Response:
        return refuse(422, str(error))

    @app.exception_handler(OverloadedError)
    async def overloaded(request: Request, error: OverloadedError) -> Response:
        return refuse(429, str(error), {"retry-after": str(error.retry_seconds)})

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        return refuse(500, "something went wrong in the server; its log says what")


def _add_embedding(app: FastAPI, service: Service) -> None:
    kinds: dict[str, Any] = {
        form.value: {} for form in Form if form not in (Form.JSON, Form.BASE64)
    }

    @app.post(
        "/v1/embed",
        response_model=EmbedResponse,
        responses={200: {"content": kinds}, **ERRORS},
        tags=["vectors"],
    )
    async def embed(request: Request, body: EmbedRequest) -> Response:
        """Tokens, character offsets and vectors; `Accept` chooses the form of the answer."""
        form = accepted_form(request.headers.get("accept"))
        query = read_query(
            service.model(body.model), body.mix, body.layers, body.pooling, body.start
        )
        texts = read_input(body.input)
        require_fitting(form, len(texts), query.pooling is not None)
        if form is Form.NDJSON:
            lines = service.stream(query, texts, body.split_sentences)
            return StreamingResponse(await _started(lines), media_type=form.value)
        found = await _unless_abandoned(request, service.embed(query, texts, body.split_sentences))
        pieces = write_answer(form, query.model.name, found, query.pooling is not None)
        media_type = Form.JSON.value if form is Form.BASE64 else form.value
        if sum(text.vectors.nbytes for text in found) > STREAMED_BYTES:
            return StreamingResponse(_breathing(pieces), media_type=media_type)
        return Response(b"".join(pieces), media_type=media_type)

    @app.post(
        "/v1/embeddings", response_model=EmbeddingsResponse, responses=ERRORS, tags=["vectors"]
    )
    async def embeddings(request: Request, body: EmbeddingsRequest) -> Response:
        """The endpoint for OpenAI's clients: one mean-pooled vector per text."""
        model = service.model(body.model)
        if body.dimensions not in (None, model.embedder.dim):
            raise InputError(
                f"{model.name} has vectors of {model.embedder.dim} dimensions, not "
                f"{body.dimensions}"
            )
        query = read_query(model, pooling="mean")
        found = await _unless_abandoned(request, service.embed(query, read_input(body.input)))
        num_tokens = sum(len(text.tokens) for text in found)
        answer = {
            "object": "list",
            "model": model.name,
            "data": [
                {
                    "object": "embedding",
                    "index": number,
                    "embedding": embedding_of(text.vectors, body.encoding_format),
                }
                for number, text in enumerate(found)
            ],
            "usage": {"prompt_tokens": num_tokens, "total_tokens": num_tokens},
        }
        return _json_response(answer)


def _add_words(app: FastAPI, service: Service) -> None:
    @app.post("/v1/predict", response_model=PredictResponse, responses=ERRORS, tags=["words"])
    async def predict(request: Request, body: PredictRequest) -> Response:
        """The most likely words for a blank `___`."""
        model = service.model(body.model)
        found = await _unless_abandoned(request, service.predict(model, body.text, body.top))

        def plain(guesses: list[Guess]) -> list[dict[str, Any]]:
            return [guess._asdict() for guess in guesses]

        return _json_response(
            {
                "model": model.name,
                "left": found.left,
                "right": found.right,
                "forward": plain(found.forward),
                "backward": plain(found.backward),
                "combined": plain(found.combined),
            }
        )

    @app.post("/v1/surprisal", response_model=SurprisalResponse, responses=ERRORS, tags=["words"])
    async def surprisal(request: Request, body: SurprisalRequest) -> Response:
        """The surprisal of each token, in bits, by the full softmax."""
        model, texts = service.model(body.model), read_input(body.input)
        found = await _unless_abandoned(
            request, service.surprisal(model, texts, body.split_sentences)
        )
        return _json_response({"model": model.name, "results": [text.plain() for text in found]})

    @app.post("/v1/neighbours", response_model=NeighboursResponse, responses=ERRORS, tags=["words"])
    async def neighbours(request: Request, body: NeighboursRequest) -> Response:
        """The occurrences nearest to a word in its context, in the index of the server."""
        found = await _unless_abandoned(
            request, service.neighbours(body.sentence, body.layer, body.top)
        )
        assert service.models.index is not None
        return _json_response(
            {
                "model": service.models.index.model.name,
                "layer": found.layer,
                "tokens": found.occurrence.tokens,
                "place": found.occurrence.place,
                "neighbours": [
                    {"similarity": near.similarity, **near.occurrence._asdict()}
                    for near in found.neighbours
                ],
                "static": None
                if found.static is None
                else [word._asdict() for word in found.static],
            }
        )


def _add_operations(app: FastAPI, service: Service) -> None:
    def described(model: ServedModel) -> dict[str, Any]:
        elmo, index = model.embedder, service.models.index
        return {
            "id": model.name,
            "object": "model",
            "created": 0,
            "owned_by": "elmokit",
            "num_layers": elmo.num_layers,
            "dim": elmo.dim,
            "fingerprint": elmo.fingerprint,
            "can_predict": model.can_predict,
            "has_index": index is not None and index.model is model,
        }

    @app.get("/v1/models", response_model=ModelsResponse, responses=ERRORS, tags=["models"])
    def models() -> Response:
        """The available models."""
        data = [described(model) for model in service.models]
        return _json_response({"object": "list", "data": data})

    @app.get("/v1/models/{name}", response_model=ModelResponse, responses=ERRORS, tags=["models"])
    def model(name: str) -> Response:
        """One model."""
        return _json_response(described(service.model(name)))

    @app.get("/live", tags=["operations"])
    async def live() -> dict[str, str]:
        """The process is alive."""
        return {"status": "live"}

    @app.get("/ready", responses={503: {"model": ErrorResponse}}, tags=["operations"])
    async def ready() -> dict[str, str]:
        """The server accepts requests: the models are warm, and it is not shutting down."""
        if not service.readiness.is_ready:
            raise Refusal(503, "not ready")
        return {"status": "ready"}

    @app.get("/metrics", tags=["operations"])
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _add_explorer(app: FastAPI, explorer: LiveExplorer) -> None:
    @app.post("/v1/explore", responses=ERRORS, tags=["words"])
    async def explore(request: Request, body: ExploreRequest) -> Response:
        """What the page at `/` shows: uses, expected words, similarities, neighbours."""
        found = await _unless_abandoned(request, explorer.explore(body))
        return Response(found, media_type=Form.JSON.value)

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(explorer.page)


def _json_response(value: Any) -> Response:
    return Response(to_json(value), media_type=Form.JSON.value)


async def _unless_abandoned(request: Request, work: Awaitable[Result]) -> Result:
    """Await the result; cancel the work if the client disconnects."""
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Refusal(499, "the client has gone")
        return working.result()
    finally:
        working.cancel()
        watching.cancel()


async def _hung_up(request: Request) -> None:
    """Return when the client has disconnected; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _started(lines: AsyncIterator[AnsweredText]) -> AsyncIterator[bytes]:
    """Lines of a stream, after computing the first, so that errors can still set the status."""
    first = await anext(lines, None)

    async def encode() -> AsyncIterator[bytes]:
        number = 0
        if first is None:
            return
        yield ndjson_line(number, first)
        try:
            async for text in lines:
                number += 1
                yield ndjson_line(number, text)
        except (InputError, Refusal, OverloadedError) as error:
            status = error.status_code if isinstance(error, Refusal) else 422
            message = error.detail if isinstance(error, Refusal) else str(error)
            yield error_body(status, message) + b"\n"

    return encode()


async def _breathing(pieces: Any) -> AsyncIterator[bytes]:
    """Yield to the event loop between pieces, so that other requests are answered."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)
