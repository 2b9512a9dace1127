"""`pellucid describe`: the parts of a model, their sizes and what they cost."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.config import ModelConfig
from pellucid.config import preset as preset_config
from pellucid.errors import UserError
from pellucid.fields import parse_settings
from pellucid.model_directory.describe import (
    BEAM,
    PAPER_FLOPS,
    PAPER_VOCABULARY,
    SENTENCE,
    Component,
    Description,
    matmul_rate,
)
from pellucid.model_directory.describe import describe as describe_model

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def describe(
    preset: Annotated[str | None, typer.Option(metavar="P", help="tiny, small, base (the default) or big.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="DIR", help="A model or run directory, or the name of a model that ships.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a field of the model; may be repeated."),
    ] = None,
    tokens: Annotated[
        float | None, typer.Option(metavar="N", help="Estimate a training on N source and N target tokens.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Show a model part by part: shapes, parameters, multiply-adds, memory.

    pellucid describe --set d_model=768 --set heads=12
    """
    if tokens is not None and not (isfinite(tokens) and tokens > 0):
        raise UserError(f"{tokens:g} is no number of tokens", "--tokens", "give a number above 0, such as 1e8")
    title, config = _chosen(preset, model, parse_settings(set_ or []))
    description = describe_model(config)
    training = None if tokens is None else _training(description, tokens)
    if as_json:
        typer.echo(json.dumps(description.to_dict() | ({"training": training} if training else {}), indent=2))
        return

    from rich.console import Console

    show(Console(highlight=False), title, description, training)


def _chosen(preset: str | None, model: str | None, values: dict[str, Any]) -> tuple[str, ModelConfig]:
    """The model that is meant, and its name for people."""
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


def _training(description: Description, tokens: float) -> dict[str, float]:
    flops, rate = description.training_flops(tokens), matmul_rate()
    return {
        "tokens": tokens,
        "flops": flops,
        "paper_base_flops": PAPER_FLOPS["base"],
        "paper_big_flops": PAPER_FLOPS["big"],
        "measured_flops_a_second": rate,
        "seconds": flops / rate,
    }


def show(console: Console, title: str, description: Description, training: dict[str, float] | None = None) -> None:
    blocks = [
        _summary(title, description),
        _parts(console, description),
        f"A source token passes {description.multiply_adds('source'):,} multiply-adds (keys and values of "
        f"cross-attention are made from it), a target token {description.multiply_adds('target'):,}. In each of the "
        f"{description.attentions} attentions a query adds {description.multiply_adds_per_key:,} per key.",
        _costs(console, description),
    ]
    if training:
        blocks += [
            _estimate(console, training),
            "The paper multiplies GPU time by 9.5 TFLOP/s; here the matrix products are counted.",
        ]
    for block in blocks:
        console.print(block)
        if not console.is_terminal:  # there, tables bring their own empty lines
            console.print()


def _summary(title: str, description: Description) -> str:
    from rich.markup import escape

    config = description.config
    shared = "" if config.key_heads == config.heads else f", keys and values in {config.key_heads}"
    biases = f" and {description.qkv_biases:,} biases" if config.bias else ""
    return (
        f"{escape(title)}\n[bold]{description.parameters:,} parameters[/bold]\n"
        f"d_model {config.d_model:,} in {config.heads} heads of {config.d_head} (d_head){shared}\n"
        f"Q, K and V of one attention: {description.qkv_weights:,} weights{biases}"
    )


def _parts(console: Console, description: Description) -> Table:
    config = description.config
    table = _table(console, "part", "shape", "weights", "biases", "multiply-adds")
    for part in description.components:
        if part.layers == 1 and ".layers." not in part.name:
            table.add_row(_words(part, config), _shape(part), *_numbers(part.weights, part.biases, part.multiply_adds))
    for stack in ("encoder", "decoder"):
        inside = [part for part in description.components if part.name.startswith(f"{stack}.layers.")]
        layers = inside[0].layers
        table.add_section()
        table.add_row(f"{stack}, each of {layers} layers" if layers > 1 else f"{stack}, its one layer", style="bold")
        for part in inside:
            numbers = _numbers(part.weights, part.biases, part.multiply_adds)
            table.add_row(f"  {_words(part, config)}", _shape(part), *numbers)
        table.add_row("  all layers", "", *_sums(inside), style="bold")
    table.add_section()
    table.add_row("the model", "", *_sums(description.components), style="bold")
    return table


def _words(part: Component, config: ModelConfig) -> str:
    """encoder.layers.*.self_attention_residual.norm -> self-attention norm."""
    match part.name, config.tie:
        case "source_embedding", "all":
            return "embedding, shared by all"
        case "target_embedding", "decoder":
            return "target, output embedding"
        case "output", "all" | "decoder":
            return "output, by the embedding"
    name = part.name.split(".layers.*.")[-1].replace("_residual", "").replace("_embedding", " embedding")
    return name.replace("_", "-").replace(".", " ")


def _shape(part: Component) -> str:
    return " × ".join(f"{side:,}" for side in part.shape)


def _sums(parts: list[Component]) -> list[str]:
    return _numbers(
        sum(part.layers * part.weights for part in parts),
        sum(part.layers * part.biases for part in parts),
        sum(part.layers * part.multiply_adds for part in parts),
    )


def _numbers(*numbers: int) -> list[str]:
    return [f"{number:,}" if number else "-" for number in numbers]


def _costs(console: Console, description: Description) -> Table:
    table = _table(console, "memory in float32", "size", "")
    memory, cache = description.memory, description.cache
    table.add_row("weights", _size(memory["weights"]), "all that translating needs besides the cache")
    table.add_row("gradients", _size(memory["gradients"]), "training, one a parameter")
    table.add_row("optimiser", _size(memory["optimiser"]), "training, two a parameter (Adam)", end_section=True)
    table.add_row("cache, a target token", _size(cache["target_token"]), "for each hypothesis")
    table.add_row("cache, a source token", _size(cache["source_token"]), "once, whatever the beam")
    sentence = f"{SENTENCE} tokens on each side, beam {BEAM}"
    table.add_row("cache, a sentence", _size(cache["sentence"]), sentence)
    return table


def _estimate(console: Console, training: dict[str, float]) -> Table:
    table = _table(console, "training", "", "")
    paper = ", ".join(f"{name} {_power(flops)}" for name, flops in PAPER_FLOPS.items())
    table.add_row("tokens", f"{training['tokens']:,.0f}", "of the source, and as many of the target")
    table.add_row("work", f"{_power(training['flops'])} FLOPs", f"the paper gives {paper}")
    rate = f"{training['measured_flops_a_second'] / 1e9:,.0f} GFLOP/s"
    table.add_row("rate", rate, "of NumPy's matrix products, measured here just now")
    table.add_row("time", duration(training["seconds"]), "at that rate throughout: at least this long")
    return table


def _table(console: Console, first: str, *columns: str) -> Table:
    """Lines in a terminal, plain columns in a pipe."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    lines = SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=lines, padding=(0, 1 if lines else 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(first)  # of all columns the one that may be folded, so that every number stays whole
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=bool(column))
    return table


def _power(number: float) -> str:
    return f"{number:.1e}".replace("e+", "e")


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def duration(seconds: float) -> str:
    for unit, size in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
