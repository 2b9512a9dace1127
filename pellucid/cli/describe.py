"""`pellucid describe`: the parts of a model, their sizes and what they cost."""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated, Any

import typer

from pellucid.cli.options import MODEL, AsJson, Changes
from pellucid.config import PRESETS, ModelConfig
from pellucid.config import preset as preset_config
from pellucid.errors import UserError
from pellucid.fields import parse_settings
from pellucid.model_directory.describe import PAPER_VOCABULARY
from pellucid.model_directory.describe import describe as describe_model


def describe(
    *,
    preset: Annotated[
        str | None, typer.Option(metavar="|".join(PRESETS), help="shape of the model by name; default: base")
    ] = None,
    model: Annotated[str | None, MODEL] = None,
    set_: Changes = None,
    tokens: Annotated[
        float | None, typer.Option(metavar="<float>", help="estimate a training on N source and N target tokens")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a model part by part. Shapes, parameters, multiply-adds, memory.

    pellucid describe --set d_model=768 --set heads=12
    """
    if tokens is not None and not (isfinite(tokens) and tokens > 0):
        raise UserError(f"{tokens:g} is not a number of tokens", "--tokens", "give a number above 0, such as 1e8")
    title, config = _config(preset, model, parse_settings(set_ or []))
    description = describe_model(config)
    training = None if tokens is None else description.training(tokens)
    if as_json:
        typer.echo(json.dumps(description.to_dict() | ({"training": training} if training else {}), indent=2))
        return
    from rich.console import Console

    from pellucid.terminal.describe import print_description

    print_description(Console(highlight=False), title, description, training)


def _config(preset: str | None, model: str | None, values: dict[str, Any]) -> tuple[str, ModelConfig]:
    """The title and the config of the requested model."""
    if preset is not None and model is not None:
        raise UserError("both are given", "--preset and --model", "give one of them")
    if model is not None:
        from pellucid.model_directory import ModelDirectory

        return f"model {model}", ModelDirectory.find(model).config.changed(**values)
    title = f"preset {preset or 'base'}"
    if not {"vocabulary", "source_vocabulary", "target_vocabulary"} & values.keys():
        values = values | {"vocabulary": PAPER_VOCABULARY}
        title += f", vocabulary {PAPER_VOCABULARY:,} (the paper's, as none was given)"
    return title, preset_config(preset or "base", **values)
