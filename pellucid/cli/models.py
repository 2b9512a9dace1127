"""`pellucid models`: the models that ship, and what is known of one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from pellucid.config import DEFAULT_MODEL
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory, shipped_models


def models(
    words: Annotated[list[str] | None, typer.Argument(metavar="[[show] NAME]", help="A name or a directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the models that ship, or show one: its languages, its size, its card."""
    if words:
        names = words[1:] if words[0] == "show" else words
        if len(names) > 1:
            raise UserError(f"{len(names)} names", "models", "one at a time: pellucid models show NAME")
        _show(ModelDirectory.find(names[0] if names else DEFAULT_MODEL), as_json)
        return
    found = {name: ModelDirectory(path).facts() for name, path in shipped_models().items()}
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for name, about in found.items():
        typer.echo(f"{name:12} {', '.join(about['directions']):24} {about['parameters']:>12,} parameters")
    if not found:
        typer.echo("No model ships with this copy. Train one: pellucid train --help", err=True)


def _show(directory: ModelDirectory, as_json: bool) -> None:
    about, text = directory.facts(), directory.card
    if as_json:
        typer.echo(json.dumps({**about, "card": text}, indent=2, ensure_ascii=False))
        return
    typer.echo(f"directory   {about['directory']}")
    typer.echo(f"translates  {', '.join(about['directions']) or 'no language codes'}")
    typer.echo(f"parameters  {about['parameters']:,}")
    typer.echo(f"on disk     {about['bytes'] / 1e6:.1f} MB")
    if text:
        typer.echo(f"\n{text.rstrip()}")
