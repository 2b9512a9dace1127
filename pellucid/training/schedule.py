"""The learning rate schedule."""

from __future__ import annotations

from math import cos, pi

from pellucid.config import TrainConfig
from pellucid.training.data import Data


def learning_rate(step: int, config: TrainConfig, d_model: int, total_steps: int | None = None) -> float:
    """The rate of step `step`, counted from 1. A cosine or a cooldown ends at `total_steps`."""
    rate = _scheduled(step, config, d_model, total_steps)
    if not config.cooldown or total_steps is None:
        return rate
    return rate * min(1.0, max(0, total_steps - step) / config.cooldown)


def _scheduled(step: int, config: TrainConfig, d_model: int, total_steps: int | None) -> float:
    """Without the cooldown. All schedules but 'paper' rise linearly to the peak rate first."""
    warmup = max(1, round(2.5 * d_model) if config.warmup is None else config.warmup)
    if config.schedule == "paper":
        factor = 1.0 if config.learning_rate is None else config.learning_rate
        return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    peak = 0.0225 * d_model**-0.5 if config.learning_rate is None else config.learning_rate
    if step < warmup:
        return peak * step / warmup
    if config.schedule == "inverse_sqrt":
        return float(peak * (warmup / step) ** 0.5)
    if config.schedule == "cosine" and total_steps is not None:
        done = min(1.0, (step - warmup) / max(1, total_steps - warmup))
        return peak * 0.5 * (1.0 + cos(pi * done))
    return peak


def total_steps(config: TrainConfig, data: Data) -> int | None:
    """The number of steps that the budget allows, as far as it is known before the run."""
    if config.steps is not None or config.epochs is None:
        return config.steps
    first_epoch = len(data.epoch_batches(config, epoch=0))
    return round(config.epochs * -(-first_epoch // config.accumulate))
