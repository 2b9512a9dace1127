"""`pellucid explain`: one translation with every number inside, in the terminal, as a report, pictures or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.streams import standard_input, write_file
from pellucid.config import DEFAULT_MODEL


def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence, or - for the standard input.")],
    model: Annotated[
        str, typer.Option(help="The name of a model that ships, or a model or run directory.")
    ] = DEFAULT_MODEL,
    from_: Annotated[str | None, typer.Option("--from", help="Source language; left out or auto: detected.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language; may be left out if there is one.")] = None,
    target_text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Explain this translation instead of the model's own.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Which one searches: auto, ctranslate2, torch or reference.")] = "auto",
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an interactive report.")] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write pictures of all heads, the alignment and the beam.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trace as JSON.")] = False,
) -> None:
    """Show one translation from the inside: tokens, attention, every step's choice, the beam.

    pellucid explain "Where is the station?" --html report.html
    """
    from pellucid.decode.translator import load
    from pellucid.tracing import explain as trace_of

    if text == "-":
        text = standard_input().read().decode(errors="replace")
    translator = load(model, engine)  # type: ignore[arg-type]  # it says what is wrong with a wrong word
    trace = trace_of(translator, text, from_, to, target_text=target_text)
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
