"""pellucid train as a person uses it: files in, a run out, and errors that say what to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SMALL = [
    *("--set", "d_model=16", "--set", "heads=2", "--set", "feed_forward=32", "--set", "encoder_layers=1"),
    *("--set", "decoder_layers=1", "--set", "threads=1", "--set", "batch_tokens=256", "--set", "validate_pairs=2"),
]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    source, target = tmp_path / "a.en", tmp_path / "a.xx"
    words = [f"word{a} word{b}" for a in range(8) for b in range(8)]
    source.write_text("\n".join(words) + "\n", encoding="utf-8")
    target.write_text("\n".join(text.upper() for text in words) + "\n", encoding="utf-8")
    return ["--source", str(source), "--target", str(target)]


def pellucid(tmp_path: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", "train", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PELLUCID_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"},
    )
    assert done.returncode == code, done.stderr
    return done


def test_trains_resumes_and_says_when_it_is_finished(tmp_path: Path, files: list[str]) -> None:
    pellucid(tmp_path, *files, "--out", "run", "--set", "steps=6", *SMALL)
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
    again = pellucid(tmp_path, "--resume", "run")
    assert "finished at step 6" in again.stderr
    assert "with steps = 6 (raise it to continue)" in again.stderr
    assert "resuming from step 6" in pellucid(tmp_path, "--resume", "run", "--set", "steps=9").stderr
    entries = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries if "loss" in entry] == list(range(1, 10))


def test_ctrl_c_saves_and_exits(tmp_path: Path, files: list[str]) -> None:
    words = [sys.executable, "-m", "pellucid", "train", *files, "--out", "run", "--set", "steps=100000", *SMALL]
    environment = os.environ | {"PELLUCID_CACHE": str(tmp_path / "cache")}
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "run" / "log.jsonl"
    for _ in range(1200):
        if log.exists() and log.stat().st_size:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "--resume run" in message
    assert (tmp_path / "run" / "checkpoints" / "last.safetensors").exists()


def test_dry_run_makes_no_run(tmp_path: Path, files: list[str]) -> None:
    done = pellucid(tmp_path, *files, "--out", "run", "--dry-run")
    assert "parameters" in done.stdout
    assert "an epoch: 63 pairs" in done.stdout
    assert not (tmp_path / "run").exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    for out in ("file", "file/run"):
        assert "choose another --out" in pellucid(tmp_path, *files, "--out", out, "--dry-run", code=2).stderr


def test_a_config_file_is_read_and_flags_win_over_it(tmp_path: Path, files: list[str]) -> None:
    (tmp_path / "c.toml").write_text(
        "[model]\npreset = 'tiny'\nd_model = 16\nheads = 2\n[train]\nsteps = 500\nthreads = 1\n", encoding="utf-8"
    )
    pellucid(tmp_path, *files, "--config", "c.toml", "--set", "steps=2", "--set", "decoder_layers=1", "--out", "run")
    written = (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    assert "steps = 2\n" in written
    assert "d_model = 16\n" in written
    assert "encoder_layers = 4\n" in written


def test_fine_tuning_keeps_the_vocabulary_and_mixes_earlier_pairs_in(tmp_path: Path, files: list[str]) -> None:
    pellucid(tmp_path, *files, "--out", "first", "--set", "steps=3", *SMALL)
    (tmp_path / "new.tsv").write_text("".join(f"other{i}\tOTHER{i}\n" for i in range(30)), encoding="utf-8")
    earlier = ["--set", f'earlier_source="{files[1]}"', "--set", f'earlier_target="{files[3]}"']
    tune = ["--pairs", "new.tsv", "--start-from", "first/model"]
    pellucid(tmp_path, *tune, *earlier, *SMALL[10:], "--set", "steps=3", "--set", "dropout=0.2", "--out", "second")
    first, second = tmp_path / "first" / "model", tmp_path / "second" / "model"
    assert (first / "tokenizer.json").read_bytes() == (second / "tokenizer.json").read_bytes()
    assert (first / "model.safetensors").read_bytes() != (second / "model.safetensors").read_bytes()
    shape = pellucid(tmp_path, *tune, "--set", "d_model=32", "--out", "third", code=2)
    assert "keeps its shape" in shape.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--out", "run"], "no pairs given"),
        (["--corpus", "datez", "--out", "run"], "did you mean 'dates'?"),
        (["--source", "missing.en", "--target", "missing.de", "--out", "run"], "missing.en"),
        (["--corpus", "dates", "--set", "learning_rat=1", "--out", "run"], "did you mean 'learning_rate'?"),
        (["--corpus", "dates"], "--out"),
        (["--corpus", "dates", "--set", "schedule=cosine", "--out", "run"], "schedule: needs a last step"),
        (["--corpus", "dates", "--set", "cooldown=9", "--out", "run"], "cooldown: needs a last step"),
        (["--corpus", "dates", "--config", "missing.toml", "--out", "run"], "missing.toml"),
        (["--corpus", "dates", "--set", "d_model=abc", "--out", "run"], "'abc' does not fit (give a whole number)"),
        (["--pairs", "a.tsv", "--from", "en", "--to", "en", "--out", "run"], "the same language on both sides"),
        (["--resume", "nowhere"], "there is no run here"),
        (["--resume", "nowhere", "--corpus", "dates"], "a run keeps its settings"),
        (["--start-from", "nowhere", "--corpus", "dates", "--out", "run"], "nowhere"),
    ],
)
def test_a_wrong_request_says_what_to_do_and_leaves_nothing_behind(
    tmp_path: Path, words: list[str], expected: str
) -> None:
    done = pellucid(tmp_path, *words, code=2)
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    done = pellucid(tmp_path, "--corpus", "datez", "--set", "heads=3", "--set", "dropuot=1", "--out", "run", code=2)
    assert len(done.stderr.strip().splitlines()) == 3
