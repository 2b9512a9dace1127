"""Checkpoints: which weights enter the average, and files that are damaged, missing, or cut short by a full disk."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from safetensors.torch import load_file

from pellucid.errors import UserError
from pellucid.training.data import prepare_data
from pellucid.training.loop import resume_run, start_run
from pellucid.training.run import Run, Settings

from .conftest import StopAt, model_bytes


def test_a_run_whose_checkpoints_are_gone_says_so(settings: Settings, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 3, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    shutil.rmtree(run.checkpoints)
    with pytest.raises(UserError, match=r"checkpoints: is missing .*another --out"):
        resume_run(run)


def test_a_checkpoint_by_signal_never_enters_the_average(settings: Settings, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 13, lambda: os.kill(os.getpid(), signal.SIGINT)))
    assert [path.stem for path in sorted(run.checkpoints.glob("step-*"))] == ["step-000000005", "step-000000010"]


def test_a_snapshot_stays_one_whatever_is_scheduled_from_now_on(settings: Settings, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 15, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    resume_run(run, {"checkpoint_every": 10})
    kept = [path.stem for path in sorted(run.checkpoints.glob("step-*"))]
    assert kept == ["step-000000015", "step-000000020", "step-000000024"]


def test_a_full_disk_keeps_the_last_checkpoint(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "run")
    calls = []

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) > 6:
            raise OSError(28, "No space left on device")

    prepare_data(settings)  # the store of the pairs is synced too, and is there before the disk is full
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        start_run(run, settings)
    monkeypatch.undo()
    assert not list(run.checkpoints.glob(".*.draft"))
    assert load_file(run.checkpoints / "last.safetensors")


def test_a_damaged_checkpoint_can_be_deleted_and_the_run_goes_on_from_the_one_before(
    trained: Run, settings: Settings, tmp_path: Path
) -> None:
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 13, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    last = run.checkpoints / "last.safetensors"
    last.write_bytes(last.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"last.safetensors: cannot be read.*delete it, and --resume continues"):
        resume_run(run)
    last.unlink()
    resume_run(run)
    assert model_bytes(run) == model_bytes(trained)
    assert [entry["step"] for entry in run.history() if "loss" in entry] == list(range(1, 25))

    for name in ("last", "previous"):
        (run.checkpoints / f"{name}.safetensors").write_bytes(b"")
    last.unlink()
    with pytest.raises(UserError, match=r"previous.safetensors: cannot be read.*start a new run"):
        resume_run(run)


def test_a_damaged_file_of_the_average_is_named_and_can_be_deleted(trained: Run) -> None:
    damaged = sorted(trained.checkpoints.glob("step-*"))[-1]
    damaged.write_bytes(b"x")
    shutil.rmtree(trained.model)
    with pytest.raises(UserError, match=f"{damaged.name}: cannot be read.*delete it"):
        resume_run(trained)
    damaged.unlink()
    assert resume_run(trained).model.exists()
