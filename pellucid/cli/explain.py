"""`pellucid explain`: one translation with every number inside, in the terminal, as a report, pictures or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.options import AsJson, Engine, From, Model, To, options
from pellucid.cli.standard_io import standard_input, write_file
from pellucid.config import DEFAULT_MODEL


@options
def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="a sentence, or - for the standard input")],
    *,
    model: Model = DEFAULT_MODEL,
    source: From = None,
    target: To = None,
    target_text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="explain this translation instead of the model's own")
    ] = None,
    engine: Engine,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="write an interactive report")] = None,
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="write pictures of heads, alignment and beam")] = None,
    as_json: AsJson = False,
) -> None:
    """Show one translation from the inside. Tokens, attention weights, the probabilities of each step, the beam.

    pellucid explain "Where is the station?" --html report.html
    """
    from pellucid.decode.translator import load
    from pellucid.tracing import explain as trace_of

    if text == "-":
        text = standard_input().read().decode(errors="replace")
    trace = trace_of(load(model, **engine), text, source, target, target_text=target_text)
    if html is not None:
        write_file(html, trace.to_html())
    if png is not None:
        from pellucid.tracing.pictures import draw

        for path in draw(trace, png):
            typer.echo(f"wrote {path}", err=True)
    if as_json:
        typer.echo(trace.to_json())
    elif html is None and png is None:
        from rich.console import Console

        from pellucid.terminal.trace import print_trace

        print_trace(trace, Console(highlight=False))
