"""`pellucid train --dry-run`: what a training would do, and how long it would take."""

from __future__ import annotations

from dataclasses import replace

from pellucid.model_directory.describe import describe, matmul_rate
from pellucid.terminal.plan import Plan
from pellucid.training.api import check_budget, prepare_data, with_budget
from pellucid.training.settings import Settings


def make_plan(settings: Settings) -> Plan:
    """Read the pairs, and estimate the time of an epoch from the rate of matrix products measured on this machine."""
    check_budget(settings)
    settings = with_budget(settings)
    data = prepare_data(settings)
    settings = replace(settings, model=data.model(settings.model))
    train, description = settings.train, describe(settings.model)
    pairs = data.epoch_pairs(train.seed, 0)
    source, target = (int(lengths.sum()) for lengths in data.corpus.lengths(pairs))
    # Two operations per multiply-add; the backward pass does twice the work of the forward pass; R-Drop has two passes.
    flops = (12 if train.r_drop else 6) * (
        source * description.multiply_adds("source") + target * description.multiply_adds("target")
    )
    return Plan(
        report=data.report,
        description=description,
        train=train,
        pairs=len(pairs),
        valid_pairs=len(data.valid_pairs),
        tokens=(source, target),
        updates=-(-len(data.plan(train, epoch=0)) // train.accumulate),
        seconds=flops / matmul_rate(),
    )
