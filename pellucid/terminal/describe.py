"""The description of a model, as tables: its parts, what they cost, and the estimate of a training."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pellucid.config import ModelConfig
from pellucid.model_directory.describe import BEAM, PAPER_FLOPS, SENTENCE, Component, Description


def print_description(
    console: Console, title: str, description: Description, training: dict[str, float] | None = None
) -> None:
    blocks = [
        _summary(title, description),
        _parts(console, description),
        f"A source token takes {description.multiply_adds('source'):,} multiply-adds (keys and values of "
        f"cross-attention are made from it), a target token {description.multiply_adds('target'):,}. In each of the "
        f"{description.attentions} attentions a query adds {description.multiply_adds_per_key:,} per key.",
        _costs(console, description),
    ]
    if training:
        blocks += [
            _estimate(console, training),
            "The paper's figure is GPU time × 9.5 TFLOP/s; here only the matrix products are counted.",
        ]
    for block in blocks:
        console.print(block)
        if not console.is_terminal:  # in a terminal, tables have empty lines of their own
            console.print()


def _summary(title: str, description: Description) -> str:
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
            table.add_row(_label(part, config), *_row(part))
    for stack in ("encoder", "decoder"):
        inside = [part for part in description.components if part.name.startswith(f"{stack}.layers.")]
        layers = inside[0].layers
        table.add_section()
        table.add_row(f"{stack}, each of {layers} layers" if layers > 1 else f"{stack}, its one layer", style="bold")
        for part in inside:
            table.add_row(f"  {_label(part, config)}", *_row(part))
        table.add_row("  all layers", "", *_sums(inside), style="bold")
    table.add_section()
    table.add_row("the model", "", *_sums(description.components), style="bold")
    return table


def _label(part: Component, config: ModelConfig) -> str:
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


def _row(part: Component) -> list[str]:
    return [" × ".join(f"{side:,}" for side in part.shape), *_numbers(part.weights, part.biases, part.multiply_adds)]


def _sums(parts: list[Component]) -> list[str]:
    kinds = ("weights", "biases", "multiply_adds")
    return _numbers(*(sum(part.layers * getattr(part, kind) for part in parts) for kind in kinds))


def _numbers(*numbers: int) -> list[str]:
    return [f"{number:,}" if number else "-" for number in numbers]


def _costs(console: Console, description: Description) -> Table:
    table = _table(console, "memory in float32", "size", "")
    memory, cache = description.memory, description.cache
    table.add_row("weights", _size(memory["weights"]), "translating needs these and the cache")
    table.add_row("gradients", _size(memory["gradients"]), "in training: one number per parameter")
    table.add_row("optimiser", _size(memory["optimiser"]), "in training: two per parameter (Adam)", end_section=True)
    table.add_row("cache per target token", _size(cache["target_token"]), "of each hypothesis")
    table.add_row("cache per source token", _size(cache["source_token"]), "shared by all hypotheses")
    table.add_row("cache of a sentence", _size(cache["sentence"]), f"{SENTENCE} tokens on each side, beam {BEAM}")
    return table


def _estimate(console: Console, training: dict[str, float]) -> Table:
    table = _table(console, "training", "", "")
    paper = ", ".join(f"{name} {_power(flops)}" for name, flops in PAPER_FLOPS.items())
    table.add_row("tokens", f"{training['tokens']:,.0f}", "of the source, and as many of the target")
    table.add_row("work", f"{_power(training['flops'])} FLOPs", f"the paper gives {paper}")
    rate = f"{training['measured_flops_a_second'] / 1e9:,.0f} GFLOP/s"
    table.add_row("rate", rate, "of NumPy matrix products, measured on this machine")
    table.add_row("time", duration(training["seconds"]), "at this rate throughout: a lower bound")
    return table


def _table(console: Console, first: str, *columns: str) -> Table:
    """A table with lines in a terminal, plain columns in a pipe."""
    lines = SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=lines, padding=(0, 1 if lines else 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(first)  # the only column that may wrap: every number stays whole
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
