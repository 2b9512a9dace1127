"""Saving a run so that nothing saved is ever lost: a file is written whole under another name, then takes its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from pellucid.errors import UserError
from pellucid.storage import write_file
from pellucid.training.run import WRITE_REMEDY


@dataclass
class Progress:
    """How far a run has come. With the weights and the optimiser's state this is all that a run needs to go on."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # of the epoch: the next one to train on
    seconds: float = 0.0  # over all sessions
    tokens: int = 0
    best_loss: float | None = None  # of the validations so far
    validations_without_gain: int = 0
    finished: bool = False
    on_schedule: bool | None = None  # whether the weights of this step belong into the average; None: an old checkpoint


@dataclass(frozen=True)
class Checkpoint:
    """Everything that changes while a run trains."""

    progress: Progress
    threads: int
    data: str  # digest of the pairs it learns from
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]  # "exp_avg/NAME", "exp_avg_sq/NAME", "step/NAME"
    ema: dict[str, Tensor]  # the moving average, if there is one


class Checkpoints:
    """The folder of a run's checkpoints.

    `last.safetensors` is the whole state, and `previous.safetensors` the one before it, should a disk damage the last.
    `step-N.safetensors` are weights alone, for the average; they are written before the state, so that the state never
    knows of one that is missing.
    """

    def __init__(self, directory: Path, keep: int) -> None:
        self.directory = directory
        self.keep = keep

    def save(self, checkpoint: Checkpoint, snapshot: bool) -> None:
        """Save the state, and if `snapshot` the weights for the average (a stop by a signal leaves none)."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if snapshot:
            _write(self._snapshot(checkpoint.progress.step), save(_plain(checkpoint.weights)))
        tensors = {f"weights/{name}": value for name, value in checkpoint.weights.items()}
        tensors |= {f"optimizer/{name}": value for name, value in checkpoint.optimizer.items()}
        tensors |= {f"ema/{name}": value for name, value in checkpoint.ema.items()}
        about = {
            "progress": json.dumps(asdict(checkpoint.progress)),
            "threads": str(checkpoint.threads),
            "data": checkpoint.data,
        }
        new = self.directory / "new.safetensors"
        _write(new, save(_plain(tensors), metadata=about))
        if self._last.exists():
            self._last.replace(self._previous)
        new.replace(self._last)
        for old in self.snapshots()[: -self.keep]:
            old.unlink()

    def load(self) -> Checkpoint | None:
        """The last state (the one before it where the last is gone), or None before the first was saved."""
        path = next((path for path in (self._last, self._previous) if path.exists()), None)
        if path is None:
            return None
        try:
            with safe_open(path, framework="pt") as file:
                about = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            progress = Progress(**json.loads(about["progress"]))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            spare = path == self._last and self._previous.exists()
            remedy = "delete it, and the run goes on from the checkpoint before it" if spare else "start the run anew"
            raise UserError(f"cannot be read: {error}", str(path), f"the file is damaged: {remedy}") from None
        groups = [_below(tensors, prefix) for prefix in ("weights/", "optimizer/", "ema/")]
        return Checkpoint(progress, int(about["threads"]), about["data"], *groups)

    def snapshots(self) -> list[Path]:
        """Weights of the last scheduled checkpoints, oldest first."""
        return sorted(self.directory.glob("step-*.safetensors"))

    def average(self) -> dict[str, Tensor]:
        """The mean of the kept snapshots, summed in float64."""
        files = self.snapshots()[-self.keep :]
        total: dict[str, Tensor] = {}
        for path in files:
            for name, value in _read(path).items():
                total[name] = total[name] + value.double() if name in total else value.double()
        return {name: (value / len(files)).float() for name, value in total.items()}

    def save_best(self, weights: Mapping[str, Tensor]) -> None:
        """The weights with the lowest validation loss so far."""
        self.directory.mkdir(parents=True, exist_ok=True)
        _write(self._best, save(_plain(weights)))

    def best(self) -> dict[str, Tensor] | None:
        return _read(self._best) if self._best.exists() else None

    def forget_after(self, step: int) -> None:
        """Drop snapshots that a lost state knew of: the run will come to them again."""
        for path in self.snapshots():
            if int(path.stem.removeprefix("step-")) > step:
                path.unlink()

    @property
    def _last(self) -> Path:
        return self.directory / "last.safetensors"

    @property
    def _previous(self) -> Path:
        return self.directory / "previous.safetensors"

    @property
    def _best(self) -> Path:
        return self.directory / "best.safetensors"

    def _snapshot(self, step: int) -> Path:
        return self.directory / f"step-{step:09d}.safetensors"


def _write(path: Path, content: bytes) -> None:
    write_file(path, content, WRITE_REMEDY)


def _read(path: Path) -> dict[str, Tensor]:
    """Weights that the model can be made without."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"cannot be read: {error}", str(path), "the file is damaged: delete it, and --resume") from None


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}


def _below(tensors: dict[str, Any], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def optimizer_state(optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of every parameter as named tensors (a pickle would hold the same, and could hold anything else)."""
    return {
        f"{kind}/{name}": value
        for name, parameter in parameters.items()
        for kind, value in optimizer.state[parameter].items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, Tensor], state: Mapping[str, Tensor]
) -> None:
    """Give every parameter its state back."""
    for full, value in state.items():
        kind, _, name = full.partition("/")
        optimizer.state[parameters[name]][kind] = value.to(parameters[name].device)
