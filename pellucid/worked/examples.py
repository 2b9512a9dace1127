"""A worked example as data: inputs, then steps, each an expression over earlier names and what the source states."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from keyword import iskeyword
from pathlib import Path
from typing import Any
from unicodedata import normalize

from pellucid.errors import Problem, UserError, nearest
from pellucid.worked.evaluation import CONSTANTS, ExpressionError
from pellucid.worked.evaluator import names, parse
from pellucid.worked.functions import Value
from pellucid.worked.numbers import UNSTATED, Stated, items, read_input, read_stated

ROOM = Path(__file__).parent
MOST_BYTES = 1_000_000
MOST_STEPS = 200


@dataclass(frozen=True)
class Step:
    """One line of a working: `name = expression`, and what the source states for it (None: not worked there)."""

    name: str
    expression: str
    tree: ast.expr
    stated: Stated | None
    note: str
    place: Place
    ours: bool = False  # stated here, and not in the source of the example
    asked: bool = False  # a result is to be stated, even if it is not: `stated = "?"`

    def needs(self) -> set[str]:
        """The names its expression speaks of."""
        return {name.id for name in names(self.tree)}


@dataclass(frozen=True)
class Example:
    id: str
    title: str
    about: str
    inputs: dict[str, Value]
    steps: list[Step]
    exact: bool = False  # each step is worked from the numbers exactly as they are written before it


@dataclass(frozen=True)
class Place:
    """Somewhere in a file; lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def right(self, columns: int) -> Place:
        return Place(self.file, self.line, self.column + columns)


def shipped() -> list[Path]:
    """The files of the worked examples that come with the project, in order."""
    return sorted(ROOM.glob("w[0-9]*.toml"))


def templates() -> dict[str, Path]:
    """Files to start one's own working from, by name."""
    return {path.stem: path for path in sorted((ROOM / "templates").glob("*.toml"))}


def read(name: str) -> Example:
    """The example in a file; `-` is the standard input, `W6` the one of that id which comes with the project."""
    if name == "-":
        return read_text(_decoded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input"), "standard input")
    own = {f"W{int(file.stem[1:])}": file for file in shipped()}
    if not Path(name).exists() and name.upper() in own:
        return read_text(own[name.upper()].read_text(encoding="utf-8"), own[name.upper()].name)
    return read_text(read_file(name), name)


def read_file(name: str) -> str:
    """The text of a sheet."""
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        remedy = f"give a TOML file, or W1 to W{len(shipped())}" if isinstance(error, FileNotFoundError) else ""
        raise UserError(f"cannot be read: {error.strerror}", name, remedy) from None
    return _decoded(content, name)


def _decoded(content: bytes, file: str) -> str:
    if len(content) > MOST_BYTES:
        raise UserError(f"is larger than {MOST_BYTES} bytes", file, "split it into several examples")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError("is not UTF-8 text", f"{file}:{line}", "save the file as UTF-8") from None


def read_text(text: str, file: str) -> Example:
    """The example that a TOML text holds. Everything wrong with it comes in one error."""
    return _Reader(read_table(text, file), text, file).example()


def read_table(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise UserError(_toml_problem(error, text, file)) from None
    except (ValueError, RecursionError, ArithmeticError):
        raise UserError("is not TOML that can be read", file, "its numbers or lists are too long or too deep") from None


def _toml_problem(error: tomllib.TOMLDecodeError, text: str, file: str) -> Problem:
    what = str(error)
    found = re.search(r"\(at line (\d+), column (\d+)\)", what)
    if not found:
        return Problem(what, str(Place(file, text.count("\n") + 1)))
    line, column = int(found[1]), int(found[2])
    rest = text.splitlines()[line - 1][column - 1 :] if line <= len(text.splitlines()) else ""
    remedy = ""
    if number := re.match(r"\.\d+", rest):
        remedy = f"write 0{number[0]}"
    elif number := re.match(r",(\d+)", rest):
        before = re.search(r"[-+]?\d+$", text.splitlines()[line - 1][: column - 1])
        remedy = f"write a decimal comma in quotes, or a point: {before[0] if before else 0}.{number[1]}"
    return Problem(what.removesuffix(found[0]).strip(), str(Place(file, line, column)), remedy)


class _Reader:
    """Reads one table and collects every problem."""

    def __init__(self, table: Mapping[str, Any], text: str, file: str) -> None:
        self.table, self.file = table, file
        self.places = _places(text, file)
        self.problems: list[Problem] = []

    def example(self) -> Example:
        self._known_keys(self.table, ("id", "title", "about", "exact", "inputs", "steps"), "")
        identity = self._text(self.table, "id", "", default=Path(self.file).stem)
        title = self._text(self.table, "title", "", default=identity)
        about = self._text(self.table, "about", "")
        exact = self._flag(self.table, "exact", "")
        inputs = self._inputs()
        steps = self._steps(set(inputs))
        if self.problems:
            raise UserError(self.problems)
        return Example(identity, title, about, inputs, steps, exact)

    def _inputs(self) -> dict[str, Value]:
        table = self.table.get("inputs", {})
        if not isinstance(table, dict):
            self._problem("is not a table", "", "inputs", "write [inputs] and below it name = value")
            return {}
        inputs = {}
        for written, value in table.items():
            name = self._name(written, "inputs", written)
            try:
                inputs[name] = read_input(value)
            except ValueError as error:
                self._problem(str(error), "inputs", written, "a number, words in quotes, or lists of one of them")
                inputs[name] = read_input(0)  # so that the name is known below
        return inputs

    def _steps(self, known: set[str]) -> list[Step]:
        tables = self.table.get("steps", [])
        if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            self._problem("there are no steps to check", "", "steps", "write [[steps]], below it name and expression")
            return []
        if len(tables) > MOST_STEPS:
            self._problem(f"{len(tables)} steps are too many", "", "steps", f"split it; at most {MOST_STEPS} each")
            return []
        later = {str(table.get("name")) for table in tables}
        steps = []
        for number, table in enumerate(tables):
            step = self._step(table, f"steps {number}", known, later)
            known.add(step.name if step else str(table.get("name")))
            steps += [step] if step else []
        return steps

    def _step(self, table: dict[str, Any], section: str, known: set[str], later: set[str]) -> Step | None:
        self._known_keys(table, ("name", "expression", "stated", "note", "ours"), section)
        missing = [key for key in ("name", "expression") if not isinstance(table.get(key), str)]
        for key in missing:
            what = f"{key} is not a string" if key in table else f"the step has no {key}"
            self._problem(what, section, key, f'{key} = "…"')
        if missing:
            return None
        name = self._name(table["name"], section, "name")
        if name in known:
            self._problem(f"{name!r} is there already", section, "name", "give each input and step a name of its own")
        place = self._place(section, "expression")
        tree = self._tree(table["expression"], place, known, later)
        stated = self._stated(table, section)
        note, ours = self._text(table, "note", section), self._flag(table, "ours", section)
        return Step(name, table["expression"], tree, stated, note, place, ours, "stated" in table)

    def _tree(self, expression: str, place: Place, known: set[str], later: set[str]) -> ast.expr:
        try:
            tree = parse(expression)
        except ExpressionError as error:
            self.problems.append(Problem(error.what, str(place.right(error.column)), error.remedy))
            return parse("0")
        for name in names(tree):
            if name.id not in known | CONSTANTS.keys():
                remedy = "it comes in a later step" if name.id in later else nearest(name.id, sorted(known))
                self.problems.append(Problem(f"unknown name {name.id!r}", str(place.right(name.col_offset)), remedy))
        return tree

    def _stated(self, table: dict[str, Any], section: str) -> Stated | None:
        try:
            stated = read_stated(table.get("stated", UNSTATED))
            return None if all(leaf == UNSTATED for leaf in items(stated.written)) else stated
        except ValueError as error:
            self._problem(str(error), section, "stated", f'numbers, words in quotes, lists; "{UNSTATED}": not stated')
            return None

    def _text(self, table: Mapping[str, Any], key: str, section: str, default: str = "") -> str:
        value = table.get(key, default)
        if isinstance(value, str):
            return value
        self._problem(f"{key} is not a string", section, key, f'{key} = "…"')
        return default

    def _flag(self, table: Mapping[str, Any], key: str, section: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self._problem(f"{key} is neither true nor false", section, key, f"{key} = true")
        return value is True

    def _name(self, written: str, section: str, key: str) -> str:
        name = normalize("NFKC", written)  # as Python reads names
        if not name.isidentifier() or iskeyword(name):
            self._problem(f"{written!r} cannot be a name", section, key, "letters, digits and _, no digit first")
        return name

    def _known_keys(self, table: Mapping[str, Any], known: tuple[str, ...], section: str) -> None:
        for key in table:
            if key not in known:
                self._problem(f"unknown key {key!r}", section, key, nearest(key, known))

    def _problem(self, what: str, section: str, key: str, remedy: str) -> None:
        self.problems.append(Problem(what, str(self._place(section, key)), remedy))

    def _place(self, section: str, key: str) -> Place:
        return self.places.get((section, key)) or self.places.get((section, ""), Place(self.file))


def _places(text: str, file: str) -> dict[tuple[str, str], Place]:
    """Where the value of each key begins; tomllib does not report it. Texts begin after their opening quote."""
    header = re.compile(r"\s*\[(\[)?\s*([\w-]+)\s*\]")
    key = re.compile(r"""\s*["']?([\w-]+)["']?\s*=\s*(?:\"{3}|'{3}|"|')?""")
    places: dict[tuple[str, str], Place] = {}
    section, count = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        if found := header.match(line):
            section = f"{found[2]} {count}" if found[1] else found[2]
            count += bool(found[1])
            places.setdefault((section, ""), Place(file, number))
        elif found := key.match(line):
            places.setdefault((section, found[1]), Place(file, number, found.end() + 1))
    return places
