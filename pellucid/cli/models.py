"""`pellucid models`: the shipped models, and the facts of one model."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from pellucid.cli.options import AsJson
from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory, shipped_models


def models(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[[show] MODEL]", help="a name, or a model or run directory")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped models, or show one. A model has directions, a size and a card."""
    if words:
        names = words[1:] if words[0] == "show" else words
        if len(names) > 1:
            raise UserError(f"{len(names)} names", "models", "give one: pellucid models show NAME")
        _show(ModelDirectory.find(names[0] if names else DEFAULT_MODEL), as_json)
        return
    found = {name: ModelDirectory(path).facts() for name, path in shipped_models().items()}
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for name, facts in found.items():
        typer.echo(f"{name:12} {', '.join(facts['directions']):24} {facts['parameters']:>12,} parameters")
    if not found:
        typer.echo("This copy ships no model. Train one: pellucid train --help", err=True)


def _show(directory: ModelDirectory, as_json: bool) -> None:
    facts, card = directory.facts(), directory.card
    if as_json:
        typer.echo(json.dumps({**facts, "card": card}, indent=2, ensure_ascii=False))
        return
    typer.echo(f"directory   {facts['directory']}")
    typer.echo(f"translates  {', '.join(facts['directions']) or 'one direction, without language codes'}")
    typer.echo(f"parameters  {facts['parameters']:,}")
    typer.echo(f"on disk     {facts['bytes'] / 1e6:.1f} MB")
    if card:
        typer.echo(f"\n{card.rstrip()}")
