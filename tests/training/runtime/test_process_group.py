"""Processes that share the batches of an update come to the weights of one process that does them all."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.text.batch import batches
from pellucid.training.data import prepare_data
from pellucid.training.loop import resume_run, update, updates
from pellucid.training.run import Run, Settings
from pellucid.training.run.settings import read_toml
from pellucid.training.runtime.process_group import SINGLE, ProcessGroup, process_group
from pellucid.training.state import begin

LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def weights_after(directory: Path, steps: int, group: ProcessGroup) -> dict[str, torch.Tensor]:
    """The weights after some updates in float64, where the order of a sum does not show."""
    settings = Settings.of(read_toml(directory / "settings.toml"))
    with group.local_main_first():
        data = prepare_data(settings)
    run = Run(directory / f"{group.world_size}-{group.rank}")
    training = begin(run, data, data.with_vocabulary(settings.model), settings.train, None, group)
    training.model.double()
    for _, batch_list in zip(range(steps), updates(training), strict=False):
        update(training, batch_list)
    return training.model.weights()


def launch(*words: str, succeeds: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*LAUNCH, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
        timeout=300,
    )
    assert (done.returncode == 0) == succeeds, done.stderr
    return done


def test_two_processes_come_to_the_weights_of_one(settings: Settings, tmp_path: Path) -> None:
    train = settings.train.changed(accumulate=4, bpe_dropout=0.1, device="cpu", batch_tokens=288)
    data = prepare_data(settings)
    plan = batches(data.corpus, train.batch_tokens, train.seed, 0, data.epoch_pairs(train.seed, 0))
    assert len(plan) % train.accumulate == 1  # the epoch's last update has no batch for the second process
    (tmp_path / "settings.toml").write_text(replace(settings, train=train).to_toml(), encoding="utf-8")
    launch(__file__, str(tmp_path))
    single = weights_after(tmp_path, steps=12, group=SINGLE)
    for rank in (0, 1):
        shared = load_file(tmp_path / f"{rank}.safetensors")
        assert shared.keys() == single.keys()
        for name, value in single.items():
            torch.testing.assert_close(shared[name], value, rtol=0, atol=1e-9)


def test_a_run_of_two_processes_is_one_run_and_goes_on_with_one(settings: Settings, tmp_path: Path) -> None:
    train = settings.train.changed(accumulate=2, device="cpu")
    (tmp_path / "settings.toml").write_text(replace(settings, train=train).to_toml(), encoding="utf-8")
    run = Run(tmp_path / "run")
    done = launch("-m", "pellucid", "train", "--config", str(tmp_path / "settings.toml"), "--out", str(run.directory))
    assert done.stderr.count("the model is in") == 1
    assert [entry["step"] for entry in run.history() if "loss" in entry] == list(range(1, 25))
    resume_run(run, {"steps": 30})
    assert [entry["step"] for entry in run.history() if "loss" in entry] == list(range(1, 31))
    assert run.model.exists()


def test_after_the_death_of_a_process_a_run_goes_on_to_the_same_weights(settings: Settings, tmp_path: Path) -> None:
    train = settings.train.changed(accumulate=2, device="cpu")
    (tmp_path / "settings.toml").write_text(replace(settings, train=train).to_toml(), encoding="utf-8")
    words = ["train", "--config", str(tmp_path / "settings.toml"), "--auto-resume", "--out"]
    launch("-m", "pellucid", *words, str(tmp_path / "undisturbed"))
    died = tmp_path / "died"
    killer = f"""
import os, signal, sys
from pathlib import Path
from pellucid.cli import main
from pellucid.training import loop

real = loop.update
def update(training, batches):
    if training.progress.step == 13 and training.group.rank == 1 and not Path({str(died)!r}).exists():
        Path({str(died)!r}).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return real(training, batches)
loop.update = update
sys.argv = ["pellucid", *sys.argv[1:]]
main()
"""
    (tmp_path / "killer.py").write_text(killer, encoding="utf-8")
    done = launch("--max-restarts", "1", str(tmp_path / "killer.py"), *words, str(tmp_path / "run"))
    assert died.exists()
    assert "resuming from step" in done.stderr
    weights = [(tmp_path / name / "model/model.safetensors").read_bytes() for name in ("run", "undisturbed")]
    assert weights[0] == weights[1]


def test_restarts_on_several_machines_are_refused_where_they_would_hang(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = {"TORCHELASTIC_RUN_ID": "x", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    launched |= {"TORCHELASTIC_MAX_RESTARTS": "2", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    for name, value in launched.items():
        monkeypatch.setenv(name, value)
    match = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"
    with pytest.raises(UserError, match=match), process_group(ModelConfig(), settings.train.changed(accumulate=2)):
        pass


def test_an_error_of_one_process_ends_both(settings: Settings, tmp_path: Path) -> None:
    train = settings.train.changed(accumulate=2, device="cpu")
    (tmp_path / "settings.toml").write_text(replace(settings, train=train).to_toml(), encoding="utf-8")
    done = launch(__file__, str(tmp_path), "fail", succeeds=False)
    assert "the second fails" in done.stderr


def test_a_process_without_a_batch_adds_nothing() -> None:
    assert [*ProcessGroup(rank=2, world_size=3).own_batches("ab")] == []
    assert [*ProcessGroup(rank=1, world_size=3).own_batches("abcde")] == ["b", "e"]
    assert [ProcessGroup(rank=1, world_size=3).batch_number(index) for index in (0, 1)] == [1, 4]


def test_batches_that_cannot_be_divided_are_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    launched = {"TORCHELASTIC_RUN_ID": "x", "RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"}
    for name, value in launched.items():
        monkeypatch.setenv(name, value)
    six = settings.train.changed(accumulate=6)
    with pytest.raises(UserError) as error, process_group(ModelConfig(norm="batch"), six):
        pass
    assert "multiple of 4" in str(error.value)
    assert "running statistics" in str(error.value)


if __name__ == "__main__":  # one of the processes that the test above launches
    directory = Path(sys.argv[1])
    given = Settings.of(read_toml(directory / "settings.toml"))
    with process_group(given.model, given.train) as both:
        assert both.all_equal("the same")
        assert not both.all_equal(both.rank)
        if sys.argv[2:] == ["fail"]:
            if both.rank == 1:
                raise ValueError("the second fails")
            both.all_reduce(1)  # waits for the second
        save_file(weights_after(directory, steps=12, group=both), directory / f"{both.rank}.safetensors")
