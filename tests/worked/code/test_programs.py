"""Planted mistakes are named, and right programs in varied styles raise no alarm."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pellucid.worked.code import CheckedCode, check_code

HERE = Path(__file__).parent
PLANTED: list[dict[str, Any]] = tomllib.loads((HERE / "planted.toml").read_text(encoding="utf-8"))["programs"]
RIGHT: list[dict[str, Any]] = tomllib.loads((HERE / "right.toml").read_text(encoding="utf-8"))["programs"]


def sample(programs: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Some that use NumPy, which starts faster, and one that uses torch."""
    chosen = random.Random(0)
    with_torch = [program for program in programs if "torch" in program["code"]]
    others = [program for program in programs if program not in with_torch]
    return [*chosen.sample(others, count), chosen.choice(with_torch)]


def checked(program: dict[str, Any], folder: Path) -> CheckedCode:
    path = folder / "program.py"
    path.write_text(program["code"], encoding="utf-8")
    return check_code(str(path))


def causes(code: CheckedCode) -> list[str]:
    return [each.cause for function in code.functions for each in function.properties if each.failure]


def rightly_named(program: dict[str, Any], folder: Path) -> bool:
    named = causes(checked(program, folder))
    return bool(named) and program["cause"] in named[0]


def test_there_are_enough() -> None:
    assert len(PLANTED) >= 50
    assert len(RIGHT) >= 20


def test_planted_mistakes_are_named(tmp_path: Path) -> None:
    wrong = [program["cause"] for program in sample(PLANTED, 12) if not rightly_named(program, tmp_path)]
    assert not wrong


def test_right_programs_raise_no_alarm(tmp_path: Path) -> None:
    for program in sample(RIGHT, 6):
        assert checked(program, tmp_path).right, program["code"]


@pytest.mark.proof
def test_all_planted_mistakes(tmp_path: Path) -> None:
    wrong = [program["cause"] for program in PLANTED if not rightly_named(program, tmp_path)]
    assert len(wrong) * 50 <= len(PLANTED) * 2, wrong  # at least 48 of 50


@pytest.mark.proof
def test_all_right_programs(tmp_path: Path) -> None:
    for program in RIGHT:
        code = checked(program, tmp_path)
        assert code.right, (program["code"], causes(code))
