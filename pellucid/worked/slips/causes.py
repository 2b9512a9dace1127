"""The likely cause of a wrong step: a slip that explains every number of it comes before a law that is broken.

A slip is named only if it gives what is stated, and if that is no chance: a single digit fits many slips.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pellucid.worked.evaluation import Budget
from pellucid.worked.functions import Value
from pellucid.worked.intervals.arithmetic import Interval
from pellucid.worked.intervals.exactness import counts
from pellucid.worked.numbers import Stated, fits, same
from pellucid.worked.slips.laws import broken_law, shape_that_does_not_fit
from pellucid.worked.slips.rules import copied, variants
from pellucid.worked.slips.working import Working

COST_OF_A_TRY = 1000  # beside what it computes
MOST_NAMED = 3
CHANCE = 0.1  # of numbers as far from the right ones to agree with a slip: no more
Places = NDArray[np.bool_]


def cause_of(stated: Stated, wrong: Places, working: Working) -> str | None:
    return (
        slip_that_explains(stated, wrong, working)
        or shape_that_does_not_fit(stated, working)
        or broken_law(stated, wrong, working)
    )


def slip_that_explains(stated: Stated, wrong: Places, working: Working) -> str | None:
    """The slip that gives every number stated; or all of those that do, where they cannot be told apart."""
    if stated.values is None or _explains(stated, working.right):
        return None  # a slip without effect would explain it
    found = _named(stated, wrong, working, working.tree) or _named(stated, wrong, working, _inlined(working))
    return "; or ".join(found) or None


def _named(stated: Stated, wrong: Places, working: Working, tree: ast.expr | None) -> list[str]:
    found: list[str] = []
    if tree is None:
        return found
    without = working.slipped(tree)
    for cause, slipped in variants(tree, _swaps(working)):
        working.budget.work -= COST_OF_A_TRY
        if working.budget.work < 0:
            break
        kind = cause.partition(":")[0]
        if any(kind == other.partition(":")[0] for other in found):
            continue
        results = working.slipped(slipped)
        if any(_fits(stated, wrong, working, each) and not _among(each, without) for each in results):
            found.append(cause)
            if len(found) == MOST_NAMED:
                break
    return found


def _among(result: Interval, others: Sequence[Interval]) -> bool:
    """Whether a slip changes nothing here."""
    return any(same(other.value, result.value) for other in others)


def _inlined(working: Working) -> ast.expr | None:
    """The expression with the steps it speaks of written out: a slip may lie across two steps."""
    inlined = _Inline(working.definitions).visit(working.tree)
    return None if ast.unparse(inlined) == ast.unparse(working.tree) else inlined


class _Inline(ast.NodeTransformer):
    def __init__(self, definitions: Mapping[str, ast.expr]) -> None:
        self.definitions = definitions

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(copied(node))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.definitions.get(node.id, node)


def _swaps(working: Working) -> dict[str, Sequence[str]]:
    """For each name, those of other values of its shape: one may have been taken for the other."""
    shapes = {name: each.value.shape for name, each in working.stated.items() if each is not None}
    kinds = {name: each.value.dtype.kind for name, each in working.stated.items() if each is not None}
    return {
        name: [other for other in shapes if other != name and (shapes[other], kinds[other]) == (shape, kinds[name])]
        for name, shape in shapes.items()
    }


def _explains(stated: Stated, value: Value | None) -> bool:
    return bool(stated.within_one(value)[stated.known].all())


def _fits(stated: Stated, wrong: Places, working: Working, slipped: Interval) -> bool:
    """Whether a slip gives all that is stated, and so closely that it is no chance."""
    if not stated.follows(slipped)[stated.known].all():
        return False
    right = working.right
    if right is None or right.dtype.kind == "U" or not fits(slipped.value, right) or counts(working.tree):
        return True
    return _no_chance(stated, wrong, right, slipped)


def _no_chance(stated: Stated, wrong: Places, right: Value, found: Interval) -> bool:
    """Whether numbers as far from the right ones seldom agree with what was found."""
    assert stated.values is not None
    with np.errstate(all="ignore"):
        distance = np.abs(found.value - right)
        width = 2 * stated.unit + np.where(np.isfinite(found.high - found.low), found.high - found.low, np.inf)
        chance = np.where(np.isfinite(stated.values), np.fmin(width / distance, 1.0), 0.0)
    return bool(chance[wrong & stated.known].prod() < CHANCE)


def result_of_another(
    stated: Stated, wrong: Places, right: Value, results: Mapping[str, Value], budget: Budget
) -> str | None:
    """The step whose result was written here instead of this one's."""
    for name, result in results.items():
        budget.work -= 10 * result.size
        if budget.work < 0:
            break
        near = result.dtype.kind == "f" and _explains(stated, result)
        if near and _no_chance(stated, wrong, right, Interval.exactly(result)):
            return f"the result of another step: {name}"
    return None
