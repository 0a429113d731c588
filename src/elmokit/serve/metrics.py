"""What ``/metrics`` tells Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TOKENS = (16, 64, 256, 1024, 2048, 4096, 8192, 16384)


class Metrics:
    """The counters of one server; a registry of its own, so that two can live in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"elmokit_{name}", text, labels, registry=self._registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(
                f"elmokit_{name}", text, labels, registry=self._registry, buckets=buckets
            )

        self._requests = counter("requests", "Answered requests", "route", "status")
        self._latency = histogram("request_seconds", "Time to answer", SECONDS, "route")
        self._waited = histogram("queue_seconds", "Time in the queue", SECONDS)
        self._inference = histogram("batch_seconds", "Time of the model for a batch", SECONDS)
        self._batch = histogram("batch_tokens", "Tokens of a batch", TOKENS)
        self._sentences = counter("sentences", "Sentences computed")
        self._tokens = counter("tokens", "Tokens computed")
        self._dropped = counter("dropped", "Requests that the model never saw", "reason")
        self._queued = Gauge("elmokit_queued_tokens", "Tokens waiting", registry=self._registry)

    def watch_queue(self, queued_tokens: Callable[[], float]) -> None:
        """Where to read the length of the queue."""
        self._queued.set_function(queued_tokens)

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """A response has been sent."""
        self._requests.labels(route, str(status)).inc()
        self._latency.labels(route).observe(seconds)

    def batch_done(self, num_sentences: int, num_tokens: int, seconds: float) -> None:
        """A batch has run."""
        self._sentences.inc(num_sentences)
        self._tokens.inc(num_tokens)
        self._batch.observe(num_tokens)
        self._inference.observe(seconds)

    def job_taken(self, waited_seconds: float) -> None:
        """A request has left the queue."""
        self._waited.observe(waited_seconds)

    def job_dropped(self, reason: str) -> None:
        """A request was refused, became stale or was abandoned."""
        self._dropped.labels(reason).inc()

    def text(self) -> bytes:
        """In Prometheus' format."""
        return generate_latest(self._registry)
