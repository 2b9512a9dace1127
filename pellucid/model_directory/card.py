"""The model card: the README of a model directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import weight_shapes
from pellucid.text.languages import Direction


def model_card(config: ModelConfig, directions: Sequence[Direction], training: Iterable[tuple[str, str]]) -> str:
    """What the model is, and the facts of its `training` as (name, value) rows."""
    size = sum(prod(shape) for shape in weight_shapes(config).values())
    title = ", ".join(f"{source} → {target}" for source, target in directions) or "source → target"
    rows = [
        ("directions", title),
        ("parameters", f"{size:,}"),
        ("layers", f"{config.encoder_layers} encoder, {config.decoder_layers} decoder"),
        ("d_model, heads, feed_forward", f"{config.d_model}, {config.heads}, {config.feed_forward}"),
        *training,
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"# {title}\n\nAn encoder-decoder Transformer trained with Pellucid.\n\n| | |\n|---|---|\n{table}\n"
