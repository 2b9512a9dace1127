"""Checkpoints: which weights enter the average, and files that are damaged, missing, or cut short by a full disk."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file, save_file

from pellucid.errors import UserError
from pellucid.training.data import prepare_data
from pellucid.training.loop import resume_run, start_run
from pellucid.training.run import Run, Settings
from pellucid.training.run.tensor_file import read_tensors

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


def test_with_a_damaged_checkpoint_a_run_says_so_and_goes_on_from_the_one_before(
    trained: Run, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 13, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    last, previous = (run.checkpoints / f"{name}.safetensors" for name in ("last", "previous"))
    intact = previous.read_bytes()
    last.write_bytes(flipped(last.read_bytes(), 8 * 5000))
    with pytest.MonkeyPatch.context() as patch:  # the disk is full when the next one is written
        patch.setattr(Path, "replace", full)
        with pytest.raises((UserError, OSError), match="No space left"):
            resume_run(run, {"checkpoint_every": 1})
    assert previous.read_bytes() == intact  # a damaged one does not take its place
    capsys.readouterr()
    resume_run(run)
    said = capsys.readouterr().err
    assert "last.safetensors: cannot be read: its content is not that of its checksum; the checkpoint before" in said
    assert model_bytes(run) == model_bytes(trained)
    assert [entry["step"] for entry in run.history() if "loss" in entry] == list(range(1, 25))

    for path in (last, previous):
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"previous.safetensors: cannot be read.*begin a new run"):
        resume_run(run)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def flipped(content: bytes, bit: int) -> bytes:
    """The content with one bit changed."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_every_flipped_bit_of_a_checkpoint_is_noticed(trained: Run, tmp_path: Path) -> None:
    random = Random(1)
    for path in sorted(trained.checkpoints.glob("*.safetensors")):
        content, damaged = path.read_bytes(), tmp_path / path.name
        header = 8 * (8 + int.from_bytes(content[:8], "little"))
        bits = [63, *(random.randrange(size) for size in (header, 8 * len(content)) for _ in range(50))]
        for bit in bits:
            damaged.write_bytes(flipped(content, bit))
            if _is_of_the_name(content, bit):  # then nothing says that there is a checksum, and all the rest is intact
                continue
            with pytest.raises(UserError, match=f"{path.name}: cannot be read"):
                read_tensors(damaged, "")
        damaged.write_bytes(content)
        assert read_tensors(damaged, "")[0].keys() == load_file(path).keys()


def _is_of_the_name(content: bytes, bit: int) -> bool:
    place = content.index(b'"sha256":"')
    return place <= bit // 8 < place + len('"sha256":"') or bit // 8 == place + len('"sha256":"') + 64


def test_a_checkpoint_of_an_older_version_is_read_unchecked(tmp_path: Path) -> None:
    save_file({"weight": torch.arange(3.0)}, tmp_path / "old.safetensors")
    assert read_tensors(tmp_path / "old.safetensors", "")[0]["weight"].tolist() == [0, 1, 2]


def test_a_damaged_file_of_the_average_is_named_and_can_be_deleted(trained: Run) -> None:
    damaged = sorted(trained.checkpoints.glob("step-*"))[-1]
    damaged.write_bytes(b"x")
    shutil.rmtree(trained.model)
    with pytest.raises(UserError, match=f"{damaged.name}: cannot be read.*delete it"):
        resume_run(trained)
    damaged.unlink()
    assert resume_run(trained).model.exists()
