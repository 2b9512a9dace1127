"""`pellucid models`: the models that ship, and what is known of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.decode.models import DEFAULT, find_model, shipped_models
from pellucid.errors import UserError


def models(
    words: Annotated[list[str] | None, typer.Argument(metavar="[[show] NAME]", help="A name or a directory.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the models that ship, or show one: its languages, its size, its card."""
    if words:
        names = words[1:] if words[0] == "show" else words
        if len(names) > 1:
            raise UserError(f"{len(names)} names", "models", "one at a time: pellucid models show NAME")
        _show(find_model(names[0] if names else DEFAULT), as_json)
        return
    found = {name: facts(path) for name, path in shipped_models().items()}
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for name, about in found.items():
        typer.echo(f"{name:12} {', '.join(about['directions']):24} {about['parameters']:>12,} parameters")
    if not found:
        typer.echo("No model ships with this copy. Train one: pellucid train --help", err=True)


def facts(directory: Path) -> dict[str, Any]:
    """What a model directory says of itself, without loading the weights."""
    from math import prod

    from pellucid.model_files import read_config
    from pellucid.shapes import weight_shapes
    from pellucid.text.languages import FILE as LANGUAGES
    from pellucid.text.languages import LanguageIdentifier

    config = read_config(directory)
    languages = LanguageIdentifier.load(directory / LANGUAGES)
    return {
        "directory": str(directory),
        "directions": [" → ".join(way) for way in languages.directions],
        "parameters": sum(prod(shape) for shape in weight_shapes(config).values()),
        "converted": (directory / "ctranslate2" / "model.bin").is_file(),
        "bytes": sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()),
        "config": config.to_dict(),
    }


def _show(directory: Path, as_json: bool) -> None:
    about = facts(directory)
    card = directory / "README.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    if as_json:
        typer.echo(json.dumps({**about, "card": text}, indent=2, ensure_ascii=False))
        return
    typer.echo(f"directory   {about['directory']}")
    typer.echo(f"translates  {', '.join(about['directions']) or 'no language codes'}")
    typer.echo(f"parameters  {about['parameters']:,}")
    typer.echo(f"on disk     {about['bytes'] / 1e6:.1f} MB")
    if text:
        typer.echo(f"\n{text.rstrip()}")
