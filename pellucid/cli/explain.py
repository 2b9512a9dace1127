"""`pellucid explain`: one translation with every number inside, in the terminal, as a report, pictures or JSON."""

from __future__ import annotations

import json
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
    formulas: Annotated[bool, typer.Option("--formulas", help="print the formulas of the model instead")] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="switch off a part, such as encoder.2.head.1, mask, scale, positions"),
    ] = None,
    intervene: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="change the sentence: swap=0,1 (words), target.2=WORD (forced)"),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(metavar="VALUE.INDEX", help="print one number with its computation, as JSON")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show one translation from the inside. Tokens, attention weights, the probabilities of each step, the beam.

    pellucid explain "Where is the station?" --html report.html
    """
    from pellucid.decode.translator import load
    from pellucid.tracing import explain as trace_of

    if text == "-":
        text = standard_input().read().decode(errors="replace")
    changes = [*(f"{part}=0" for part in without or ()), *(intervene or ())]
    trace = trace_of(load(model, **engine), text, source, target, target_text=target_text, intervene=changes)
    if html is not None:
        write_file(html, trace.to_html())
    if png is not None:
        from pellucid.tracing.pictures import draw

        for path in draw(trace, png):
            typer.echo(f"wrote {path}", err=True)
    if cell is not None:
        typer.echo(json.dumps((trace.changed or trace).open_at(cell)))
    elif as_json:
        typer.echo(trace.to_json())
    elif html is None and png is None:
        from rich.console import Console

        from pellucid.terminal.trace import print_formulas, print_trace

        (print_formulas if formulas else print_trace)(trace, Console(highlight=False))
