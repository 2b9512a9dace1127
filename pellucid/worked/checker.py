"""Every step of a worked example computed again: from the true inputs, and from what the source states before it.

The first gives the right value; the second distinguishes a new mistake from a carried one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import Problem, UserError
from pellucid.worked.causes import Working, cause_of, shape_that_does_not_fit
from pellucid.worked.evaluator import ExpressionError, MisfitError, evaluate
from pellucid.worked.examples import Example, Step
from pellucid.worked.functions import Value
from pellucid.worked.numbers import UNSTATED, Stated, items, like

Verdict = Literal["right", "rounded", "carried", "wrong"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # from best to worst


@dataclass(frozen=True)
class CheckedStep:
    """A step and what became of it. Without anything stated it has no verdict."""

    step: Step
    right: Value | None  # None when the values it needs do not go together
    from_stated: Value | None
    verdict: Verdict | None = None
    elements: Any = None  # verdicts in the shape of what is stated; None where nothing is
    cause: str | None = None

    def to_dict(self) -> dict[str, Any]:
        stated = self.step.stated
        return {
            "name": self.step.name,
            "expression": self.step.expression,
            "verdict": self.verdict,
            "stated": stated and like(stated.written, map(_stated_item, items(stated.written))),
            "right": _nested(self.right),
            "from_stated": _nested(self.from_stated),
            "elements": self.elements,
            "cause": self.cause,
        }


@dataclass(frozen=True)
class CheckedExample:
    example: Example
    steps: list[CheckedStep]

    @property
    def wrong(self) -> bool:
        return any(step.verdict == "wrong" for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        steps = [step.to_dict() for step in self.steps]
        return {"id": self.example.id, "title": self.example.title, "steps": steps}


def check(example: Example) -> CheckedExample:
    """The verdict on every step. A step that cannot be computed for its size is an error of the request."""
    true: dict[str, Value | None] = dict(example.inputs)
    stated: dict[str, Value | None] = dict(example.inputs)
    spoilt: set[str] = set()  # steps that are wrong or rest on a wrong one
    checked: list[CheckedStep] = []
    problems: list[Problem] = []
    for step in example.steps:
        try:
            right, misfit = _recompute(step, true)
        except ExpressionError as error:
            problems.append(Problem(error.what, str(step.place.right(error.column)), error.remedy))
            right, misfit = None, ""
        from_stated = None
        with suppress(ExpressionError):  # what is stated may ask for too much, where the truth does not
            from_stated, _ = _recompute(step, stated)
        carried_along = bool(step.needs() & spoilt)
        result = _verdict(Working(step.tree, right, from_stated, true, stated, misfit), step, carried_along)
        checked.append(result)
        true[step.name] = right
        stated[step.name] = step.stated.filled(from_stated) if step.stated else from_stated
        if result.verdict == "wrong" or carried_along:
            spoilt.add(step.name)
    if problems:
        raise UserError(problems)
    return CheckedExample(example, checked)


def _recompute(step: Step, values: Mapping[str, Value | None]) -> tuple[Value | None, str]:
    """The value of a step; or None, and why its values do not go together."""
    known = {name: value for name, value in values.items() if value is not None}
    if step.needs() & (values.keys() - known.keys()):
        return None, ""  # reported at the step that should have given the missing value
    try:
        return evaluate(step.tree, known), ""
    except MisfitError as error:
        return None, f"{error.what} (column {error.column + 1} of the expression)"


def _verdict(working: Working, step: Step, carried_along: bool) -> CheckedStep:
    if step.stated is None:
        misfit = shape_that_does_not_fit(None, working)
        return CheckedStep(step, working.right, working.from_stated, "wrong" if misfit else None, None, misfit)
    grades = _grades(step.stated, working.right, working.from_stated, carried_along)
    if step.stated.values is None:  # rows of different lengths have no element that could be right
        elements: Any = like(step.stated.written, ("wrong" for _ in items(step.stated.written)))
        verdict: Verdict = "wrong"
    else:
        flat = zip(grades.ravel(), step.stated.known.ravel(), strict=True)
        elements = like(step.stated.written, (VERDICTS[grade] if known else None for grade, known in flat))
        verdict = VERDICTS[int(grades[step.stated.known].max())]
    cause = cause_of(step.stated, grades == VERDICTS.index("wrong"), working) if verdict == "wrong" else None
    return CheckedStep(step, working.right, working.from_stated, verdict, elements, cause)


def _grades(stated: Stated, right: Value | None, from_stated: Value | None, carried_along: bool) -> NDArray[np.int64]:
    """For every number stated, which of VERDICTS it earns."""
    follows = stated.within_one(from_stated)
    rounded = follows & (stated.within_one(right) | np.bool_(not carried_along))
    return np.asarray(np.select([stated.within_half(right), rounded, follows], [0, 1, 2], default=3), np.int64)


def _stated_item(leaf: Any) -> Any:
    return None if leaf == UNSTATED else _plain(leaf if isinstance(leaf, str) else float(leaf))


def _nested(value: Value | None) -> Any:
    return None if value is None else like(value.tolist(), map(_plain, value.ravel().tolist()))


def _plain(value: Any) -> Any:
    """JSON has no infinity and no nan: they become words."""
    return value if isinstance(value, str) or np.isfinite(value) else str(value)
