"""`pellucid lab` as people and programs call it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pellucid.cli import application
from pellucid.errors import UserError
from pellucid.labs import NAMES, committed, lab


def run(*words: str) -> Result:
    result = CliRunner().invoke(application(("lab",)), ["lab", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_list() -> None:
    printed = run().stdout
    rows = json.loads(run("--json").stdout)["labs"]
    assert [row["name"] for row in rows] == list(NAMES)
    for name, row in zip(NAMES, rows, strict=True):
        assert row["verdict"]["outcome"] == committed(name).verdict.outcome
        assert name in printed
    assert "would have been refuted" in run("xor", "--show").stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_committed_result_can_be_printed(name: str) -> None:
    printed = " ".join(run(name, "--show").stdout.split())
    assert committed(name).verdict.sentence in printed
    assert json.loads(run(name, "--show", "--json").stdout)["data"] == committed(name).data


def test_a_run_with_options_made_from_its_settings(tmp_path: Path) -> None:
    words = ["xor", "--quick", "--seeds", "1", "--updates", "20", "--broken"]
    result = json.loads(run(*words, "--json").stdout)
    expected = lab("xor").run(quick=True, seeds=1, updates=20, broken=True)
    assert result["data"] == expected.data
    assert result["verdict"] == expected.verdict._asdict()
    run(*words, "--out", str(tmp_path))
    assert json.loads((tmp_path / "xor.json").read_text(encoding="utf-8"))["data"] == expected.data
    assert "XOR needs a hidden layer" in (tmp_path / "xor.html").read_text(encoding="utf-8")


def test_all_of_them(tmp_path: Path) -> None:
    rows = json.loads(run("--all", "--show", "--json", "--out", str(tmp_path)).stdout)["labs"]
    assert [row["lab"] for row in rows] == list(NAMES)
    assert {path.name for path in tmp_path.iterdir()} == {f"{n}.{kind}" for n in NAMES for kind in ("json", "html")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quick"], "no lab is named"),
        (["--quick", "xor"], "write them after it"),
        (["xor", "--show", "--quick"], "leave out --quick"),
        (["xor", "--hidden", "0", "--seeds", "no"], "hidden: 0 is out of range"),
    ],
)
def test_what_does_not_fit_is_reported(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(*words)


def test_a_wrong_setting_is_called_by_its_option() -> None:
    command = [sys.executable, "-m", "pellucid", "lab", "xor", "--learning-rate", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "pellucid: --learning-rate: 7.0 is out of range (give a number from 0.0001 to 1)\n"


def test_ctrl_c_ends_a_run_and_leaves_nothing(tmp_path: Path) -> None:
    words = ["lab", "xor", "--seeds", "20", "--updates", "20000", "--out", str(tmp_path / "out")]
    start = "import sys; print('begun', flush=True); from pellucid.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)  # it has begun to measure
        os.kill(process.pid, signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()  # where the signal is ignored, the run would go on for minutes
        assert process.returncode != 0
        assert "Traceback" not in errors
    assert not (tmp_path / "out").exists()
