"""The learning rate at every step."""

from __future__ import annotations

from math import cos, pi

from pellucid.config import TrainConfig


def learning_rate(step: int, config: TrainConfig, d_model: int, total_steps: int | None = None) -> float:
    """The rate of update `step`, counted from 1. All schedules but 'paper' rise in a line to `learning_rate` first."""
    warmup = max(1, config.warmup)
    if config.schedule == "paper":
        return float(config.learning_rate * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    if step < warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "inverse_sqrt":
        return float(config.learning_rate * (warmup / step) ** 0.5)
    if config.schedule == "cosine" and total_steps is not None:
        done = min(1.0, (step - warmup) / max(1, total_steps - warmup))
        return config.learning_rate * 0.5 * (1.0 + cos(pi * done))
    return config.learning_rate
