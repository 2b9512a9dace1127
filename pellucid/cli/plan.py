"""`pellucid train --dry-run`: what a training would do and how long it would take."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from pellucid.cli.describe import duration, show
from pellucid.errors import counted
from pellucid.model_directory.describe import describe, matmul_rate
from pellucid.training.data import Data, prepare_data
from pellucid.training.run import Settings
from pellucid.training.run.budget import check_budget, with_budget


def show_plan(settings: Settings) -> None:
    """Read the pairs, show the model part by part, and estimate the time from the rate of matrix products here."""
    check_budget(settings)
    settings = with_budget(settings)
    data = prepare_data(settings)
    settings = replace(settings, model=data.model(settings.model))
    console = Console(highlight=False)
    console.print(data.report, markup=False)
    show(console, "the model to train", describe(settings.model))
    for line in _estimate(settings, data):
        console.print(line, markup=False)
    console.print("Nothing was trained and no run directory made.")


def _estimate(settings: Settings, data: Data) -> list[str]:
    train, description = settings.train, describe(settings.model)
    pairs = data.epoch_pairs(train.seed, 0)
    plan = data.epoch_batches(train, epoch=0)
    source, target = (int(lengths.sum()) for lengths in data.corpus.lengths(pairs))
    # two operations a multiply-add, three times the forward pass with the backward pass, all of it twice for R-Drop
    work = (12 if train.r_drop else 6) * (
        source * description.multiply_adds("source") + target * description.multiply_adds("target")
    )
    updates, seconds = -(-len(plan) // train.accumulate), work / matmul_rate()
    limits = {
        counted(train.epochs or 0, "epoch"): train.epochs,
        counted(train.steps or 0, "update"): train.steps and train.steps / updates,
        f"{train.minutes or 0:g} minutes": train.minutes and train.minutes * 60 / seconds,
    }
    lines = [
        f"an epoch: {len(pairs):,} pairs, {source:,} source and {target:,} target tokens,",
        f"  {counted(updates, 'update')}, at least {duration(seconds)} at the rate of matrix products here just now",
        f"validation: {len(data.valid_pairs):,} pairs, every {counted(train.validate_every, 'update')}",
    ]
    for name, epochs in limits.items():
        if epochs:
            about = f"{epochs:.1f}" if epochs < 10 else f"{epochs:,.0f}"
            lines.append(f"budget: {name} (epochs: about {about}), {duration(epochs * seconds)} or more")
    if train.patience:
        lines.append(f"budget: until {train.patience} validations bring no gain")
    return lines
