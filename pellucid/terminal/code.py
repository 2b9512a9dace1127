"""A learner's checked code in the terminal: how each function was understood, what holds, and what fails and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pellucid.errors import counted
from pellucid.terminal.encoding import printable
from pellucid.worked.code import CheckedCode, CheckedFunction, CheckedProperty

RIGHT, WRONG = "green", "bold red"
MOST_ROWS, MOST_COLUMNS, MOST_LINES = 6, 8, 8


def print_code(checked: CheckedCode, console: Console) -> None:
    console.print(printable(Group(*_file(checked)), console))


def _file(checked: CheckedCode) -> Iterator[RenderableType]:
    yield Text(checked.path, "bold")
    if checked.problem:
        yield Text(f"  ✗ {checked.problem}", WRONG)
    for function in checked.functions:
        yield from _function(function)
    for name, reason in checked.left_out:
        yield Text(f"  · {name}: not checked ({reason})", "dim")
    if checked.printed.strip():
        yield Text("  printed: " + " | ".join(checked.printed.strip().splitlines()[:MOST_LINES]), "dim")
    yield _summary(checked)
    yield Text()


def _function(checked: CheckedFunction) -> Iterator[RenderableType]:
    yield Text.assemble("  ", (checked.name, "bold"), f", line {checked.line}, checked as {checked.task}")
    yield Padding(Text("; ".join(checked.understood), "dim"), (0, 0, 0, 4))
    shown: set[str] = set()
    for each in checked.properties:
        yield _property(each, shown)


def _property(each: CheckedProperty, shown: set[str]) -> RenderableType:
    """A cause and its example are shown once, with the first property that fails for it."""
    if each.failure is None:
        return Text(f"    ✓ {each.name}", RIGHT)
    lines: list[RenderableType] = [Text(f"    ✗ {each.name}", WRONG)]
    if each.cause in shown:
        return lines[0] if not each.cause else Text(f"    ✗ {each.name} (for the same cause)", WRONG)
    shown.add(each.cause)
    place = f"line {each.failure.answer.line}: " if each.failure.answer.line else ""
    details: list[RenderableType] = [Text(place + each.failure.words)]
    if each.cause:
        details.append(Text(f"likely cause: {each.cause}", WRONG))
    details.append(Text("the smallest example:", "dim"))
    details.append(_values(each))
    return Group(*lines, *(Padding(line, (0, 0, 0, 6)) for line in details))


def _values(each: CheckedProperty) -> Table:
    assert each.failure is not None
    table = Table.grid(padding=(0, 2, 0, 2))
    for name, value in each.example.items():
        table.add_row(Text(name, "dim"), Text(_text(value)))
    if each.failure.found is not None:
        table.add_row(Text("result", "dim"), Text(_text(each.failure.found), WRONG))
    if each.failure.right is not None:
        table.add_row(Text("right", "dim"), Text(_text(each.failure.right), RIGHT))
    return table


def _text(value: Any) -> str:
    """A value on a line, or on a few; what is too much ends in an ellipsis."""
    if isinstance(value, dict):  # a step function
        rows = [f"after {_tokens(key)}: {_text(np.array(row))}" for key, row in value["step"].items() if key[:1] == "0"]
        return "\n".join(rows[:MOST_ROWS] + ["…"] * (len(rows) > MOST_ROWS))
    if not isinstance(value, np.ndarray):
        return str(value)
    if value.ndim == 0:
        return _number(value)
    if value.ndim == 1:
        numbers = [_number(item) for item in value[:MOST_COLUMNS]] + ["…"] * (len(value) > MOST_COLUMNS)
        return f"[{', '.join(numbers)}]"
    rows = [_text(row) for row in value[:MOST_ROWS]] + ["…"] * (len(value) > MOST_ROWS)
    return f"[{', '.join(rows)}]"


def _tokens(key: str) -> str:
    return f"[{key.replace(',', ', ')}]" if key.count(",") == 0 else f"[…, {key.replace(',', ', ')}]"


def _number(value: Any) -> str:
    return str(bool(value)) if value.dtype.kind == "b" else f"{float(value):.4g}"


def _summary(checked: CheckedCode) -> Text:
    wrong = [function.name for function in checked.functions if not function.right]
    right = len(checked.functions) - len(wrong)
    text = Text()
    if right:
        text.append(f"✓ {right} right  ", RIGHT)
    if wrong:
        text.append(f"✗ {counted(len(wrong), 'function')} with a property that fails", WRONG)
    elif not checked.problem:
        text.append("Every property holds.", "dim")
    return text
