"""Every step of a worked example computed again: from the true inputs, and from what the source states before it.

The first gives the right value; the second distinguishes a new mistake from a carried one. What is stated is short for
any number that is rounded or cut off to it, so what follows is an interval (`intervals/`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import Problem, UserError
from pellucid.worked.evaluation import MOST_WORK, Budget, ExpressionError, MisfitError
from pellucid.worked.evaluator import evaluate
from pellucid.worked.examples import Example, Step
from pellucid.worked.functions import Value
from pellucid.worked.intervals.arithmetic import Interval
from pellucid.worked.intervals.evaluation import evaluate_interval
from pellucid.worked.intervals.exactness import counts, moves
from pellucid.worked.numbers import UNSTATED, Stated, items, like
from pellucid.worked.slips.causes import cause_of, result_of_another
from pellucid.worked.slips.laws import shape_that_does_not_fit
from pellucid.worked.slips.working import Working
from pellucid.worked.written import WrittenNumber

Verdict = Literal["right", "rounded", "carried", "wrong"]
Known = TypeVar("Known", Value, Interval)
MOST_VALUES = 1_000_000  # numbers of all steps together
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
    hint: str | None = None  # where to look, for those who are not told the answer

    @property
    def open(self) -> int:
        """How many numbers are asked for and not stated."""
        if self.step.stated is not None:
            return int((~self.step.stated.known).sum())
        return int(self.step.asked)

    @property
    def share(self) -> float:
        """The part of what is asked for that is stated and not a new mistake."""
        if self.elements is None:
            return 0.0
        verdicts = list(items(self.elements))
        return sum(verdict in ("right", "rounded", "carried") for verdict in verdicts) / len(verdicts)

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
            "hint": self.hint,
            "open": self.open,
            "ours": self.step.ours,
        }


@dataclass(frozen=True)
class CheckedExample:
    example: Example
    steps: list[CheckedStep]

    @property
    def wrong(self) -> bool:
        return any(step.verdict == "wrong" for step in self.steps)

    @property
    def open(self) -> list[str]:
        """The steps of which something is asked for and not stated."""
        return [step.step.name for step in self.steps if step.open]

    @property
    def score(self) -> tuple[float, int]:
        """What is earned, of as many steps as are asked for. A carried number earns what a right one does."""
        asked = [step for step in self.steps if step.step.asked]
        return round(sum(step.share for step in asked), 2), len(asked)

    def to_dict(self) -> dict[str, Any]:
        steps = [step.to_dict() for step in self.steps]
        earned, possible = self.score
        score = {"earned": earned, "possible": possible}
        return {"id": self.example.id, "title": self.example.title, "score": score, "open": self.open, "steps": steps}


def check(example: Example) -> CheckedExample:
    """The verdict on every step. A step that cannot be computed for its size is an error of the request."""
    checker = _Checker(example)
    checked = [checker.check(step) for step in example.steps if not checker.exhausted]
    if checker.problems:
        raise UserError(checker.problems)
    return CheckedExample(example, _with_misplaced(checked, checker.budgets["slips"]))


class _Checker:
    """What is known after some steps: the true values, and what those that are stated may stand for."""

    def __init__(self, example: Example) -> None:
        self.exact = example.exact
        self.true: dict[str, Value | None] = dict(example.inputs)
        self.stated: dict[str, Interval | None] = {k: Interval.exactly(v) for k, v in example.inputs.items()}
        self.definitions: dict[str, ast.expr] = {}
        self.spoilt: set[str] = set()  # steps that are wrong or rest on a wrong one
        self.problems: list[Problem] = []
        # For all steps together, so that many large ones take no longer than one.
        self.budgets = {"true": Budget(), "stated": Budget(4 * MOST_WORK), "slips": Budget()}
        self.size = 0

    def check(self, step: Step) -> CheckedStep:
        right, misfit = self._right(step)
        followed = None
        with suppress(ExpressionError):  # what is stated may ask for too much, where the truth does not
            known = _known(step, self.stated)
            followed = None if known is None else evaluate_interval(step.tree, known, budget=self.budgets["stated"])
        due = right if right is not None or followed is None else followed.value
        if step.stated and due is not None and due.dtype.kind == "U":
            step = replace(step, stated=step.stated.as_words())
        carried_along = bool(step.needs() & self.spoilt)
        budget = self.budgets["slips"]
        working = Working(step.tree, right, followed, self.true, self.stated, self.definitions, misfit, budget)
        result = _verdict(working, step, carried_along)
        self.definitions[step.name] = step.tree
        self.true[step.name] = right
        self.stated[step.name] = self._stands_for(step, followed)
        if result.verdict == "wrong" or carried_along:
            self.spoilt.add(step.name)
        return result

    def _stands_for(self, step: Step, followed: Interval | None) -> Interval | None:
        if step.stated is None:
            return followed
        places = counts(step.tree) and step.stated.whole(followed)
        exact = self.exact or places or _copied(step, step.stated, followed)
        return step.stated.stands_for(followed, exact)

    def _right(self, step: Step) -> tuple[Value | None, str]:
        """The value of a step; or None, and why its values do not go together."""
        known = _known(step, self.true)
        if known is None:
            return None, ""  # reported at the step that should have given the missing value
        try:
            right = evaluate(step.tree, known, budget=self.budgets["true"])
        except MisfitError as error:
            return None, f"{error.what} (column {error.column + 1} of the expression)"
        except ExpressionError as error:
            self.problems.append(Problem(error.what, str(step.place.right(error.column)), error.remedy))
            return None, ""
        self.size += right.size * right.itemsize // 8
        if self.size > MOST_VALUES:
            self.problems.append(Problem("the values of all steps together are too large", str(step.place), "split it"))
        return right, ""

    @property
    def exhausted(self) -> bool:
        return self.size > MOST_VALUES or self.budgets["true"].work < 0


def _with_misplaced(steps: list[CheckedStep], budget: Budget) -> list[CheckedStep]:
    """Wrong steps without a cause that have the result of another: it may be a later one."""
    results = {each.step.name: each.right for each in steps if each.right is not None and not counts(each.step.tree)}
    found = []
    for each in steps:
        stated, right = each.step.stated, results.get(each.step.name)
        if each.verdict == "wrong" and each.cause is None and stated is not None and right is not None:
            wrong = np.array([verdict == "wrong" for verdict in items(each.elements)]).reshape(stated.known.shape)
            others = {name: value for name, value in results.items() if name != each.step.name}
            each = replace(each, cause=result_of_another(stated, wrong, right, others, budget))
        found.append(each)
    return found


def _known(step: Step, values: Mapping[str, Known | None]) -> dict[str, Known] | None:
    """The values that a step needs; None where one of them is missing."""
    needed = {name: values[name] for name in step.needs() if name in values}
    known = {name: value for name, value in needed.items() if value is not None}
    return known if len(known) == len(needed) else None


def _copied(step: Step, stated: Stated, followed: Interval | None) -> bool:
    """Whether numbers were copied, if to the wrong place: who copies a number does not round it."""
    if stated.values is None or followed is None or not followed.exact or not moves(step.tree):
        return False
    return bool(np.isin(stated.values[stated.known], followed.value).all())


def _verdict(working: Working, step: Step, carried_along: bool) -> CheckedStep:
    from_stated = None if working.followed is None else working.followed.value
    if step.stated is None:
        misfit = shape_that_does_not_fit(None, working)
        return CheckedStep(step, working.right, from_stated, "wrong" if misfit else None, None, misfit)
    grades = _grades(step.stated, working.right, working.followed, carried_along)
    if step.stated.values is None:  # rows of different lengths have no element that could be right
        elements: Any = like(step.stated.written, ("wrong" for _ in items(step.stated.written)))
        verdict: Verdict = "wrong"
    else:
        flat = zip(grades.ravel(), step.stated.known.ravel(), strict=True)
        elements = like(step.stated.written, (VERDICTS[grade] if known else None for grade, known in flat))
        verdict = VERDICTS[int(grades[step.stated.known].max())]
    cause = cause_of(step.stated, grades == VERDICTS.index("wrong"), working) if verdict == "wrong" else None
    return CheckedStep(step, working.right, from_stated, verdict, elements, cause)


def _grades(stated: Stated, right: Value | None, followed: Interval | None, carried_along: bool) -> NDArray[np.int64]:
    """For every number stated, which of VERDICTS it earns."""
    follows = stated.follows(followed)
    rounded = follows & (stated.within_one(right) | np.bool_(not carried_along))
    return np.asarray(np.select([stated.within_half(right), rounded, follows], [0, 1, 2], default=3), np.int64)


def _stated_item(leaf: Any) -> Any:
    if isinstance(leaf, str):
        return None if leaf == UNSTATED else leaf
    return _plain(leaf.value if isinstance(leaf, WrittenNumber) else float(leaf))


def _nested(value: Value | None) -> Any:
    return None if value is None else like(value.tolist(), map(_plain, value.ravel().tolist()))


def _plain(value: Any) -> Any:
    """JSON has no infinity and no nan: they become words."""
    return value if isinstance(value, str) or np.isfinite(value) else str(value)
