"""A trace as plain data of bounded size: what JSON and the report carry.

Of every recorded value the first MOST_POSITIONS positions are kept, and of its features as many as fit when all values
together may have NUMBERS numbers: at least FEWEST_FEATURES of a vector of one head and four times as many of a whole
one. Scores and weights have no features: they are whole up to MOST_POSITIONS. A value has its full shape, so a reader
sees what was cut. The logits are left out: the steps have their likeliest tokens. Tokens, steps and the beam are never
cut. Numbers are rounded to a 100,000th of the value's largest; null stands for -inf, the score of what is masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid.reference.functions import Array
from pellucid.tracing.formulas import FUNCTIONS
from pellucid.tracing.interventions import switches

if TYPE_CHECKING:
    from pellucid.tracing.trace import Trace

MOST_POSITIONS = 64
NUMBERS = 250_000
FEWEST_FEATURES = 8
WHOLE = 4  # times as many features of a vector that no head divides
LOGITS = "output.logits"


def plain(trace: Trace, numbers: int | None = None, numbers_as: Callable[[Array], Any] | None = None) -> dict[str, Any]:
    """`numbers` is how many the values may have: with a trace under interventions, each has half of them. `numbers_as`
    writes an array: by default as lists of rounded numbers."""
    numbers_as = numbers_as or rounded
    numbers = numbers or (NUMBERS // 2 if trace.changed else NUMBERS)
    values = {name: value for name, value in trace.values.items() if name != LOGITS}
    features = fitting_features(values, numbers)
    unchanged = ("text", "translation", "source", "target", "detected", "given", "model", "engine")
    formulas = trace.formulas
    return {
        **{name: getattr(trace, name) for name in unchanged},
        "config": trace.config.to_dict(),
        "notes": list(trace.notes),
        "interventions": list(trace.interventions.given),
        "switches": [each.name for each in switches(trace.config)],
        "changed": plain(trace.changed, numbers, numbers_as) if trace.changed else None,
        "original_probabilities": _short(list(trace.original_probabilities)) or None,
        **{side: [*map(asdict, getattr(trace, side))] for side in ("source_tokens", "target_in", "target_out")},
        "alignment": numbers_as(trace.alignment[:MOST_POSITIONS, :MOST_POSITIONS]),
        "steps": [_short(asdict(step)) for step in trace.steps],
        "beam": _short(asdict(trace.beam)),
        "heads": [_short(asdict(head) | {"mainly": head.mainly}) for head in trace.heads],
        "scores": [_short(asdict(score)) for score in trace.scores],
        "labels": {stack: list(labels) for stack, labels in trace.labels.items()},
        "formulas": [_short(asdict(each)) for each in formulas],
        "functions": {name: text for name, text in FUNCTIONS.items() if any(name in each.terms for each in formulas)},
        "norms": {name: numbers_as(value) for name, value in trace.parameters.items() if ".norm." in name},
        "masks": {part: mask[:MOST_POSITIONS, :MOST_POSITIONS].tolist() for part, mask in trace.masks.items()},
        "kept": {"positions": MOST_POSITIONS, "features": WHOLE * features, "head_features": features},
        "values": {
            name: {"axes": [*axes(name)], "shape": [*value.shape], "values": numbers_as(cut(name, value, features))}
            for name, value in values.items()
        },
    }


def axes(name: str) -> tuple[str, ...]:
    """What the axes of a recorded value are."""
    match name.rsplit(".", 1)[-1]:
        case "products" | "scores" | "weights":
            return ("head", "query", "key")
        case "query" | "key" | "value" | "heads":
            return ("head", "position", "feature")
    return ("position", "feature")


def cut(name: str, value: Array, features: int) -> Array:
    """The first positions and features; heads are never cut."""
    names = axes(name)
    most = {"head": len(value), "feature": features if "head" in names else WHOLE * features}
    return value[tuple(slice(most.get(axis, MOST_POSITIONS)) for axis in names)]


def fitting_features(values: dict[str, Array], numbers: int) -> int:
    """How many features of a head's vectors may be kept."""
    features: int = max(value.shape[-1] for value in values.values())
    while features > FEWEST_FEATURES and sum(cut(*item, features).size for item in values.items()) > numbers:
        features //= 2
    return max(features, FEWEST_FEATURES)


def rounded(value: Array) -> list[Any]:
    """Lists of rounded numbers, None for -inf."""
    finite = np.isfinite(value)
    largest = np.abs(value[finite]).max(initial=0.0)
    decimals = 5 - math.floor(math.log10(largest)) if largest > 0 else 0
    short: NDArray[Any] = np.round(np.where(finite, value, 0.0), decimals) + 0.0  # no negative zero
    if not finite.all():
        short = short.astype(object)
        short[~finite] = None
    lists: list[Any] = short.tolist()
    return lists


def _short(data: Any) -> Any:
    """Numbers of six digits, all through a structure of dictionaries and sequences."""
    if isinstance(data, float):
        return float(f"{data:.6g}") + 0.0  # no negative zero
    if isinstance(data, dict):
        return {name: _short(value) for name, value in data.items()}
    return [_short(value) for value in data] if isinstance(data, list | tuple) else data
