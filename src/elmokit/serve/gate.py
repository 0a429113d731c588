"""Checks that every request passes before any work: its key, size and time limit.

Plain ASGI: nothing is buffered, and a refusal costs no more than reading the headers.
"""

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.exceptions import HTTPException

from elmokit.serve.limits import Limits
from elmokit.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

PROTECTED = "/v1/"
"""Paths that need a key; health, metrics and documentation do not."""
ERROR_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "overloaded_error"}
"""Error types for OpenAI's clients; all others below 500 are invalid_request_error."""


class Refusal(HTTPException):
    """An answer other than 200, with one sentence for whoever sent the request."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


def error_body(status: int, message: str) -> bytes:
    """The JSON of an error, in the form that OpenAI's clients read."""
    kind = ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return orjson.dumps({"error": {"message": message, "type": kind, "code": status}})


@dataclass
class Readiness:
    """The state of ``/ready``: not before the models are warm, not after SIGTERM."""

    is_warm: bool = False
    is_draining: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether a load balancer should send requests here."""
        return self.is_warm and not self.is_draining


class Gate:
    """The application behind its checks."""

    def __init__(
        self, app: App, limits: Limits, metrics: Metrics, readiness: Readiness, api_key: str | None
    ) -> None:
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._readiness = readiness
        self._key = None if api_key is None else f"Bearer {api_key}".encode()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 499  # what nginx logs when a client has gone before its answer

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._readiness.is_draining:  # the client's next request goes elsewhere
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        try:
            refusal = self._check(scope)
            if refusal is None:
                body = _BoundedBody(receive, self._limits)
                await self._app(scope, body.receive, watched_send)
            else:
                await _send_refusal(refusal, watched_send)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request_done(route, status, time.perf_counter() - started)

    def _check(self, scope: MutableMapping[str, Any]) -> Refusal | None:
        headers = dict(scope["headers"])
        is_protected = scope["path"].startswith(PROTECTED) and scope["method"] != "OPTIONS"
        if self._key is not None and is_protected:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._key):
                message = "the key is missing or wrong: send  Authorization: Bearer KEY"
                return Refusal(401, message, {"www-authenticate": "Bearer"})
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._limits.body_bytes:
            return too_large(self._limits)
        return None


def too_large(limits: Limits) -> Refusal:
    """The body has too many bytes."""
    return Refusal(
        413,
        f"the body may have at most {limits.body_bytes:,} bytes: send less text at a time",
        {"connection": "close"},  # the rest of the body is not read
    )


class _BoundedBody:
    """Counts the bytes of a body as they arrive, and rejects slow clients."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._num_bytes = 0
        self._is_complete = False
        self._deadline = time.monotonic() + limits.body_seconds

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()  # waits until the client has gone
        try:
            seconds = max(self._deadline - time.monotonic(), 0)
            message = await asyncio.wait_for(self._receive(), seconds)
        except TimeoutError:
            text = f"the request took more than {self._limits.body_seconds:g} seconds to arrive"
            raise Refusal(408, text, {"connection": "close"}) from None
        self._num_bytes += len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        if self._num_bytes > self._limits.body_bytes:
            raise too_large(self._limits)
        return message


async def _send_refusal(refusal: Refusal, send: Send) -> None:
    body = error_body(refusal.status_code, refusal.detail)
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **(refusal.headers or {}),
    }
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
