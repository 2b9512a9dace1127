"""The plan of a training, as `pellucid train --dry-run` prints it."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from pellucid.config import TrainConfig
from pellucid.errors import counted
from pellucid.model_directory.describe import Description
from pellucid.terminal.describe import duration, print_description


@dataclass(frozen=True)
class Plan:
    """What a training would do."""

    report: str  # on the pairs that were read
    description: Description
    train: TrainConfig
    pairs: int  # of an epoch, as the next three
    tokens: tuple[int, int]  # of the sources, of the targets
    updates: int
    seconds: float  # at least, from the rate of matrix products
    valid_pairs: int


def print_plan(plan: Plan) -> None:
    console = Console(highlight=False)
    console.print(plan.report, markup=False)
    print_description(console, "the model to train", plan.description)
    for line in _estimate(plan):
        console.print(line, markup=False)
    console.print("Nothing was trained, and no run directory was created.")


def _estimate(plan: Plan) -> list[str]:
    train, (source, target) = plan.train, plan.tokens
    lines = [
        f"an epoch: {plan.pairs:,} pairs, {source:,} source and {target:,} target tokens,",
        f"  {counted(plan.updates, 'update')}, at least {duration(plan.seconds)} (by the rate of matrix products here)",
        f"validation: {plan.valid_pairs:,} pairs, every {counted(train.validate_every, 'update')}",
    ]
    if train.epochs:
        lines.append(f"budget: {counted(train.epochs, 'epoch')}, {duration(train.epochs * plan.seconds)} or more")
    if train.steps:
        epochs = train.steps / plan.updates
        time = duration(epochs * plan.seconds)
        lines.append(f"budget: {counted(train.steps, 'update')} (about {_rounded(epochs)} epochs), {time} or more")
    if train.minutes:
        lines.append(
            f"budget: {train.minutes:g} minutes (at most {_rounded(train.minutes * 60 / plan.seconds)} epochs)"
        )
    if train.patience:
        lines.append(f"budget: until {counted(train.patience, 'validation')} without a lower loss")
    return lines


def _rounded(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"
