"""A run directory: config.toml, log.jsonl, checkpoints/, curves.png, model/."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.find import PREVIOUS_MODEL
from pellucid.model_directory.snapshots import FOLDER as SNAPSHOTS
from pellucid.model_directory.snapshots import Snapshots
from pellucid.storage import lock, write_file
from pellucid.text.tokenizer import Tokenizers
from pellucid.training.run.settings import Settings, read_toml

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIG, LOG, LOCK = "config.toml", "log.jsonl", ".lock"
WRITE_REMEDY = "free some space, then continue with --resume: the last checkpoint is intact"


class Run:
    """A training run and the files it writes."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from pellucid.training.run.summary import run_page

        return run_page(self)

    def plot(self) -> Figure:
        """Loss, validation scores and learning rate against minutes (matplotlib)."""
        from pellucid.training.run.summary import curves

        if find_spec("matplotlib") is None:
            raise UserError("matplotlib is not installed", "plot", "pip install 'pellucid[plot]'")
        if (drawn := curves(self)) is None:
            raise UserError("nothing was trained yet", str(self.directory), "wait for its first step")
        return drawn

    @property
    def exists(self) -> bool:
        """Whether a run has begun here."""
        return (self.directory / CONFIG).exists()

    @property
    def model(self) -> Path:
        """The model directory, which exists once the run has ended."""
        return self.directory / "model"

    @property
    def previous_model(self) -> Path:
        """The model of a shorter budget, until the run ends again."""
        return self.directory / PREVIOUS_MODEL

    @property
    def checkpoints(self) -> Path:
        return self.directory / "checkpoints"

    @property
    def snapshots(self) -> Snapshots:
        """The weights of some steps, from which one watches the model learn."""
        return Snapshots(self.directory / SNAPSHOTS)

    @property
    def curves(self) -> Path:
        return self.directory / "curves.png"

    def create(self, settings: Settings, tokenizers: Tokenizers) -> None:
        """Make the directory. config.toml is written last: with it, the directory holds a run.

        The metadata of the model to start from is copied, as that model may be gone when the run ends.
        """
        self.check_new()
        metadata = ModelDirectory(settings.start_from).metadata if settings.start_from else None
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            tokenizers.save(self.checkpoints)
            if metadata is not None:
                metadata.write(self.checkpoints)
            self.write(settings)
        except OSError as error:
            what = f"cannot be written: {error.strerror}"
            raise UserError(what, str(self.directory), "choose another --out") from None

    def check_new(self) -> None:
        """Raise an error if no run can begin here."""
        if self.exists:
            remedy = f"continue it with --resume {self.directory} or --auto-resume, or choose another --out"
            raise UserError("there is a run already", str(self.directory), remedy)
        files = (
            self.model,
            self.curves,
            self.directory / LOG,
            self.snapshots.path,
            *self.checkpoints.glob("*.safetensors"),
        )
        existing = [path for path in files if path.exists()]
        if existing:
            what = f"holds {existing[0].relative_to(self.directory)} of something else, which a run would replace"
            raise UserError(what, str(self.directory), "choose another --out")
        parent = next(path for path in (self.directory, *self.directory.absolute().parents) if path.exists())
        if not (parent.is_dir() and os.access(parent, os.W_OK)):
            what = f"cannot be made: {parent} is not a writable folder"
            raise UserError(what, str(self.directory), "choose another --out")

    def write(self, settings: Settings) -> None:
        """Write config.toml."""
        write_file(self.directory / CONFIG, settings.to_toml(), WRITE_REMEDY)

    def settings(self) -> Settings:
        """Read config.toml."""
        if not self.exists:
            raise UserError("there is no run here", str(self.directory), "give the --out of an earlier train")
        tables = read_toml(self.directory / CONFIG)
        if "data" not in tables:
            raise UserError("is damaged: [data] is missing", str(self.directory / CONFIG), "begin a new run")
        start_from = tables["data"].pop("start_from", None)  # [model] has the shape already
        tables["data"].setdefault("augment", "none")  # a run that began before these settings goes on without them
        tables.get("train", {}).setdefault("cooldown_share", 0.0)
        return replace(Settings.of(tables), start_from=start_from)

    def locked(self) -> AbstractContextManager[None]:
        """Only one process may train in a run directory."""
        wait = "wait for it to end, or choose another --out"
        busy = UserError("another process is training here", str(self.directory), wait)
        return lock(self.directory / LOCK, busy, "ask its owner, or begin a run of your own with --start-from")

    def set_model_aside(self) -> None:
        """Keep the model of a shorter budget under another name until the next one replaces it."""
        if self.model.exists():
            shutil.rmtree(self.previous_model, ignore_errors=True)
            self.model.rename(self.previous_model)

    def log(self, **entry: Any) -> None:
        """Append a line to log.jsonl."""
        with (self.directory / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def history(self) -> list[dict[str, Any]]:
        """The lines of log.jsonl, up to one that was cut short."""
        path = self.directory / LOG
        entries = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                entries.append(json.loads(line))
            except ValueError:
                break
        return entries

    def truncate_log(self, step: int) -> None:
        """Drop the lines of steps after the last checkpoint, which the run repeats, and a line that was cut short."""
        path = self.directory / LOG
        if not path.exists():
            return
        lines = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["step"] <= step:
                    lines.append(line + "\n")
            except ValueError:
                break
        write_file(path, "".join(lines), WRITE_REMEDY)
