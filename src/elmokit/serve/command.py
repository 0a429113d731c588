"""``elmokit serve``: the application behind uvicorn, from start to a graceful end."""

import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from elmokit.analysis.explore.corpus import ExploredCorpus
from elmokit.errors import InputError
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.serve.app import create_app
from elmokit.serve.gate import Readiness
from elmokit.serve.limits import Limits
from elmokit.serve.models import open_models

KEY_VARIABLE = "ELMOKIT_API_KEY"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_FILES = 65_536
"""Connections and files that may be open at once, where the system allows so many."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the 60 seconds of load balancers, so that they close connections first."""
SWITCH_SECONDS = 0.0005
"""How long the event loop may hold Python's lock while the model thread waits."""


def run_server(
    models: Sequence[str] = (),
    index: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits = Limits(),  # noqa: B008  frozen
    api_key_file: Path | None = None,
    cors_origins: Sequence[str] = (),
    drain_seconds: float = 2.0,
    stop_seconds: float = 30.0,
    need_softmax: bool = True,
    device: str = "cpu",
    precision: PrecisionName = "float32",
    access_log: bool = False,
    corpus: ExploredCorpus | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        models, index, device, need_softmax, precision: see ``open_models``.
        host, port: where to listen; port 0 takes a free one.
        limits: bounds of requests, queue and batches.
        api_key_file: holds the key; else the environment variable ELMOKIT_API_KEY, if it is set.
        cors_origins: pages of these origins may call the server from a browser.
        drain_seconds: how long ``/ready`` fails after SIGTERM before connections are refused.
        stop_seconds: how long to wait after that for unfinished requests.
        access_log: one line per request.
        corpus: what the explorer shows; see ``create_app``.
    """
    key = _read_key(api_key_file)
    listening = _listen(host, port)
    served = open_models(models, index, device, need_softmax, precision)
    app = create_app(served, limits, api_key=key, cors_origins=cors_origins, corpus=corpus)
    _allow_many_files()
    sys.setswitchinterval(SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        log_level="info" if access_log else "warning",
        access_log=access_log,
        timeout_graceful_shutdown=max(int(stop_seconds), 1),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        server_header=False,
        proxy_headers=False,
    )
    address = f"http://{host if ':' not in host else f'[{host}]'}:{listening.getsockname()[1]}"
    print(f"Serving {', '.join(served.names)} at {address} (documentation: {address}/docs)")
    print(f"Look at words in a browser: {address}/")
    if key is None and host not in LOOPBACK:
        print(f"Anyone who can reach {host} can use it: set {KEY_VARIABLE} to ask for a key.")
    sys.stdout.flush()
    _Server(config, app.state.service.readiness, drain_seconds).run([listening])


class _Server(uvicorn.Server):
    """On SIGTERM, readiness fails first, so that load balancers stop sending; then it closes."""

    def __init__(self, config: uvicorn.Config, readiness: Readiness, drain_seconds: float) -> None:
        super().__init__(config)
        self._readiness = readiness
        self._drain_seconds = drain_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Objects of PyTorch and the models live forever; scanning them for garbage took a third of
        # the event loop's time.
        gc.collect()
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._readiness.is_draining:  # asked twice: do not wait any longer
            self.force_exit = self.should_exit
            self.should_exit = True
            return
        self._readiness.is_draining = True
        if sig == signal.SIGINT:  # somebody at a keyboard, not a load balancer
            self.should_exit = True
            return
        timer = threading.Timer(self._drain_seconds, self._close_door)
        timer.daemon = True
        timer.start()

    def _close_door(self) -> None:
        self.should_exit = True


def _read_key(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(KEY_VARIABLE) or None
    key = file.read_text(encoding="utf-8").strip()
    if not key:
        raise InputError(f"{file}: is empty; write the key into it")
    return key


def _listen(host: str, port: int) -> socket.socket:
    """Bind the port before loading the models, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        raise InputError(f"{host}:{port}: {reason}; choose another --host or --port") from None
    return listening


def _allow_many_files() -> None:
    """Many systems allow 1,024 open files, which is fewer than 1,024 connections."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
