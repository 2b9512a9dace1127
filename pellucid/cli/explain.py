"""`pellucid explain`: one translation with every number inside, or how a model learned it, in the terminal, as a
report, pictures or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.options import AsJson, Engine, From, Given, Model, To, options
from pellucid.cli.standard_io import standard_input, write_file
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import Problem, UserError

if TYPE_CHECKING:
    from pellucid.decode.translator import Translator
    from pellucid.tracing.trace import Trace

Words = tuple[str | None, str | None, str | None, str | None]  # text, source and target language, translation


@options
def explain(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="a sentence, or - for the standard input; a run has one")
    ] = None,
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
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="watch a run with snapshots learn the sentence; dates ships")
    ] = None,
    step: Annotated[int | None, typer.Option(metavar="N", help="of the run: explain the model of this step")] = None,
    as_json: AsJson = False,
) -> None:
    """Show one translation from the inside. Tokens, attention weights, the probabilities of each step, the beam.

    \b
    pellucid explain "Where is the station?" --html report.html
    pellucid explain --run dates
    """
    if text == "-":
        text = standard_input().read().decode(errors="replace")
    changes = [*(f"{part}=0" for part in without or ()), *(intervene or ())]
    if run is None and step is not None:
        raise UserError("goes with --run alone", "--step", "add --run RUN")
    if run is None and text is None:
        raise UserError("missing", "TEXT", "give a sentence, or --run RUN")
    if run is not None:
        of_one_step = {"--png": png, "--formulas": formulas, "--cell": cell, "--without or --intervene": changes}
        _refuse({"--engine": engine, "--model": model != DEFAULT_MODEL}, "leave it out: a run has its own models")
        _refuse(of_one_step if step is None else {}, "add --step N: it shows one step")
    words = (text, source, target, target_text)
    if run is not None and step is None:
        return _watch(run, words, html, as_json)
    trace = _trace(_load(model, engine), words, changes) if run is None else _trace_at(run, step or 0, words, changes)
    if html is not None:
        write_file(html, trace.to_html())
    if png is not None:
        _draw(trace, png)
    if cell is not None:
        typer.echo(json.dumps((trace.changed or trace).open_at(cell)))
    elif as_json:
        typer.echo(trace.to_json())
    elif html is None and png is None:
        _print(trace, formulas)
    return None


def _refuse(given: Mapping[str, object], remedy: str) -> None:
    """Raise an error for the options that do not go with --run."""
    if wrong := [Problem("does not go with --run", name, remedy) for name, value in given.items() if value]:
        raise UserError(wrong)


def _watch(run: str, words: Words, html: Path | None, as_json: bool) -> None:
    """How the run learned the sentence."""
    from pellucid.tracing.learning import watch

    text, source, target, target_text = words
    learning = watch(run, text, source, target, target_text=target_text)
    if html is not None:
        write_file(html, learning.to_html())
    if as_json:
        typer.echo(learning.to_json())
    elif html is None:
        from rich.console import Console

        from pellucid.terminal.learning import print_learning

        print_learning(learning, Console(highlight=False))


def _load(model: str, engine: Given) -> Translator:
    from pellucid.decode.translator import load

    return load(model, **engine)


def _trace_at(run: str, step: int, words: Words, changes: list[str]) -> Trace:
    """The trace of the model of one step."""
    from pellucid.decode.translator import Translator
    from pellucid.model_directory.snapshots import Snapshots

    snapshots = Snapshots.find(run)
    translator = Translator(snapshots.at(step), "reference")
    text, source, target, target_text = words
    if text is None and (sample := snapshots.sample) is not None:
        words = (sample.text, source, target, target_text or sample.target_text)
    return _trace(translator, words, changes)


def _trace(translator: Translator, words: Words, changes: list[str]) -> Trace:
    from pellucid.tracing import explain

    text, source, target, target_text = words
    return explain(translator, text or "", source, target, target_text=target_text, intervene=changes)


def _draw(trace: Trace, folder: Path) -> None:
    from pellucid.tracing.pictures import draw

    for path in draw(trace, folder):
        typer.echo(f"wrote {path}", err=True)


def _print(trace: Trace, formulas: bool) -> None:
    from rich.console import Console

    from pellucid.terminal.trace import print_formulas, print_trace

    (print_formulas if formulas else print_trace)(trace, Console(highlight=False))
