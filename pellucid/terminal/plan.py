"""The plan of a training, as `pellucid train --dry-run` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from pellucid.errors import counted
from pellucid.model_directory.describe import Description, describe, matmul_rate
from pellucid.terminal.describe import duration, print_description

if TYPE_CHECKING:
    from pellucid.training.data import Data
    from pellucid.training.run import Settings


def print_plan(settings: Settings) -> None:
    """Read the pairs, describe the model, and estimate the time from the rate of matrix products on this machine."""
    from pellucid.training.data import prepare_data
    from pellucid.training.run.budget import check_budget, with_budget

    check_budget(settings)
    settings = with_budget(settings)
    data = prepare_data(settings)
    description = describe(data.with_vocabulary(settings.model))
    console = Console(highlight=False)
    console.print(data.report, markup=False)
    print_description(console, "the model to train", description)
    console.print("\n".join(_estimate(settings, data, description)), markup=False)
    console.print("Nothing was trained, and no run directory was created.")


def _estimate(settings: Settings, data: Data, description: Description) -> list[str]:
    train = settings.train
    pairs = data.epoch_pairs(train.seed, 0)
    source, target = (int(lengths.sum()) for lengths in data.corpus.lengths(pairs))
    # Two operations per multiply-add; the backward pass does twice the work of the forward pass; R-Drop has two passes.
    flops = (12 if train.r_drop else 6) * (
        source * description.multiply_adds("source") + target * description.multiply_adds("target")
    )
    updates, seconds = -(-len(data.epoch_batches(train, epoch=0)) // train.accumulate), flops / matmul_rate()
    lines = [
        f"an epoch: {len(pairs):,} pairs, {source:,} source and {target:,} target tokens,",
        f"  {counted(updates, 'update')}, at least {duration(seconds)} (by the rate of matrix products here)",
        f"validation: {len(data.valid_pairs):,} pairs, every {counted(train.validate_every, 'update')}",
    ]
    if train.epochs:
        lines.append(f"budget: {counted(train.epochs, 'epoch')}, {duration(train.epochs * seconds)} or more")
    if train.steps:
        epochs = train.steps / updates
        time = duration(epochs * seconds)
        lines.append(f"budget: {counted(train.steps, 'update')} (about {epochs:,.1f} epochs), {time} or more")
    if train.minutes:
        lines.append(f"budget: {train.minutes:g} minutes (at most {train.minutes * 60 / seconds:,.1f} epochs)")
    if train.patience:
        lines.append(f"budget: until {counted(train.patience, 'validation')} without a lower loss")
    return lines
