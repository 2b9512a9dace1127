"""A run directory: config.toml, log.jsonl, checkpoints/, curves.png, model/."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.storage import lock, write_file
from pellucid.text.tokenizer import Tokenizers
from pellucid.training.settings import Settings, read_toml

CONFIG, LOG, LOCK = "config.toml", "log.jsonl", ".lock"
WRITE_REMEDY = "free some space, then go on with --resume: what was saved before is still there"


class Run:
    """One training and all that it leaves behind."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    @property
    def model(self) -> Path:
        """The model directory, there once the run has ended."""
        return self.directory / "model"

    @property
    def checkpoints(self) -> Path:
        return self.directory / "checkpoints"

    @property
    def curves(self) -> Path:
        return self.directory / "curves.png"

    def create(
        self,
        settings: Settings,
        tokenizers: Tokenizers,
        earlier: ModelDirectory | None = None,
    ) -> None:
        """Make the directory; one that holds a run is left alone. The config comes last: with it, it is a run. What the
        model it starts from had learned is kept: that model may be gone when the run comes to its end."""
        self.check_new()
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            tokenizers.save(self.checkpoints)
            if earlier is not None:
                earlier.metadata.write(self.checkpoints)
            self.write(settings)
        except OSError as error:
            raise UserError(
                f"cannot be written: {error.strerror}", str(self.directory), "choose another --out"
            ) from None

    def check_new(self) -> None:
        """That a run can begin here."""
        if (self.directory / CONFIG).exists():
            remedy = f"go on with --resume {self.directory}, or choose another --out"
            raise UserError("there is a run already", str(self.directory), remedy)
        left = [
            path
            for path in (self.model, self.curves, self.directory / LOG, *self.checkpoints.glob("*.safetensors"))
            if path.exists()
        ]
        if left:
            what = f"holds {left[0].relative_to(self.directory)} of something else, which a run would replace"
            raise UserError(what, str(self.directory), "choose another --out")
        there = next(path for path in (self.directory, *self.directory.absolute().parents) if path.exists())
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise UserError(
                f"cannot be made: {there} is not a writable folder", str(self.directory), "choose another --out"
            )

    def write(self, settings: Settings) -> None:
        """Write config.toml, whole or not at all."""
        write_file(self.directory / CONFIG, settings.to_toml(), WRITE_REMEDY)

    def settings(self) -> Settings:
        if not (self.directory / CONFIG).exists():
            raise UserError("there is no run here", str(self.directory), "give the --out of an earlier train")
        tables = read_toml(self.directory / CONFIG)
        if "data" not in tables:
            raise UserError("is damaged: [data] is missing", str(self.directory / CONFIG), "begin a new run")
        start_from = tables["data"].pop("start_from", None)  # the run's own table says what the model is like
        return replace(Settings.of(tables), start_from=start_from)

    def locked(self) -> AbstractContextManager[None]:
        """Only one process may train in a run directory."""
        wait = "wait for it to end, or choose another --out"
        busy = UserError("another process is training here", str(self.directory), wait)
        return lock(self.directory / LOCK, busy, "ask its owner, or begin a run of your own with --start-from")

    def log(self, **entry: Any) -> None:
        """Append a line to log.jsonl."""
        with (self.directory / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def history(self) -> list[dict[str, Any]]:
        """The lines of log.jsonl."""
        path = self.directory / LOG
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def forget_after(self, step: int) -> None:
        """Drop log lines of steps that were not saved (the run will come to them again), and one cut short."""
        path = self.directory / LOG
        if not path.exists():
            return
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line + "\n")
            except ValueError:
                break
        write_file(path, "".join(kept), WRITE_REMEDY)
