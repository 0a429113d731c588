"""The command that starts the HTTP server: serve."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from elmokit.cli import EMBED, app
from elmokit.cli.options import Device, PrecisionOption
from elmokit.errors import missing_extra

if TYPE_CHECKING:
    from elmokit.model.kernels.lstm_inference import PrecisionName


@app.command(rich_help_panel=EMBED)
def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Names or paths of models, or NAME=PATH; the first is the default. "
            "Default: en-small.",
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(help="Folder written by `elmokit index`, for /v1/neighbours."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the key that clients must send. Default: $ELMOKIT_API_KEY, if set."
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Allow web pages of this origin to call the server; may be repeated.",
        ),
    ] = None,
    body_mb: Annotated[int, typer.Option(min=1, help="Largest request, in MB.")] = 4,
    request_tokens: Annotated[
        int, typer.Option(min=1, help="Maximum tokens per request, unless streamed.")
    ] = 16_384,
    text_tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens per sentence.")] = 2_048,
    queue_tokens: Annotated[
        int,
        typer.Option(min=1, help="Maximum tokens in the queue; beyond it, clients get status 429."),
    ] = 32_768,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Tokens computed at once.")] = 8_192,
    wait_ms: Annotated[
        float, typer.Option(min=0, help="How long an idle model waits for more requests.")
    ] = 2.0,
    queue_seconds: Annotated[
        float, typer.Option(min=1, help="A request that has waited longer gets status 429.")
    ] = 10.0,
    drain_seconds: Annotated[
        float,
        typer.Option(min=0, help="After SIGTERM, fail /ready for this long before closing."),
    ] = 2.0,
    softmax: Annotated[
        bool, typer.Option(help="Load what /v1/predict needs; it can be large.")
    ] = True,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Print a line per request.")
    ] = False,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
) -> None:
    """Serve vectors, predictions and neighbours over HTTP, also for OpenAI's clients.

    The documentation of the endpoints is at /docs of the server.
    """
    try:
        from elmokit.serve.command import run_server
        from elmokit.serve.limits import Limits
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "FastAPI", "serve", "elmokit serve") from None

    limits = Limits(
        body_bytes=body_mb * 2**20,
        request_tokens=request_tokens,
        text_tokens=text_tokens,
        queue_tokens=queue_tokens,
        batch_tokens=batch_tokens,
        wait_ms=wait_ms,
        queue_seconds=queue_seconds,
    )
    run_server(
        models or (),
        index,
        host=host,
        port=port,
        limits=limits,
        api_key_file=api_key_file,
        cors_origins=cors_origin or (),
        drain_seconds=drain_seconds,
        need_softmax=softmax,
        device=device,
        precision=cast("PrecisionName", precision),
        access_log=access_log,
    )
