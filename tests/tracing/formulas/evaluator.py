"""Evaluates a formula as it is printed: its terms are parsed, and its symbols looked up among values and weights.

It shares nothing with the model: functions are written here once more, from their definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid.config import ModelConfig
from pellucid.tracing.formulas import Formula, Operand

Array = np.ndarray
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "sin": np.sin,
    "cos": np.cos,
    "ln": np.log,
    "sum": np.sum,
    "ReLU": lambda x: x * (x > 0),
    "GELU": np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True),
    "mean": lambda x: x.mean(axis=-1, keepdims=True),
    "mean_i": lambda x: x.mean(axis=0),
    "where": lambda mask, yes, no: np.asarray(np.where(mask == 1, yes, no)),
    "interleave": lambda a, b: np.array(
        [[x for pair in zip(u, v, strict=True) for x in pair] for u, v in zip(a, b, strict=True)]
    ),
    "pick": lambda p, y: np.array([row[column] for row, column in zip(p, y, strict=True)]),
}


class Evaluator:
    """All values of one pass by name, with the model's weights; derived values are added as they are computed."""

    def __init__(
        self,
        config: ModelConfig,
        values: Mapping[str, Array],
        weights: Mapping[str, Array],
        inputs: Mapping[str, Array],
    ) -> None:
        self.config = config
        self.values = dict(values)
        self.weights, self.inputs = weights, inputs  # inputs: ids and masks by name

    def evaluate(self, formula: Formula) -> Array:
        """The value as a whole: of all heads, if its symbol is one head's."""
        heads = {"head": self.config.heads, "key_head": self.config.key_heads}
        if formula.per is None:
            return self._one(formula, None)
        return np.array([self._one(formula, head) for head in range(heads[str(formula.per)])])

    def _one(self, formula: Formula, head: int | None) -> Array:
        symbols = {label: self._look_up(operand, formula, head) for label, operand in formula.operands.items()}
        result = Parser(list(formula.terms), symbols, self._functions()).parse()
        assert result.shape == formula.shape, (formula.value, result.shape, formula.shape)
        return result

    def _look_up(self, operand: Operand, formula: Formula, head: int | None) -> Any:
        if operand.kind == "weight":
            array = self.weights[operand.name].T if operand.transposed else self.weights[operand.name]
            if operand.per is not None:
                assert head is not None
                size = self.config.d_head
                array = array[..., head * size : (head + 1) * size]
        elif operand.kind == "positions":
            array = np.arange(operand.shape[0]).reshape(operand.shape)
        elif operand.kind == "pairs":
            array = np.arange(operand.shape[1]).reshape(operand.shape)
        elif operand.kind == "value":
            array = self.values[operand.name]
            if operand.per == "head" or (operand.per == "key_head" and formula.per == "key_head"):
                array = array[head]
            elif operand.per == "key_head":
                assert head is not None
                array = array[head * self.config.key_heads // self.config.heads]
            elif operand.per == "each":
                assert all(one.shape == operand.shape for one in array)
                return array
        else:
            array = self.inputs[operand.name]
        assert array.shape == operand.shape, (formula.value, operand, array.shape)
        return array

    def _functions(self) -> dict[str, Callable[..., Array]]:
        return FUNCTIONS | {"concat": _concat, "rotate": self._rotate}

    def _rotate(self, x: Array, angles: Array) -> Array:
        turned, half = x.copy(), x.shape[-1] // 2
        for pair in range(half):
            first, second = (
                (2 * pair, 2 * pair + 1) if self.config.position_layout == "interleaved" else (pair, pair + half)
            )
            sin, cos = np.sin(angles[:, pair]), np.cos(angles[:, pair])
            turned[:, first] = x[:, first] * cos - x[:, second] * sin
            turned[:, second] = x[:, first] * sin + x[:, second] * cos
        return turned


def _concat(*parts: Array) -> Array:
    """Matrices side by side, or those of all heads."""
    return np.concatenate([*(parts[0] if len(parts) == 1 else parts)], axis=-1)


class Parser:
    """sum := product (+ | − product)*; product := power (· | ⊙ | / | nothing: matrix product, power)*; …"""

    def __init__(
        self, terms: list[str], symbols: Mapping[str, Any], functions: Mapping[str, Callable[..., Array]]
    ) -> None:
        self.terms, self.symbols, self.functions = [*terms, ""], symbols, functions

    def parse(self) -> Array:
        result = self._sum()
        assert self.terms == [""], f"left over: {self.terms}"
        return np.asarray(result)

    def _next(self, *expected: str) -> str:
        term = self.terms.pop(0)
        assert not expected or term in expected, (term, expected)
        return term

    def _sum(self) -> Any:
        left = -self._product() if self._skip("−") else self._product()
        while self.terms[0] in ("+", "−"):
            left = left + self._product() if self._next() == "+" else left - self._product()
        return left

    def _product(self) -> Any:
        left = self._power()
        while self.terms[0] not in ("", "+", "−", ")", "]", ","):
            if self.terms[0] in ("·", "⊙"):
                self._next()
                left = left * self._power()
            elif self._skip("/"):
                left = left / self._power()
            else:
                left = left @ self._power()
        return left

    def _power(self) -> Any:
        base = self._primary()
        while self.terms[0] in ("^", "^T", "["):
            match self._next():
                case "^T":
                    base = base.T
                case "^":
                    base = base ** self._primary()
                case _:
                    base = base[self._sum()]
                    self._next("]")
        return base

    def _primary(self) -> Any:
        term = self._next()
        if term in self.symbols:
            return self.symbols[term]
        if re.fullmatch(r"\d+(\.\d+)?", term):
            return float(term)
        if term == "−∞":
            return -math.inf
        if term == "√":
            return self._primary() ** 0.5
        if term == "(":
            result = self._sum()
            self._next(")")
            return result
        assert term in self.functions, f"{term!r} is no symbol, number or function"
        self._next("(")
        arguments = [self._sum()]
        while self._skip(","):
            arguments.append(self._sum())
        self._next(")")
        return self.functions[term](*arguments)

    def _skip(self, term: str) -> bool:
        found = self.terms[0] == term
        if found:
            self._next()
        return found
