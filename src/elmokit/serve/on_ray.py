"""The same application as a Ray Serve deployment: replicas on any number of machines.

A file of three lines is what ``serve run FILE:app`` needs:

    from elmokit.serve.on_ray import ray_application

    app = ray_application(["en-small"], num_replicas=8)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import InputError, missing_extra
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.serve.app import create_app
from elmokit.serve.limits import Limits
from elmokit.serve.models import open_models

try:
    from ray import serve
except ImportError:
    raise missing_extra("Ray Serve", "ray", "replicas on a Ray cluster") from None

REQUESTS_AT_ONCE = 512
"""Requests sent to a replica at once, enough to fill its batches; its own queue limits tokens."""
DRAIN_SECONDS = 30.0
"""How long a replica that is removed may finish its requests."""


def ray_application(
    models: Sequence[str] = (),
    index: Path | None = None,
    *,
    num_replicas: int = 2,
    num_cpus: int = 1,
    limits: Limits = Limits(),  # noqa: B008  frozen
    api_key: str | None = None,
    cors_origins: Sequence[str] = (),
    need_softmax: bool = True,
    device: str = "cpu",
    precision: PrecisionName = "float32",
) -> Any:
    """The application for ``ray.serve.run`` and ``serve run``.

    Args:
        models, index, need_softmax, device, precision: see ``open_models``; paths must exist on
            every machine.
        num_replicas: processes with a model each. Ray spreads requests over them and starts another
            where one is lost.
        num_cpus: cores, and threads, of each replica.
        limits: bounds of requests, queue and batches, of each replica.
        api_key, cors_origins: see ``create_app``.
    """
    for name, number in (("num_replicas", num_replicas), ("num_cpus", num_cpus)):
        if number < 1:
            raise InputError(f"{name} must be at least 1, got {number}")

    def build() -> Any:  # in each replica
        torch.set_num_threads(num_cpus)
        served = open_models(models, index, device, need_softmax, precision)
        return create_app(served, limits, api_key=api_key, cors_origins=cors_origins)

    class Replica:
        pass

    deployment: Any = serve.deployment(
        serve.ingress(build)(Replica),
        name="elmokit",
        num_replicas=num_replicas,
        ray_actor_options={"num_cpus": num_cpus},
        max_ongoing_requests=REQUESTS_AT_ONCE,
        graceful_shutdown_timeout_s=DRAIN_SECONDS,
    )
    return deployment.bind()
