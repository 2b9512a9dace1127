"""The budget of a run, and the settings that may change when it is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pellucid.errors import Problem, UserError
from pellucid.training.run.settings import TABLE_KEYS, Settings

DEFAULT_MINUTES = 30.0  # where no limit is given
LIMITS = ("steps", "epochs", "minutes", "patience")
INTERVALS = ("validate_every", "validate_pairs", "checkpoint_every", "snapshots")
# With any other setting changed it would be another run.
CHANGEABLE = (*LIMITS, *INTERVALS, "device", "threads", "learning_rate", "warmup", "cooldown", "clip", "average")


def check_budget(settings: Settings) -> None:
    """Raise an error if the budget does not fit the schedule, or the pairs do not fit the model."""
    train, model = settings.train, settings.model
    if train.steps is None and train.epochs is None:
        needs_end = {"schedule": train.schedule == "cosine", "cooldown": train.cooldown > 0}
        if any(needs_end.values()):
            what, remedy = "needs a last step", "give steps or epochs"
            raise UserError(Problem(what, name, remedy) for name, needed in needs_end.items() if needed)
    known = train.steps, train.epochs, train.minutes
    if train.snapshots > 1 and train.patience is not None and not any(limit is not None for limit in known):
        remedy = "give steps, epochs or minutes beside patience: snapshots are spread evenly over them"
        raise UserError("the length of the run is not known before", "snapshots", remedy)
    if model.max_positions is not None and settings.data.longest > model.max_positions:
        what = f"pairs of {settings.data.longest} tokens, but the learned positions end at {model.max_length}"
        raise UserError(what, "longest", f"set longest={model.max_length}, or raise max_length")


def with_budget(settings: Settings) -> Settings:
    """The settings with a default limit if they have none. config.toml does not have it: any other replaces it."""
    if any(getattr(settings.train, name) is not None for name in LIMITS):
        return settings
    return replace(settings, train=settings.train.changed(minutes=DEFAULT_MINUTES))


def changed_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings of a resumed run with changes to its TrainConfig."""
    known = [name for names in TABLE_KEYS.values() for name in names]
    fixed = [name for name in changes if name in known and name not in CHANGEABLE]
    if fixed:
        remedy = f"these can be changed: {', '.join(CHANGEABLE)}"
        raise UserError(Problem("cannot change in the middle of a run", name, remedy) for name in fixed)
    if changes:
        settings = replace(settings, train=settings.train.changed(**changes))
        check_budget(settings)
    return settings
