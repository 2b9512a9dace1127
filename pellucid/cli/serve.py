"""`pellucid serve`: a model as an HTTP service with LibreTranslate's API."""

from __future__ import annotations

from typing import Annotated

import typer

from pellucid.cli.options import EngineAndType, Fields, Given, Model, options
from pellucid.config import DEFAULT_MODEL, ServeConfig


@options
def serve(
    *,
    model: Model = DEFAULT_MODEL,
    host: Annotated[str, typer.Option(help="address to listen on; 0.0.0.0: all addresses")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port to listen on; 0: any free port")] = 5000,
    engine: EngineAndType,
    limits: Annotated[Given, Fields(ServeConfig)],
    forwarded_allow_ips: Annotated[
        str | None, typer.Option(help="proxies whose X-Forwarded-For header is trusted, separated by commas")
    ] = None,
) -> None:
    """Serve a model over HTTP. The service has LibreTranslate's API, a native API and a web page. -1 lifts a limit.

    pellucid serve --port 5000
    """
    config = ServeConfig(**limits)
    from pellucid.decode.translator import load
    from pellucid.serve.run import run

    translator = load(model, **engine)
    translator.open_all()  # a fault of the model is reported now, not to the first client
    run(translator, config, host, port, forwarded_allow_ips)
