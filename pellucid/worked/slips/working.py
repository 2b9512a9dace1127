"""One step computed again: what is right, what follows from the stated steps, and the values behind both."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from pellucid.worked.evaluation import Budget, ExpressionError
from pellucid.worked.evaluator import evaluate
from pellucid.worked.functions import FUNCTIONS, FitError, Value
from pellucid.worked.intervals.arithmetic import Interval
from pellucid.worked.intervals.evaluation import evaluate_interval
from pellucid.worked.slips.functions import SLIPPED_FUNCTIONS

ALL_FUNCTIONS = {**FUNCTIONS, **SLIPPED_FUNCTIONS}


@dataclass(frozen=True)
class Working:
    tree: ast.expr
    right: Value | None
    followed: Interval | None  # what follows from the stated steps
    true: Mapping[str, Value | None]
    stated: Mapping[str, Interval | None]
    definitions: Mapping[str, ast.expr]  # the expressions of the steps before
    misfit: str  # why the true values do not go together in this step; empty when they do
    budget: Budget  # for trying slips

    @property
    def from_stated(self) -> Value | None:
        return None if self.followed is None else self.followed.value

    def value(self, tree: ast.expr) -> Value | None:
        """The value of an expression, worked from the stated steps; None when these do not go with it."""
        values = {name: interval.value for name, interval in self.stated.items() if interval is not None}
        try:
            return evaluate(tree, values, budget=self.budget)
        except ExpressionError:
            return None

    def slipped(self, tree: ast.expr) -> list[Interval]:
        """What an expression with a slip in it gives: worked from the stated steps, and from the true ones."""
        true = {name: Interval.exactly(value) for name, value in self.true.items() if value is not None}
        found: list[Interval] = []
        for values in ({name: each for name, each in self.stated.items() if each is not None}, true):
            try:
                found.append(evaluate_interval(tree, values, ALL_FUNCTIONS, self.budget))
            except (ExpressionError, FitError):
                continue
        return found
