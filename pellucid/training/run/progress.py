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
    cooldown_from: int | None = None  # the step after which the learning rate of a run limited by minutes falls to 0
    cooldown_steps: int = 0  # over so many steps

    def limits_reached(self, config: TrainConfig) -> list[tuple[str, float]]:
        """The limits of the budget that are reached; the first one ends the run."""
        used = {**self.used(), "patience": self.validations_without_gain}
        if config.minutes is not None and self.cooldown_share_left() == 0:
            used["minutes"] = max(used["minutes"], config.minutes)  # the learning rate is 0: nothing is left to do
        limits = {name: getattr(config, name) for name in used}
        return [(name, limit) for name, limit in limits.items() if limit is not None and used[name] >= limit]

    def should_cool_down(self, config: TrainConfig) -> bool:
        """Whether the learning rate should begin to fall now, in a run of which only the minutes are known."""
        if config.minutes is None or config.steps is not None or config.epochs is not None or not config.cooldown_share:
            return False
        return self.cooldown_from is None and self.seconds >= (1 - config.cooldown_share) * 60 * config.minutes

    def begin_cooldown(self, config: TrainConfig) -> None:
        """Let the learning rate fall from here on, over as many steps as the remaining time is likely to allow."""
        self.cooldown_from = self.step
        self.cooldown_steps = max(1, round(self.step * config.cooldown_share / (1 - config.cooldown_share)))

    def cooldown_share_left(self) -> float:
        """The factor on the learning rate: 1 until the cooldown begins, 0 at its end."""
        if self.cooldown_from is None:
            return 1.0
        return max(0.0, 1 - (self.step - self.cooldown_from) / self.cooldown_steps)

    def share_done(self, config: TrainConfig) -> float | None:
        """The share of the budget that is used, by the limit that is nearest; patience cannot be foreseen."""
        limits = {name: getattr(config, name) for name in self.used()}
        shares = [used / limits[name] for name, used in self.used().items() if limits[name]]
        return min(1.0, max(shares)) if shares else None

    def used(self) -> dict[str, float]:
        return {"steps": self.step, "epochs": self.epoch, "minutes": self.seconds / 60}
