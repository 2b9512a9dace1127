"""A checked example as plain data: what the page, the sheet and the HTTP API show of it.

Numbers are texts, as somebody writes them: 0.090 claims a digit more than 0.09.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from pellucid.worked.checker import CheckedExample, CheckedStep
from pellucid.worked.examples import Example
from pellucid.worked.functions import Value
from pellucid.worked.numbers import UNSTATED, items, like, same, shown, stated_decimals
from pellucid.worked.typeset import formula, name_of
from pellucid.worked.written import WrittenNumber

MOST_ROWS, MOST_COLUMNS = 24, 16  # of a computed value


def plain(checked: CheckedExample) -> dict[str, Any]:
    example = checked.example
    return {
        "id": example.id,
        "title": example.title,
        "about": " ".join(example.about.split()),
        "inputs": [
            {"name": name, "symbol": name_of(name), "written": input_text(value)}
            for name, value in example.inputs.items()
        ],
        "steps": [_step(step) for step in checked.steps],
    }


def input_text(value: Value) -> Any:
    """An input as somebody would write it: a text, or lists of texts in its shape."""
    return like(value.tolist(), (leaf if isinstance(leaf, str) else f"{leaf:.12g}" for leaf in value.ravel().tolist()))


def to_toml(example: Example) -> str:
    """The example as a file, with what is stated as it is written."""
    lines = [f"{key} = {_quoted(getattr(example, key))}" for key in ("id", "title", "about") if getattr(example, key)]
    lines += ["exact = true"] if example.exact else []
    lines += ["", "[inputs]", *(f"{name} = {_toml(value.tolist())}" for name, value in example.inputs.items())]
    for step in example.steps:
        lines += ["", "[[steps]]", f"name = {_quoted(step.name)}", f"expression = {_quoted(step.expression)}"]
        if step.asked:
            lines.append(f"stated = {_toml(step.stated.written if step.stated else UNSTATED)}")
        lines += [f"note = {_quoted(step.note)}"] if step.note else []
        lines += ["ours = true"] if step.ours else []
    return "\n".join(lines) + "\n"


def _toml(written: Any) -> str:
    if isinstance(written, list):
        return f"[{', '.join(map(_toml, written))}]"
    if isinstance(written, str | WrittenNumber):
        return _quoted(written if isinstance(written, str) else written.text)
    return f"{written:.12g}" if isinstance(written, float) else _stated_text(written)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # a TOML string has the escapes of JSON


def _step(checked: CheckedStep) -> dict[str, Any]:
    step, right, followed = checked.step, checked.right, checked.from_stated
    digits = stated_decimals(step.stated)
    differs = followed is not None and not same(right, followed)
    return {
        "name": step.name,
        "formula": formula(step.name, step.tree),
        "note": step.note,
        "ours": step.ours,
        "open": checked.open > 0,
        "verdict": checked.verdict,
        "cause": checked.cause,
        "hint": checked.hint,
        "stated": stated_text(checked),
        "elements": checked.elements,
        "right": _value(right, digits),
        "from_stated": _value(followed, digits) if differs else None,
    }


def stated_text(checked: CheckedStep) -> Any:
    """What is stated, as texts; where nothing is, but a result is asked for, a "?" for each number that is due."""
    stated, right = checked.step.stated, checked.right
    if stated is not None:
        return like(stated.written, map(_stated_text, items(stated.written)))
    if not checked.step.asked or right is None or right.size > MOST_ROWS * MOST_COLUMNS:
        return None
    return like(right.tolist(), (UNSTATED for _ in range(right.size)))


def _value(value: Value | None, digits: int | None) -> dict[str, Any] | None:
    """A computed value to read: its shape, and its first rows and columns."""
    if value is None:
        return None
    most = (*(MOST_ROWS for _ in value.shape[:-1]), MOST_COLUMNS)
    visible = value[tuple(map(slice, most[: value.ndim]))]
    return {"shape": list(value.shape), "values": like(visible.tolist(), iter(shown(visible, digits)))}


def _stated_text(leaf: Any) -> str:
    if isinstance(leaf, WrittenNumber):
        return leaf.text
    return str(leaf).lower().replace("infinity", "inf") if isinstance(leaf, Decimal) else str(leaf)
