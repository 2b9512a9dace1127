"""A checked example as plain data: what the page, the sheet and the HTTP API show of it.

Numbers are texts, as somebody writes them: 0.090 claims a digit more than 0.09.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pellucid.worked.checker import CheckedExample, CheckedStep
from pellucid.worked.functions import Value
from pellucid.worked.numbers import items, like, same, shown, stated_decimals
from pellucid.worked.typeset import formula, name_of

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


def _step(checked: CheckedStep) -> dict[str, Any]:
    step, right, followed = checked.step, checked.right, checked.from_stated
    digits = stated_decimals(step.stated)
    differs = followed is not None and not same(right, followed)
    return {
        "name": step.name,
        "formula": formula(step.name, step.tree),
        "note": step.note,
        "verdict": checked.verdict,
        "cause": checked.cause,
        "stated": step.stated and like(step.stated.written, map(_stated_text, items(step.stated.written))),
        "elements": checked.elements,
        "right": _value(right, digits),
        "from_stated": _value(followed, digits) if differs else None,
    }


def _value(value: Value | None, digits: int | None) -> dict[str, Any] | None:
    """A computed value to read: its shape, and its first rows and columns."""
    if value is None:
        return None
    most = (*(MOST_ROWS for _ in value.shape[:-1]), MOST_COLUMNS)
    visible = value[tuple(map(slice, most[: value.ndim]))]
    return {"shape": list(value.shape), "values": like(visible.tolist(), iter(shown(visible, digits)))}


def _stated_text(leaf: Any) -> str:
    return str(leaf).lower().replace("infinity", "inf") if isinstance(leaf, Decimal) else str(leaf)
