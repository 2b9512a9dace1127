"""The snapshots of a run: the weights of its steps rounded to float16, the same ones after a resume."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from pellucid.config import TrainConfig
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.snapshots import Snapshots
from pellucid.training.data import prepare_data
from pellucid.training.loop import resume_run, start_run
from pellucid.training.run import Run, Settings
from pellucid.training.run.budget import check_budget
from pellucid.training.run.progress import Progress
from pellucid.training.snapshots import place

from .conftest import StopAt, model_bytes


def with_snapshots(settings: Settings, count: int, **changes: object) -> Settings:
    return replace(settings, train=settings.train.changed(snapshots=count, **changes))


def stop_at(settings: Settings, step: int, how: signal.Signals = signal.SIGTERM) -> StopAt:
    return StopAt(settings.train, step, lambda: os.kill(os.getpid(), how))


def contents(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.snapshots.path.iterdir()}


@pytest.fixture
def watched(settings: Settings, tmp_path: Path) -> Run:
    """A finished run of 24 steps with four snapshots, and all its checkpoints."""
    return start_run(Run(tmp_path / "watched"), with_snapshots(settings, 4, average=100, checkpoint_every=8))


def test_a_snapshot_holds_the_checkpoint_of_its_step_in_float16(watched: Run) -> None:
    assert watched.snapshots.steps == [0, 8, 16, 24]
    for step in (8, 16, 24):
        checkpoint = load_file(watched.checkpoints / f"step-{step:09d}.safetensors")
        snapshot = load_file(watched.snapshots.path / f"step-{step:09d}.safetensors")
        assert snapshot.keys() == checkpoint.keys()
        for name, value in snapshot.items():
            assert value.dtype == torch.float16
            assert torch.equal(value, checkpoint[name].half())


def test_the_first_snapshot_is_of_the_weights_before_training(watched: Run, settings: Settings, tmp_path: Path) -> None:
    unlearned = start_run(Run(tmp_path / "unlearned"), replace(settings, train=settings.train.changed(minutes=0)))
    first, weights = watched.snapshots.at(0).weights(), ModelDirectory(unlearned.model).weights()
    assert all(np.array_equal(first[name], value.astype(np.float16)) for name, value in weights.items())


def test_a_snapshot_is_a_model_directory_with_the_metadata_of_the_model(watched: Run) -> None:
    snapshot, model = watched.snapshots.at(24), ModelDirectory(watched.model)
    assert snapshot.config == model.config
    assert snapshot.languages.directions == model.languages.directions
    assert snapshot.length_limit == model.length_limit
    assert snapshot.tokenizers.encode_target("iv ii") == model.tokenizers.encode_target("iv ii")


def test_the_sample_is_a_pair_that_was_held_out(watched: Run, settings: Settings) -> None:
    sample, data = watched.snapshots.sample, prepare_data(settings.absolute())
    assert sample is not None
    held_out = [data.valid_corpus.text(int(pair)) for pair in data.valid_pairs]
    trained_on = [data.corpus.text(int(pair)) for pair in data.train_pairs]
    assert (sample.text, sample.target_text) in held_out
    assert (sample.text, sample.target_text) not in trained_on


def test_the_run_has_the_weights_that_it_would_have_without(watched: Run, settings: Settings, tmp_path: Path) -> None:
    plain = replace(settings, train=settings.train.changed(average=100, checkpoint_every=8))
    assert model_bytes(start_run(Run(tmp_path / "plain"), plain)) == model_bytes(watched)


@pytest.mark.parametrize("step", [7, 8, 9, 23])  # between two checkpoints, so that some steps are repeated
def test_a_resumed_run_has_the_same_snapshots(settings: Settings, tmp_path: Path, step: int) -> None:
    settings = with_snapshots(settings, 7)
    whole = start_run(Run(tmp_path / "whole"), settings)
    run = Run(tmp_path / "stopped")
    start_run(run, settings, stop_at(settings, step))
    resume_run(run)
    assert whole.snapshots.steps == [0, 4, 8, 12, 16, 20, 24]
    assert contents(run) == contents(whole)
    assert model_bytes(run) == model_bytes(whole)


def test_a_run_that_fails_between_two_checkpoints_repeats_its_snapshots(settings: Settings, tmp_path: Path) -> None:
    settings = with_snapshots(settings, 13)
    whole = start_run(Run(tmp_path / "whole"), settings)
    run = Run(tmp_path / "failed")

    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        start_run(run, settings, StopAt(settings.train, 9, fail))
    assert run.snapshots.steps == [0, 2, 4, 6, 8]
    assert Run(run.directory).snapshots.at(8).weights()  # they can be read while the run is not at its end
    stop = stop_at(settings, 6)
    resume_run(run, display=stop)  # from step 5: what came after it was deleted
    assert run.snapshots.steps == [0, 2, 4, 6]
    resume_run(run)
    assert contents(run) == contents(whole)


def test_a_run_that_is_trained_further_keeps_its_snapshots_and_adds_to_them(watched: Run) -> None:
    before = contents(watched)
    resume_run(watched, {"steps": 36})
    assert watched.snapshots.steps == [0, 8, 16, 24, 36]
    assert before.items() <= contents(watched).items()


@pytest.mark.parametrize(
    ("steps", "count", "kept"),
    [
        (24, 0, []),
        (24, 1, [24]),
        (24, 2, [0, 24]),
        (24, 6, [0, 5, 10, 15, 20, 24]),  # of 4.8 steps each
        (3, 50, [0, 1, 2, 3]),
    ],
)
def test_snapshots_lie_evenly(settings: Settings, tmp_path: Path, steps: int, count: int, kept: list[int]) -> None:
    run = start_run(Run(tmp_path / "run"), with_snapshots(settings, count, steps=steps))
    assert run.snapshots.steps == kept
    assert run.snapshots.exists == bool(kept)


class Clock:
    """What `place` reads of a training that is limited by minutes."""

    def __init__(self, config: TrainConfig, seconds: float) -> None:
        self.config, self.progress, self.total_steps = config, Progress(step=1, seconds=seconds), config.steps


def test_a_run_limited_by_minutes_is_divided_by_time() -> None:
    config = TrainConfig(minutes=3, snapshots=10)
    moments = [0, 19.9, 20, 39.9, 40, 179.9, 180, 500]
    assert [place(Clock(config, at)) for at in moments] == [0, 0, 1, 1, 2, 8, 9, 9]  # type: ignore[arg-type]


def test_a_run_of_a_tenth_of_a_second_has_snapshots_from_its_first_step_to_its_last(
    settings: Settings, tmp_path: Path
) -> None:
    run = start_run(Run(tmp_path / "run"), with_snapshots(settings, 4, steps=None, minutes=0.002))
    steps = [entry["step"] for entry in run.history() if "loss" in entry]
    assert run.snapshots.steps[0] == 0
    assert run.snapshots.steps[-1] == steps[-1]
    assert len(run.snapshots.steps) <= 5


def test_snapshots_need_a_known_end(settings: Settings) -> None:
    unknown = with_snapshots(settings, 5, steps=None, patience=3)
    with pytest.raises(UserError, match=r"snapshots: the length of the run is not known .*steps, epochs or minutes"):
        check_budget(unknown)
    check_budget(with_snapshots(settings, 5, steps=None, patience=3, minutes=1))


def test_a_number_too_large_for_float16_is_kept_as_it_is(watched: Run) -> None:
    weights = {"large": np.array([70000.0, 0.1], np.float32), "small": np.array([0.1], np.float32)}
    watched.snapshots.save(99, weights, remedy="")
    saved = load_file(watched.snapshots.path / "step-000000099.safetensors")
    assert saved["large"].tolist() == weights["large"].tolist()
    assert saved["small"].dtype == torch.float16


def test_snapshots_are_found_in_a_run_and_beside_its_model(watched: Run, tmp_path: Path) -> None:
    for directory in (watched.directory, watched.model):
        found = Snapshots.beside(directory)
        assert found is not None
        assert found.path == watched.snapshots.path
    assert Snapshots.find(watched.directory).steps == [0, 8, 16, 24]
    assert Snapshots.beside(tmp_path) is None
    with pytest.raises(UserError, match=r"nowhere: has no snapshots \(train with --set snapshots=50"):
        Snapshots.find(tmp_path / "nowhere")


def test_no_run_begins_where_snapshots_of_another_are(watched: Run, settings: Settings, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    watched.snapshots.path.rename(other / "snapshots")
    with pytest.raises(UserError, match="holds snapshots of something else"):
        start_run(Run(other), settings)
