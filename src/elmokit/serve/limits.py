"""The limits of a server, in one place, checked when it starts."""

from dataclasses import dataclass, fields

from elmokit.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Bounds of a request, of the queue and of a batch."""

    body_bytes: int = 4 * 2**20
    """A larger body is refused (413) before it is read."""
    request_tokens: int = 16_384
    """A request with more tokens is refused (413); a streamed answer has no such bound."""
    text_tokens: int = 2_048
    """The maximum length of a sentence, whose tokens run sequentially and delay other requests."""
    queue_tokens: int = 32_768
    """The maximum number of waiting tokens; beyond it, requests are rejected (429)."""
    batch_tokens: int = 8_192
    """Tokens per batch; a large request is spread over several batches."""
    wait_ms: float = 2.0
    """How long an idle model waits for more requests before it starts."""
    queue_seconds: float = 10.0
    """A request that has waited longer is dropped before the model sees it (429)."""
    body_seconds: float = 30.0
    """A request that takes longer to arrive is rejected (408)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < (0 if field.name == "wait_ms" else 1):
                raise InputError(f"{field.name} must be positive, got {value}")
        if self.request_tokens > self.queue_tokens:
            raise InputError(
                f"a request of {self.request_tokens} tokens would never fit into a queue of "
                f"{self.queue_tokens}: raise --queue-tokens or lower --request-tokens"
            )
