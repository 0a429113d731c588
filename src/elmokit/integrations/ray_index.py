"""``elmokit index --ray``: the vectors of an index, computed by the workers of a Ray cluster.

The index itself is written by one process, in the order of the text. Up to the rounding of float16,
it is the index that ``elmokit index`` would write.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from elmokit.analysis.encoders.encoder import Floats, Sentences
from elmokit.analysis.encoders.opening import open_encoder
from elmokit.analysis.words.build_index import EncodeChunks
from elmokit.errors import missing_extra

try:
    import ray

    from elmokit.integrations.ray import join_cluster
except ImportError:
    raise missing_extra("Ray", "ray", "indexing on a Ray cluster") from None

CHUNKS_PER_WORKER = 2
"""One that is being computed, and one that is waiting."""


class LayersWorker:
    """An encoder on one core of a machine."""

    def __init__(self, model: str, device: str, precision: str) -> None:
        torch.set_num_threads(1)
        self.encoder = open_encoder(model, device, precision)

    def layers(self, sentences: Sentences) -> list[Floats]:
        """The layers of one chunk."""
        return self.encoder.layers(sentences)


def encode_on_ray(
    model: str, device: str = "cpu", precision: str = "float32", max_workers: int | None = None
) -> EncodeChunks:
    """The ``encode_chunks`` argument of ``build_index`` for computing on a cluster.

    Args:
        model, device, precision: see ``open_encoder``; a path must exist on every machine.
        max_workers: the maximum number of workers; default: one per CPU of the cluster.
    """
    num_workers = join_cluster(max_workers)
    # A lost worker is restarted and repeats its tasks.
    remote: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(LayersWorker)

    def encode(chunks: Iterable[Sentences]) -> Iterator[tuple[Sentences, list[Floats]]]:
        workers = [remote.remote(model, device, precision) for _ in range(num_workers)]
        waiting: deque[tuple[Sentences, Any]] = deque()
        try:
            for number, chunk in enumerate(chunks):
                waiting.append((chunk, workers[number % num_workers].layers.remote(chunk)))
                if len(waiting) == CHUNKS_PER_WORKER * num_workers:
                    done, layers = waiting.popleft()
                    yield done, ray.get(layers)
            for done, layers in waiting:
                yield done, ray.get(layers)
        finally:
            for worker in workers:
                ray.kill(worker)

    return encode
