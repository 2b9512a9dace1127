"""The sheets of a class against one key: what each student stated, at the steps of the key."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pellucid.errors import Problem, UserError
from pellucid.worked.checker import CheckedExample, check
from pellucid.worked.examples import Example, read_file
from pellucid.worked.numbers import UNSTATED, Stated, items, read_stated


@dataclass(frozen=True)
class Graded:
    """One student's sheet. `checked` is None where the file cannot be read; `remarks` say what is odd about it."""

    student: str
    checked: CheckedExample | None
    remarks: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """For a table: one line a student."""
        row: dict[str, Any] = {
            "student": self.student,
            "earned": "",
            "possible": "",
            "wrong": "",
            "carried": "",
            "open": "",
        }
        if self.checked is not None:
            row["earned"], row["possible"] = self.checked.score
            for verdict in ("wrong", "carried"):
                row[verdict] = " ".join(s.step.name for s in self.checked.steps if s.verdict == verdict)
            row["open"] = " ".join(self.checked.open)
        causes = [f"{s.step.name}: {s.cause}" for s in self.checked.steps if s.cause] if self.checked else []
        return row | {"causes": "; ".join(causes), "remarks": "; ".join(self.remarks)}


def grade(folder: Path, key: Example) -> list[Graded]:
    """Every sheet of a folder, by name."""
    if not folder.is_dir():
        raise UserError("is not a folder", str(folder), "give the folder with the sheets of the class")
    files = sorted(path for path in folder.glob("*.toml") if path.is_file())
    if not files:
        raise UserError("contains no sheets", str(folder), "their names end in .toml")
    return [_graded(path, key) for path in files]


def _graded(path: Path, key: Example) -> Graded:
    try:
        table = tomllib.loads(read_file(str(path)), parse_float=Decimal)
    except UserError as error:
        return Graded(path.stem, None, tuple(problem.what for problem in error.problems))
    except (ValueError, RecursionError, ArithmeticError) as error:
        return Graded(path.stem, None, (f"is not TOML that can be read: {error}",))
    tables = table.get("steps")
    given = (
        {str(each.get("name")): each for each in tables if isinstance(each, dict)} if isinstance(tables, list) else {}
    )
    remarks: list[str] = []
    steps = []
    for step in key.steps:
        stated = _stated(given.get(step.name, {}), step.name, remarks) if step.asked else step.stated
        steps.append(replace(step, stated=stated))
    remarks += [f"{name} is no step of the key" for name in given if name not in {step.name for step in key.steps}]
    try:
        return Graded(path.stem, check(replace(key, steps=steps)), tuple(remarks))
    except UserError as error:
        return Graded(path.stem, None, tuple(str(problem) for problem in error.problems))


def _stated(table: dict[str, Any], name: str, remarks: list[str]) -> Stated | None:
    written = table.get("stated", UNSTATED)
    try:
        if all(leaf == UNSTATED for leaf in items(written)):
            return None
        return read_stated(written)
    except ValueError as error:
        remarks.append(str(Problem(str(error), name)))
        return None
