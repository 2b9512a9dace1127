"""Snapshots of a training: the weights of one model at several of its steps, in float16."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig
from pellucid.errors import UserError, nearest
from pellucid.model_directory.directory import Metadata, ModelDirectory
from pellucid.model_directory.find import PREVIOUS_MODEL, SHIPPED
from pellucid.model_directory.weights import CONFIG, write_config
from pellucid.storage import new_directory, write_file

FOLDER = "snapshots"  # in a run directory
SAMPLE = "sample.json"
FILE = re.compile(r"step-(\d+)\.safetensors")
MODELS = ("model", PREVIOUS_MODEL)  # the names that the model of a run may have


class Sample(NamedTuple):
    """A pair that was held out from the training, to watch the model learn it."""

    text: str
    target_text: str
    source: str | None = None  # languages
    target: str | None = None


class Snapshots:
    """The folder `snapshots` of a run: a config, tokenizers and languages, and a file of weights for each step.

    With the weights of any step it is a model directory, so it can be read while the run goes on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def find(cls, run: Path | str) -> Self:
        """The snapshots of a run that ships with the package, by its name, or of a run directory."""
        found = cls.beside(Path(run)) or cls.beside(SHIPPED / str(run))
        if found is None:
            remedy = f"train with --set snapshots=50, or take a run that ships: {', '.join(cls.shipped())}"
            raise UserError("has no snapshots", str(run), remedy)
        return found

    @classmethod
    def beside(cls, place: Path) -> Self | None:
        """The snapshots in a run directory, or of the run to which a model directory belongs; None without any."""
        places = [place, place.parent] if place.name in MODELS else [place]
        return next((cls(each / FOLDER) for each in places if cls(each / FOLDER).steps), None)

    @classmethod
    def shipped(cls) -> dict[str, Self]:
        """The snapshots that come with the package, by the name of their run."""
        return {path.parent.name: cls(path) for path in sorted(SHIPPED.glob(f"*/{FOLDER}"))}

    def create(self, config: ModelConfig, metadata: Metadata, sample: Sample | None = None) -> None:
        """Write what the snapshots have in common, unless it is there."""
        with new_directory(self.path, remedy="free some space there") as draft:
            write_config(draft, config)
            metadata.write(draft)
            if sample is not None:
                (draft / SAMPLE).write_text(json.dumps(sample._asdict()) + "\n", encoding="utf-8")

    @property
    def run(self) -> str:
        """The name of the run."""
        return self.path.resolve().parent.name

    @property
    def sample(self) -> Sample | None:
        """A held-out pair, if the run kept one."""
        path = self.path / SAMPLE
        try:
            return Sample(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
        except (OSError, ValueError, TypeError):
            raise UserError("is damaged", str(path), "delete it, and give a sentence of your own") from None

    @property
    def exists(self) -> bool:
        return (self.path / CONFIG).is_file()

    def save(self, step: int, weights: Mapping[str, NDArray[Any]], remedy: str) -> None:
        """Write the weights of a step, whole or not at all."""
        from safetensors.numpy import save

        write_file(self._file(step), save({name: _half(value) for name, value in weights.items()}), remedy)

    @property
    def steps(self) -> list[int]:
        """The steps of which there are weights, in order."""
        files = self.path.iterdir() if self.exists else ()
        return sorted(int(found[1]) for path in files if (found := FILE.fullmatch(path.name)))

    def at(self, step: int) -> ModelDirectory:
        """The model as it was at a step."""
        if not self._file(step).is_file():
            what = f"no snapshot was kept at step {step}"
            raise UserError(what, "step", nearest(str(step), map(str, self.steps)))
        return ModelDirectory(self.path, self._file(step).name)

    def delete_after(self, step: int) -> None:
        """Delete the snapshots of the steps that a resumed run repeats."""
        for each in self.steps:
            if each > step:
                self._file(each).unlink()

    def _file(self, step: int) -> Path:
        return self.path / f"step-{step:09d}.safetensors"


def _half(value: NDArray[Any]) -> NDArray[Any]:
    """Rounded to float16; unchanged if a number is too large for it."""
    with np.errstate(over="ignore"):
        half = value.astype(np.float16)
    return np.ascontiguousarray(half if np.isfinite(half).all() else value)
