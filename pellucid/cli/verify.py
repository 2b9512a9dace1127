"""`pellucid verify`: are the engines of a model right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.config import DEFAULT_MODEL
from pellucid.model_directory import ModelDirectory

if TYPE_CHECKING:
    from pellucid.evaluation.verify import EngineCheck, Verification

SHOWN = 3  # differing texts of each engine


def verify(
    model: Annotated[
        str, typer.Argument(help="The name of a model that ships, or a model or run directory.")
    ] = DEFAULT_MODEL,
    texts: Annotated[Path | None, typer.Option(metavar="FILE", help="Texts, one a line, instead of a sample.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Source language.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Target language.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything found as JSON.")] = False,
) -> None:
    """Compare every engine with the float64 reference.

    Exit 1: an engine is wrong (int8 may differ a little), a batch changes a text, or the tokenizer loses one.
    """
    from pellucid.evaluation.verify import verify as check
    from pellucid.text.readers.files import lines

    given = [line.strip() for _, line in lines(texts)] if texts else []
    chosen = [line for line in given if line]
    result = check(
        ModelDirectory.find(model), chosen, from_, to, report=lambda engine: typer.echo(f"checking {engine}", err=True)
    )
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        _show(result)
    if not result.holds:
        raise typer.Exit(1)


def _show(result: Verification) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("engine", "largest logit gap", "same texts", "batching changes", "verdict", box=None)
    for engine in result.engines:
        same = f"{result.texts - len(engine.differences)} of {result.texts}"
        changes = str(len(engine.batch_changes))
        table.add_row(engine.engine, f"{engine.logit_gap:.1e}", same, changes, _verdict(engine, result.texts))
    console.print(table)
    for name, reason in result.unchecked.items():
        console.print(f"{name} was not checked: {reason}", markup=False)
    for engine in result.engines:
        for difference in engine.differences[:SHOWN]:
            console.print(f"\n{engine.engine}: {difference.text}", markup=False)
            console.print(f"  reference: {difference.reference}", markup=False)
            console.print(f"  engine:    {difference.engine}", markup=False)
        for text in engine.batch_changes[:SHOWN]:
            console.print(f"\n{engine.engine}: depends on its batch: {text}", markup=False)
    for text in result.tokenizer_losses[:SHOWN]:
        console.print(f"\nthe tokenizer does not give back: {text!r}", markup=False)
    console.print(f"\n{result.paragraph()}", markup=False)


def _verdict(engine: EngineCheck, texts: int) -> str:
    """An engine that rounds promises no equal texts, so that it is never called right."""
    if not engine.holds:
        return "WRONG"
    if engine.exact:
        return "right"
    return f"differs in {len(engine.differences)} of {texts}" if engine.differences else "within rounding"
