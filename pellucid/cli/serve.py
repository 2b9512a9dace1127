"""`pellucid serve`: a model as a service, with LibreTranslate's API."""

from __future__ import annotations

from typing import Annotated

import typer

from pellucid.config import DEFAULT_MODEL, ServeConfig


def serve(
    model: Annotated[
        str, typer.Option(help="The name of a model that ships, or a model or run directory.")
    ] = DEFAULT_MODEL,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0: all there are.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")] = 5000,
    engine: Annotated[str, typer.Option(help="auto, ctranslate2, torch or reference.")] = "auto",
    compute_type: Annotated[str | None, typer.Option(help="float32 or int8; by default the model's.")] = None,
    char_limit: Annotated[
        int, typer.Option(help="Characters of a request at most; -1 lifts this limit, and most others.")
    ] = ServeConfig.char_limit,
    bytes_limit: Annotated[int, typer.Option(help="Bytes of a request's body at most.")] = ServeConfig.bytes_limit,
    batch_limit: Annotated[int, typer.Option(help="Texts of a request at most.")] = ServeConfig.batch_limit,
    beam_limit: Annotated[int, typer.Option(help="Widest beam.")] = ServeConfig.beam_limit,
    alternatives_limit: Annotated[
        int, typer.Option(help="Alternatives of a text at most.")
    ] = ServeConfig.alternatives_limit,
    output_limit: Annotated[
        int, typer.Option(help="Tokens of a translated sentence at most.")
    ] = ServeConfig.output_limit,
    req_limit: Annotated[int, typer.Option(help="Requests a minute of one client at most.")] = ServeConfig.req_limit,
    req_time_cost: Annotated[
        float,
        typer.Option(help="Seconds of work that count as a request, where that is more than its texts; -1: none do."),
    ] = ServeConfig.req_time_cost,
    queue_limit: Annotated[
        int, typer.Option(help="Requests that wait or are worked on at most.")
    ] = ServeConfig.queue_limit,
    timeout: Annotated[float, typer.Option(help="Seconds until a request is given up.")] = ServeConfig.timeout,
    threads: Annotated[int | None, typer.Option(help="Batches worked on at once; by default one a core.")] = None,
    api_keys: Annotated[str | None, typer.Option(metavar="FILE", help="API keys, one a line: KEY or KEY 60.")] = None,
    metrics_auth_token: Annotated[
        str | None, typer.Option(envvar="PELLUCID_METRICS_AUTH_TOKEN", help="Bearer token that /metrics asks for.")
    ] = None,
    cors_origin: Annotated[str | None, typer.Option(help="Origin whose pages may call the service, or *.")] = None,
    forwarded_allow_ips: Annotated[
        str | None, typer.Option(help="Proxies whose X-Forwarded-For is believed, with commas between.")
    ] = None,
    disable_web_ui: Annotated[bool, typer.Option("--disable-web-ui", help="Serve the API alone.")] = False,
) -> None:
    """Serve a model: LibreTranslate's API, a page, and limits that hold from the first request.

    pellucid serve --port 5000
    """
    config = ServeConfig(
        char_limit=char_limit,
        bytes_limit=bytes_limit,
        batch_limit=batch_limit,
        beam_limit=beam_limit,
        alternatives_limit=alternatives_limit,
        output_limit=output_limit,
        req_limit=req_limit,
        req_time_cost=req_time_cost,
        queue_limit=queue_limit,
        timeout=timeout,
        threads=threads,
        api_keys=api_keys,
        metrics_auth_token=metrics_auth_token,
        cors_origin=cors_origin,
        disable_web_ui=disable_web_ui,
    )
    from pellucid.decode.translator import load
    from pellucid.serve.run import run

    translator = load(model, engine, compute_type=compute_type)  # type: ignore[arg-type]
    translator.open_all()  # what is wrong with the model is told now, not to the first client
    run(translator, config, host, port, forwarded_allow_ips)
