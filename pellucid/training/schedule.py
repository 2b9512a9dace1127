"""The learning rate at every step."""

from __future__ import annotations

from math import cos, pi

from pellucid.config import TrainConfig


def learning_rate(step: int, config: TrainConfig, d_model: int, total_steps: int | None = None) -> float:
    """The rate of update `step`, counted from 1; `total_steps` is where a cosine or a cooldown ends."""
    rate = _scheduled(step, config, d_model, total_steps)
    if not config.cooldown or total_steps is None:
        return rate
    return rate * min(1.0, max(0, total_steps - step) / config.cooldown)


def _scheduled(step: int, config: TrainConfig, d_model: int, total_steps: int | None) -> float:
    """Without a cooldown. All schedules but 'paper' rise in a line to the highest rate first."""
    warmup = max(1, round(2.5 * d_model) if config.warmup is None else config.warmup)
    if config.schedule == "paper":
        factor = 1.0 if config.learning_rate is None else config.learning_rate
        return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    highest = 0.0225 * d_model**-0.5 if config.learning_rate is None else config.learning_rate
    if step < warmup:
        return highest * step / warmup
    if config.schedule == "inverse_sqrt":
        return float(highest * (warmup / step) ** 0.5)
    if config.schedule == "cosine" and total_steps is not None:
        done = min(1.0, (step - warmup) / max(1, total_steps - warmup))
        return highest * 0.5 * (1.0 + cos(pi * done))
    return highest
