"""Standard input and output that are closed, a broken pipe, or a file on a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
PRINTING = [
    ["check", "W1"],
    ["check", "W1", "--json"],
    ["describe"],
    ["describe", "--json"],
    ["models", "--json"],
    ["translate", "one"],
    ["score", "one", "eins", "--from", "en", "--to", "de"],
    ["explain", "one", "--to", "de"],
]


def command(words: list[str], model: Path) -> list[str]:
    takes_model = words[0] in ("translate", "score", "explain")
    return [sys.executable, "-m", "pellucid", *words, *(["--model", str(model)] if takes_model else [])]


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_broken_pipe_is_not_an_error(words: list[str], number_model: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command(words, number_model), stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.is_char_device(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [["translate", "one"], ["describe"], ["check", "W1", "--json"]], ids=" ".join)
def test_a_full_disk_is_reported(words: list[str], number_model: Path) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(command(words, number_model), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.decode() == "pellucid: cannot write: No space left on device (make room, or write elsewhere)\n"


@pytest.mark.parametrize(
    ("closed", "message"), [(">&-", "standard output: is closed"), ("<&-", "standard input: is closed")]
)
def test_a_closed_stream_is_reported(closed: str, message: str, number_model: Path) -> None:
    line = ["bash", "-c", f'"$@" {closed}', "bash", *command(["translate"], number_model)]
    done = subprocess.run(line, capture_output=True)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"pellucid: {message}")
    assert done.stderr.count(b"\n") == 1


def test_a_training_goes_on_when_nobody_reads_along(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["train", "--corpus", "dates", "--out", str(out), "--set", "steps=2", "--set", "validate_pairs=0"]
    words += [word for setting in ("d_model=16", "feed_forward=16", "heads=2") for word in ("--set", setting)]
    read, write = os.pipe()
    os.close(read)
    own = {**os.environ, "PELLUCID_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-m", "pellucid", *words], stdout=write, stderr=write, env=own)
    os.close(write)
    assert done.returncode == 0
    assert (out / "model" / "model.safetensors").exists()
