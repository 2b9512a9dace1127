"""`pellucid verify`: every engine of a model against the float64 reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.options import AsJson, From, To
from pellucid.config import DEFAULT_MODEL
from pellucid.model_directory import ModelDirectory


def verify(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="name of a shipped model, or a model or run directory")
    ] = DEFAULT_MODEL,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="texts to translate, one per line; default: a sample")
    ] = None,
    source: From = None,
    target: To = None,
    as_json: AsJson = False,
) -> None:
    """Compare every engine with the float64 reference. Logits are compared, and translations alone and in batches.

    Exit code 1: an exact engine differs (int8 may), a batch changes a translation, or the tokenizer loses text.
    """
    from pellucid.evaluation.verify import verify as check
    from pellucid.text.readers.files import lines

    given = [line.strip() for _, line in lines(texts) if line.strip()] if texts else []

    def report(engine: str) -> None:
        typer.echo(f"checking {engine}", err=True)

    result = check(ModelDirectory.find(model), given, source, target, report)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        from pellucid.terminal.verification import print_verification

        print_verification(result)
    if not result.holds:
        raise typer.Exit(1)
