"""A run that is stopped, killed, damaged or given more time: it goes on to the same weights, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pellucid.config import TrainConfig
from pellucid.errors import UserError
from pellucid.model_directory.find import find_model
from pellucid.training.loop import resume_run, start_run
from pellucid.training.run import Run, Settings, budget
from pellucid.training.run.progress import Progress

from .conftest import StopAt, model_bytes


@pytest.mark.parametrize("step", [1, 5, 13, 23])
def test_stopped_by_a_signal_and_resumed_the_weights_are_bit_identical(
    trained: Run, settings: Settings, tmp_path: Path, step: int
) -> None:
    run = Run(tmp_path / "stopped")
    start_run(run, settings, StopAt(settings.train, step, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    assert not run.model.exists()
    resume_run(run)
    assert model_bytes(run) == model_bytes(trained)
    steps = [entry["step"] for entry in run.history() if "loss" in entry]
    assert steps == list(range(1, 25))


@pytest.mark.parametrize("step", [3, 13])  # before the first scheduled checkpoint, and between two
def test_a_stopped_run_can_be_ended_as_it_is_and_given_more_time_after_all(
    trained: Run, settings: Settings, tmp_path: Path, step: int
) -> None:
    run = Run(tmp_path / "stopped")
    start_run(run, settings, StopAt(settings.train, step, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    resume_run(run, {"minutes": 0})
    early = model_bytes(run)
    if step == 3:
        saved = load_file(run.checkpoints / "last.safetensors")
        model = load_file(run.model / "model.safetensors")
        assert model.keys() == {name.removeprefix("weights/") for name in saved if name.startswith("weights/")}
        assert all(torch.equal(value, saved[f"weights/{name}"]) for name, value in model.items())
    resume_run(run, {"minutes": 60})
    assert early != model_bytes(run) == model_bytes(trained)


def test_a_closed_terminal_saves_unless_the_run_was_told_to_ignore_it(settings: Settings, tmp_path: Path) -> None:
    def close() -> None:  # a shell and the kernel both tell
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)

    hang_up = StopAt(settings.train, 3, close)
    saved = start_run(Run(tmp_path / "saved"), settings, hang_up)
    assert not saved.model.exists()
    assert (saved.checkpoints / "last.safetensors").exists()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert start_run(Run(tmp_path / "nohup"), settings, hang_up).model.exists()
    finally:
        signal.signal(signal.SIGHUP, before)


OPTIONS = [{"ema": 0.9}, {"accumulate": 3}, {"bpe_dropout": 0.2}, {"optimizer": "adamw"}]
OPTIONS += [{"precision": "bfloat16"}, {"r_drop": 5.0}]


@pytest.mark.parametrize("change", OPTIONS)
def test_resume_is_exact_whatever_the_options(settings: Settings, tmp_path: Path, change: dict[str, object]) -> None:
    settings = replace(settings, train=settings.train.changed(**change))
    whole = start_run(Run(tmp_path / "whole"), settings)
    run = Run(tmp_path / "stopped")
    start_run(run, settings, StopAt(settings.train, 11, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    resume_run(run)
    assert model_bytes(run) == model_bytes(whole)


def test_resume_is_exact_with_augmentation(settings: Settings, tmp_path: Path) -> None:
    named = settings.data.changed(source_language="en", target_language="it")
    whole = start_run(Run(tmp_path / "whole"), replace(settings, data=named))
    assert len(whole.settings().data.augmentations) > 10
    run = Run(tmp_path / "stopped")
    stop = StopAt(settings.train, 11, lambda: os.kill(os.getpid(), signal.SIGTERM))
    start_run(run, replace(settings, data=named), stop)
    resume_run(run)
    plain = start_run(Run(tmp_path / "plain"), replace(settings, data=named.changed(augment="none")))
    assert model_bytes(run) == model_bytes(whole) != model_bytes(plain)


@pytest.mark.parametrize("stop", [9, 11, 14])
def test_a_run_limited_by_minutes_comes_to_rest(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """The clock says at step 10 that half of the time is over: the rate falls from there and is 0 ten steps later."""
    monkeypatch.setattr(Progress, "should_cool_down", lambda self, _: self.step == 10)
    train = settings.train.changed(steps=None, minutes=60, cooldown_share=0.5, schedule="constant", warmup=1)
    settings = replace(settings, train=train)
    whole = start_run(Run(tmp_path / "whole"), settings)
    rates = {entry["step"]: entry["learning_rate"] for entry in whole.history() if "loss" in entry}
    assert list(rates) == list(range(1, 21))
    assert [rates[step] for step in range(10, 21)] == pytest.approx([5e-3 * n / 10 for n in range(10, -1, -1)])
    run = Run(tmp_path / "stopped")
    start_run(run, settings, StopAt(settings.train, stop, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    resume_run(run)
    assert model_bytes(run) == model_bytes(whole)


def test_when_a_run_cools_down() -> None:
    minutes = TrainConfig(minutes=10, cooldown_share=0.3)
    assert not Progress(step=700, seconds=419).should_cool_down(minutes)
    due = Progress(step=700, seconds=420)
    assert due.should_cool_down(minutes)
    due.begin_cooldown(minutes)
    assert (due.cooldown_from, due.cooldown_steps) == (700, 300)
    assert not due.should_cool_down(minutes)
    for other in (
        minutes.changed(steps=900),
        minutes.changed(epochs=2),
        minutes.changed(cooldown_share=0),
        TrainConfig(),
    ):
        assert not Progress(step=700, seconds=599).should_cool_down(other)


def test_resuming_a_finished_run_says_so_and_changes_nothing(trained: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = model_bytes(trained)
    resume_run(trained)
    assert "finished at step 24" in capsys.readouterr().err
    assert model_bytes(trained) == before


def test_a_longer_budget_gives_what_it_would_have_given_at_once(
    trained: Run, settings: Settings, tmp_path: Path
) -> None:
    longer = replace(settings, train=settings.train.changed(steps=33))
    at_once = start_run(Run(tmp_path / "longer"), longer)
    resume_run(trained, {"steps": 33})
    assert model_bytes(trained) == model_bytes(at_once)


def test_a_cooldown_given_before_it_begins_is_as_if_it_had_been_planned(
    trained: Run, settings: Settings, tmp_path: Path
) -> None:
    planned = replace(settings, train=settings.train.changed(cooldown=10))
    at_once = start_run(Run(tmp_path / "planned"), planned)
    later = Run(tmp_path / "later")
    start_run(later, settings, StopAt(settings.train, 14, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    resume_run(later, {"cooldown": 10})
    assert model_bytes(trained) != model_bytes(at_once) == model_bytes(later)


def test_a_run_that_is_given_more_time_keeps_its_model_until_it_has_another(trained: Run, settings: Settings) -> None:
    before = model_bytes(trained)
    stop = StopAt(settings.train, 30, lambda: os.kill(os.getpid(), signal.SIGTERM))
    resume_run(trained, {"steps": 40}, stop)
    assert (find_model(trained.directory) / "model.safetensors").read_bytes() == before
    resume_run(trained)
    assert find_model(trained.directory) == trained.model
    assert model_bytes(trained) != before
    assert not [path for path in trained.directory.iterdir() if path.name.startswith(".model")]


def test_a_finished_run_can_average_fewer_checkpoints(trained: Run) -> None:
    (trained.checkpoints / "best.safetensors").unlink()  # it may be the better one, and would be taken
    resume_run(trained, {"average": 2})
    first, second = (load_file(path) for path in sorted(trained.checkpoints.glob("step-*"))[-2:])
    for name, value in load_file(trained.model / "model.safetensors").items():
        torch.testing.assert_close(value, (first[name] + second[name]) / 2)
    assert [entry["step"] for entry in trained.history() if "loss" in entry] == list(range(1, 25))


def test_a_limit_that_nobody_gave_gives_way_to_one_that_is_given(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "DEFAULT_MINUTES", 0.0)
    unlimited = replace(settings, train=settings.train.changed(steps=None))
    run = start_run(Run(tmp_path / "run"), unlimited)
    assert [entry["step"] for entry in run.history()] == [0]  # a validation of what it began with
    resume_run(run, {"steps": 5})
    assert [entry["step"] for entry in run.history() if "loss" in entry] == [1, 2, 3, 4, 5]
    assert run.curves.exists()


def kill_and_resume(settings: Settings, directory: Path, moments: int, seed: int) -> None:
    """Kill a run again and again while it does little else than write checkpoints; resume each time."""
    chance = random.Random(seed)
    directory.mkdir()
    config = directory / "settings.toml"
    config.write_text(settings.to_toml(), encoding="utf-8")
    run = directory / "run"
    command = [sys.executable, "-m", "pellucid", "train"]
    start = [*command, "--config", str(config), "--out", str(run)]
    for _ in range(moments):
        begun = (run / "config.toml").exists()
        process = subprocess.Popen([*command, "--resume", str(run)] if begun else start, stderr=subprocess.DEVNULL)
        log = run / "log.jsonl"
        seen = log.stat().st_size if log.exists() else 0
        while process.poll() is None and not (log.exists() and log.stat().st_size > seen + 600):
            pass  # until it trains again
        for _ in range(chance.randrange(200_000)):
            pass
        process.kill()
        process.wait()
    subprocess.run([*command, "--resume", str(run)], check=True)
    assert (run / "model" / "model.safetensors").exists()


def killing(settings: Settings) -> Settings:
    return replace(settings, train=settings.train.changed(steps=400, checkpoint_every=1, validate_every=1000))


def test_killed_while_writing_checkpoints_a_run_resumes(settings: Settings, tmp_path: Path) -> None:
    kill_and_resume(killing(settings), tmp_path / "killed", moments=2, seed=1)


@pytest.mark.proof
def test_killed_at_twenty_moments_a_run_resumes_to_the_same_weights(settings: Settings, tmp_path: Path) -> None:
    settings = killing(settings)
    kill_and_resume(settings, tmp_path / "killed", moments=20, seed=2)
    whole = start_run(Run(tmp_path / "whole"), settings)
    assert model_bytes(Run(tmp_path / "killed" / "run")) == model_bytes(whole)


@pytest.mark.parametrize("name", ["seed", "batch_tokens", "accumulate", "ema", "schedule", "precision"])
def test_what_would_make_it_another_run_cannot_change(trained: Run, name: str) -> None:
    before = (trained.directory / "config.toml").read_text(encoding="utf-8")
    with pytest.raises(UserError, match="cannot change in the middle of a run"):
        resume_run(trained, {name: 3})
    assert (trained.directory / "config.toml").read_text(encoding="utf-8") == before


def test_a_refused_resume_leaves_the_settings_alone(trained: Run) -> None:
    with trained.locked(), pytest.raises(UserError, match="another process"):
        resume_run(trained, {"steps": 99})
    assert trained.settings().train.steps == 24


def test_killed_before_its_config_is_written_a_run_can_be_started_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_run: Run, _settings: Settings) -> None:
        raise KeyboardInterrupt

    run = Run(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            start_run(run, settings)
    assert start_run(run, settings).model.exists()


def test_killed_before_the_longer_model_is_in_place_the_shorter_one_is_not_taken_for_it(
    trained: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    short = model_bytes(trained)
    with monkeypatch.context() as patch:
        patch.setattr("pellucid.training.loop.model_card", killed)
        with pytest.raises(KeyboardInterrupt):
            resume_run(trained, {"steps": 33})
    resume_run(trained)
    assert model_bytes(trained) != short


@pytest.mark.parametrize("changed", ["source", "valid_source"])
def test_a_run_does_not_go_on_with_other_pairs(settings: Settings, tmp_path: Path, changed: str) -> None:
    files = {name: tmp_path / name for name in ("source", "target", "valid_source", "valid_target")}
    for path in files.values():
        path.write_text("".join(f"word{number} and more\n" for number in range(40)), encoding="utf-8")
    data = {name: str(path) for name, path in files.items()} | {"identical_words": 0}
    settings = Settings.of({"data": data, "model": settings.model.to_dict(), "train": settings.train.to_dict()})
    run = Run(tmp_path / "run")
    start_run(run, settings, StopAt(settings.train, 3, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    files[changed].write_text("".join(f"other{number} and more\n" for number in range(40)), encoding="utf-8")
    with pytest.raises(UserError, match="not those the run began with"):
        resume_run(run)
