"""The README of a model directory: what it is, what it learned from, how well it does."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pellucid.shapes import weight_shapes
from pellucid.text.pair import Direction
from pellucid.training.loop import Training
from pellucid.training.settings import Settings


def model_card(settings: Settings, training: Training, directions: Sequence[Direction]) -> str:
    """Facts only, from the settings and the log of the run."""
    progress, config = training.progress, settings.model
    size = sum(prod(shape) for shape in weight_shapes(config).values())
    ways = ", ".join(f"{source} → {target}" for source, target in directions) or "source → target"
    rows = [
        ("directions", ways),
        ("parameters", f"{size:,}"),
        ("layers", f"{config.encoder_layers} encoder, {config.decoder_layers} decoder"),
        ("d_model, heads, feed_forward", f"{config.d_model}, {config.heads}, {config.feed_forward}"),
        ("training pairs", f"{len(training.data.train_pairs):,}"),
        ("updates, epochs, minutes", f"{progress.step:,}, {progress.epoch}, {progress.seconds / 60:.1f}"),
        *_scores(training),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"# {ways}\n\nAn encoder-decoder Transformer trained with Pellucid.\n\n| | |\n|---|---|\n{table}\n"


def _scores(training: Training) -> list[tuple[str, str]]:
    validations = [entry for entry in training.run.history() if "valid_loss" in entry]
    if not validations:
        return []
    last = validations[-1]
    names = {"valid_loss": "validation loss", "bleu": "BLEU", "chrf": "chrF", "exact_match": "exact match, %"}
    return [
        (f"{title}, last validation", f"{last[name]:.2f}") for name, title in names.items() if last[name] is not None
    ]
