"""Checkpoints: the whole state of a run in a file, written so that a crash never damages the last one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from pellucid.errors import UserError
from pellucid.training.run.directory import WRITE_REMEDY
from pellucid.training.run.progress import Progress
from pellucid.training.run.tensor_file import read_tensors, write_tensors


@dataclass(frozen=True)
class Checkpoint:
    """Everything that changes while a run trains."""

    progress: Progress
    threads: int
    data: str  # digest of the training pairs
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]  # "exp_avg/NAME", "exp_avg_sq/NAME", "step/NAME"
    ema: dict[str, Tensor]  # the moving average, if there is one


class Checkpoints:
    """The folder of a run's checkpoints.

    `last.safetensors` is the whole state, and `previous.safetensors` the one before it, which is loaded if the last is
    damaged.
    `step-N.safetensors` are weights alone; those of the last `averaged` steps are averaged at the end. They are written
    before the state of their step, so that none are missing when a run is resumed.
    `best.safetensors` are the weights with the lowest validation loss.
    """

    def __init__(self, directory: Path, averaged: int) -> None:
        self.directory, self.averaged = directory, averaged
        names = ("last", "previous", "best")
        self._last, self._previous, self._best = (directory / f"{name}.safetensors" for name in names)
        self.damage = ""  # what is wrong with the last checkpoint, if the one before it was loaded

    def save(self, checkpoint: Checkpoint, averaged: bool) -> None:
        """Save the state, and with `averaged` the weights for the average (not when a signal stops the run)."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if averaged:
            _write(self.directory / f"step-{checkpoint.progress.step:09d}.safetensors", checkpoint.weights)
        groups = {"weights": checkpoint.weights, "optimizer": checkpoint.optimizer, "ema": checkpoint.ema}
        tensors = {f"{group}/{name}": value for group, values in groups.items() for name, value in values.items()}
        about = {
            "progress": json.dumps(asdict(checkpoint.progress)),
            "threads": str(checkpoint.threads),
            "data": checkpoint.data,
        }
        new = self.directory / "new.safetensors"
        _write(new, tensors, about)
        if self._last.exists() and not self.damage:
            self._last.replace(self._previous)
        new.replace(self._last)
        self.damage = ""
        for old in self.averaged_files()[: -self.averaged]:
            old.unlink()

    def load(self) -> Checkpoint | None:
        """The last state, or the one before it if the last is damaged or was deleted; None if there is neither."""
        if self._last.exists():
            try:
                return _load(self._last)
            except UserError as error:
                if not self._previous.exists():
                    raise
                self.damage = "; ".join(f"{problem.where}: {problem.what}" for problem in error.problems)
        return _load(self._previous) if self._previous.exists() else None

    def averaged_files(self) -> list[Path]:
        """The files of the weights for the average, oldest first."""
        return sorted(self.directory.glob("step-*.safetensors"))

    def average(self) -> dict[str, Tensor]:
        """The mean of the last of these weights, computed in float64; empty if there are none."""
        files = self.averaged_files()[-self.averaged :]
        total: dict[str, Tensor] = {}
        for path in files:
            for name, value in _read(path).items():
                total[name] = total[name] + value.double() if name in total else value.double()
        return {name: (value / len(files)).float() for name, value in total.items()}

    def save_best(self, weights: Mapping[str, Tensor]) -> None:
        """The weights with the lowest validation loss so far."""
        self.directory.mkdir(parents=True, exist_ok=True)
        _write(self._best, weights)

    def best(self) -> dict[str, Tensor] | None:
        return _read(self._best) if self._best.exists() else None

    def delete_averaged_after(self, progress: Progress, checkpoint_every: int) -> None:
        """Delete the weights of steps that a resumed run repeats, and of its last step if that was not scheduled."""
        on_schedule = progress.on_schedule
        if on_schedule is None:
            on_schedule = progress.step % checkpoint_every == 0
        last = progress.step if progress.finished or on_schedule else progress.step - 1
        for path in self.averaged_files():
            if int(path.stem.removeprefix("step-")) > last:
                path.unlink()


def _load(path: Path) -> Checkpoint:
    remedy = "the file is damaged: begin a new run"
    tensors, about = read_tensors(path, remedy)
    groups: dict[str, dict[str, Tensor]] = {"weights": {}, "optimizer": {}, "ema": {}}
    try:
        for full_name, value in tensors.items():
            group, _, name = full_name.partition("/")
            groups[group][name] = value
        progress = Progress(**json.loads(about["progress"]))
        return Checkpoint(progress, int(about["threads"]), about["data"], *groups.values())
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"cannot be read: {error!r}", str(path), remedy) from None


def _write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    write_tensors(path, tensors, metadata or {}, WRITE_REMEDY)


def _read(path: Path) -> dict[str, Tensor]:
    """Weights for the average, or of the best step, without which the model can still be made."""
    return read_tensors(path, "the file is damaged: delete it, then --resume")[0]


def optimizer_state(optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of every parameter as named tensors, so that no pickle is needed."""
    return {
        f"{kind}/{name}": value
        for name, parameter in parameters.items()
        for kind, value in optimizer.state[parameter].items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor], state: Mapping[str, Tensor]
) -> None:
    """Restore the state of every parameter."""
    for full, value in state.items():
        kind, _, name = full.partition("/")
        optimizer.state[parameters[name]][kind] = value.to(parameters[name].device)
