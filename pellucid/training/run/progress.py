"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass

from pellucid.config import TrainConfig


@dataclass
class Progress:
    """With the weights and the state of the optimizer, this is all that is needed to resume a run."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # of the epoch: the next one to train on
    seconds: float = 0.0  # over all sessions
    tokens: int = 0
    best_loss: float | None = None  # of the validations so far
    validations_without_gain: int = 0
    finished: bool = False
    on_schedule: bool | None = None  # whether the weights of this step belong to the average; None: an old checkpoint

    def limits_reached(self, config: TrainConfig) -> list[tuple[str, float]]:
        """The limits of the budget that are reached; the first one ends the run."""
        used = {**self.used(), "patience": self.validations_without_gain}
        limits = {name: getattr(config, name) for name in used}
        return [(name, limit) for name, limit in limits.items() if limit is not None and used[name] >= limit]

    def share_done(self, config: TrainConfig) -> float | None:
        """The share of the budget that is used, by the limit that is nearest; patience cannot be foreseen."""
        limits = {name: getattr(config, name) for name in self.used()}
        shares = [used / limits[name] for name, used in self.used().items() if limits[name]]
        return min(1.0, max(shares)) if shares else None

    def used(self) -> dict[str, float]:
        return {"steps": self.step, "epochs": self.epoch, "minutes": self.seconds / 60}
