"""The numbers of a trace that an opened cell shows.

A cell is a number of a value, a weight or a sequence; a vector is a row or column of one. Its `index` has None where
the numbers run; `run` says how far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.config import ModelConfig
from pellucid.reference import functions as f
from pellucid.reference.functions import Array
from pellucid.tracing.formulas.formula import Formula, Operand

Data = dict[str, Any]
DERIVED = ("input.sum", "output.probabilities", "alignment")  # what can be opened beside the recorded values


@dataclass(frozen=True)
class Numbers:
    """The arrays that the symbols of the formulas stand for."""

    config: ModelConfig
    formulas: Sequence[Formula]
    values: Mapping[str, Array]  # as recorded
    parameters: Mapping[str, Array]
    tokens: Mapping[str, Sequence[int]]  # source_tokens, target_in, target_out: ids

    def value(self, name: str) -> Array:
        """A value as recorded, or derived from those that are."""
        if name in self.values:
            return self.values[name]
        if name == "output.probabilities":
            return f.softmax(self.values["output.logits"])
        if name == "alignment":
            [operand] = self.formula(name).operands.values()
            return np.asarray(self.values[operand.name].mean(axis=0))
        parts = [operand.name for operand in self.formula(name).operands.values()]  # of embedding + position
        return np.asarray(sum(self.values[part] for part in parts))

    def formula(self, name: str) -> Formula:
        """How the value of that name is computed."""
        return next(each for each in self.formulas if each.value == name)

    def names(self) -> list[str]:
        """What can be opened."""
        return [each.value for each in self.formulas if each.value in self.values or each.value.endswith(DERIVED)]


@dataclass(frozen=True)
class Cell:
    """The place of a number in the value of a formula."""

    numbers: Numbers
    formula: Formula
    head: int | None
    row: int
    column: int

    @property
    def config(self) -> ModelConfig:
        return self.numbers.config

    def operands(self, kind: str = "value") -> list[tuple[str, Operand]]:
        """The symbols of the formula that stand for a value, or a weight, in the order of the terms."""
        return [(label, operand) for label, operand in self.formula.operands.items() if operand.kind == kind]

    def one(self, label: str, operand: Operand, *index: int) -> Data:
        """A number of an operand. The index is that of the whole value or weight."""
        return self._shown(label, operand, index) | {"number": number(self._array(operand)[index])}

    def vector(self, label: str, operand: Operand, *index: int | None) -> Data:
        """The numbers of an operand along the places that are None."""
        array = self._array(operand)
        found = array[tuple(slice(None) if at is None else at for at in index)]
        return self._shown(label, operand, index) | {"run": [*found.shape], "numbers": _list(found.reshape(-1))}

    def in_head(self, operand: Operand) -> tuple[int, ...]:
        """The start of an index: the head of keys and values that this head uses, its own head, or none."""
        if self.head is None or operand.per is None:
            return ()
        shared = operand.per == "key_head" and self.formula.per == "head"
        return (self.head * self.config.key_heads // self.config.heads if shared else self.head,)

    def _array(self, operand: Operand) -> Array:
        numbers = self.numbers
        return numbers.parameters[operand.name] if operand.kind == "weight" else numbers.value(operand.name)

    @staticmethod
    def _shown(label: str, operand: Operand, index: Sequence[int | None]) -> Data:
        return {"kind": operand.kind, "name": operand.name, "symbol": label, "index": list(index)}


def number(value: np.floating) -> float | None:
    """None is -inf, the score of what is masked."""
    return float(value) + 0.0 if np.isfinite(value) else None


def _list(values: Array) -> list[float | None]:
    return [number(value) for value in values]
