"""The sheets of a class against one key: what each student stated, at the steps of the key."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pellucid.errors import Problem, UserError
from pellucid.worked.checker import CheckedExample, check
from pellucid.worked.examples import Example, read_file, read_table
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


def grade(folder: Path, key: Example, leave_out: Collection[Path] = ()) -> list[Graded]:
    """Every file of a folder, by name, but for hidden ones: none is passed over in silence."""
    if not folder.is_dir():
        raise UserError("is not a folder", str(folder), "give the folder with the sheets of the class")
    others = {path.resolve() for path in leave_out}
    files = sorted(path for path in folder.iterdir() if path.resolve() not in others and path.name[0] != ".")
    if not files:
        raise UserError("contains no sheets", str(folder), "one file per student")
    return [_graded(path, key) for path in files]


def _graded(path: Path, key: Example) -> Graded:
    student = path.name.removesuffix(".toml")
    try:
        tables = read_table(read_file(str(path)), path.name).get("steps")
    except UserError as error:
        return Graded(student, None, tuple(map(_in_sheet, error.problems)))
    given = [each for each in tables if isinstance(each, dict)] if isinstance(tables, list) else []
    remarks = [] if given else ["there are no steps in it"]
    steps = []
    for step in key.steps:
        own = [each for each in given if each.get("name") == step.name]
        if len(own) > 1:
            remarks.append(f"{step.name} is there {len(own)} times: the last one counts")
        stated = _stated(own[-1] if own else {}, step.name, remarks) if step.asked else step.stated
        steps.append(replace(step, stated=stated))
    names = {step.name for step in key.steps}
    remarks += [f"{name} is no step of the key" for each in given if (name := str(each.get("name"))) not in names]
    try:
        return Graded(student, check(replace(key, steps=steps)), tuple(remarks))
    except UserError as error:
        return Graded(student, None, tuple(str(problem) for problem in error.problems))


def _in_sheet(problem: Problem) -> str:
    line = re.search(r":(\d+)(:\d+)?$", problem.where)
    return str(replace(problem, where=f"line {line[1]}" if line else ""))


def _stated(table: dict[str, Any], name: str, remarks: list[str]) -> Stated | None:
    written = table.get("stated", UNSTATED)
    try:
        if all(leaf == UNSTATED for leaf in items(written)):
            return None
        return read_stated(written)
    except ValueError as error:
        remarks.append(str(Problem(str(error), name)))
        return None
