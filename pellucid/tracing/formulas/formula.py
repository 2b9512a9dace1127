"""A formula as data: what it is called, its terms, and which arrays its symbols stand for.

The right-hand side is a list of terms: symbols (the keys of `operands`), numbers, functions and operators. Between two
factors without an operator stands a matrix product, `⊙` multiplies element by element, `·` by a number, and `^T`
transposes. Labels are written as `W_{Q,i}` and `Z^c`: `_` for a subscript, `^` for a superscript.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pellucid.config import ModelConfig

Stack = Literal["encoder", "decoder"]
Kind = Literal["value", "weight", "tokens", "mask", "positions", "pairs"]
Per = Literal["head", "key_head", "each"] | None

SUBLAYERS: dict[Stack, tuple[str, ...]] = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
# What the functions of the terms compute, by the name they have there.
FUNCTIONS = {
    "softmax": "softmax(x)_k = e^{x_k} / Σ_j e^{x_j} over a row; e^{−∞} = 0",
    "where": "where(mask, a, b): a where the mask is 1, else b",
    "mean": "the mean over a row: of the features of one token",
    "mean_i": "the mean over all heads i",
    "concat": "side by side: the columns of the first, then those of the next",
    "interleave": "columns taken in turn: the first of each, then the second of each, …",
    "rotate": "rotate(x, Θ): each pair (u, v) of features becomes (u cos θ − v sin θ, u sin θ + v cos θ)",
    "sin": "the sine of every number",
    "cos": "the cosine of every number",
    "ln": "the natural logarithm of every number",
    "sum": "the sum of all numbers",
    "pick": "pick(p, y): from row t of p the number in column y_t",
    "ReLU": "ReLU(x) = max(0, x)",
    "GELU": "GELU(x) = x Φ(x), where Φ is the distribution function of the standard normal distribution",
    "SiLU": "SiLU(x) = x / (1 + e^{−x})",
}


@dataclass(frozen=True)
class Operand:
    """What a symbol stands for."""

    kind: Kind
    name: str  # of a recorded or derived value, a weight, a mask, "source_tokens", "target_in", "target_out"
    shape: tuple[int, ...]  # of the symbol: of one head, where it belongs to a head
    per: Per = None  # head: the part of head i; key_head: of the keys and values that head i uses; each: of all heads
    transposed: bool = False  # the weight is stored transposed


@dataclass(frozen=True)
class Formula:
    """How one value is computed from others."""

    value: str  # the name of what it computes
    stack: Stack
    layer: int | None
    sublayer: str  # input, self_attention, cross_attention, feed_forward, output; alignment, score
    operation: str  # how one number of it is computed: see `pellucid.tracing.formulas.cells`
    symbol: str
    shape: tuple[int, ...]
    terms: tuple[str, ...]
    operands: Mapping[str, Operand]
    per: Per = None
    derived: bool = False  # not among the recorded values, but computed from them
    changed: tuple[str, ...] = ()  # the interventions that put another value in its place

    def __str__(self) -> str:
        """On one line: Q_i = X_0 W_Q,i + b_Q,i"""
        line = " ".join((self.symbol, "=", *self.terms)).replace("{", "").replace("}", "")
        return re.sub(r" (?=[)\],^\[])|(?<=[(\[√^]) |(?<=\w) (?=\()", "", line)


@dataclass(frozen=True)
class Place:
    """A sublayer of the model, or the input or output of a stack, and the lengths of what it works on."""

    config: ModelConfig
    stack: Stack
    layer: int | None
    sublayer: str
    queries: int
    keys: int
    number: int = 0  # of the sublayers before it in its stack

    @property
    def name(self) -> str:
        """The name of its values, without the last part."""
        if self.layer is None:
            return f"{self.stack}.{self.sublayer}"
        return f"{self.stack}.layers.{self.layer}.{self.sublayer}"

    @property
    def letter(self) -> str:
        """X in the encoder, Y in the decoder: of what is handed from sublayer to sublayer, and of the input."""
        return "X" if self.stack == "encoder" else "Y"

    @property
    def mark(self) -> str:
        """What distinguishes the symbols of this sublayer from those of another in the same layer."""
        return {"cross_attention": "^c", "feed_forward": "^f"}.get(self.sublayer, "")

    @property
    def whole(self) -> tuple[int, int]:
        """The shape of a matrix with a vector of d_model features for every token."""
        return self.queries, self.config.d_model


Symbol = tuple[str, Operand]  # a label and what it stands for
Term = str | Symbol


def indexed(letter: str, index: str | int) -> str:
    """A label with a subscript: X_3, X_{12}."""
    return f"{letter}_{index}" if len(str(index)) == 1 else f"{letter}_{{{index}}}"


def value(name: str, label: str, shape: tuple[int, ...], per: Per = None) -> Symbol:
    return label, Operand("value", name, shape, per)


def weight(name: str, label: str, shape: tuple[int, ...], per: Per = None, *, transposed: bool = False) -> Symbol:
    return label, Operand("weight", name, shape, per, transposed)


def formula(place: Place, operation: str, result: Symbol, *terms: Term, derived: bool = False) -> Formula:
    """The formula whose right-hand side are the terms."""
    label, made = result
    return Formula(
        value=made.name,
        stack=place.stack,
        layer=place.layer,
        sublayer=place.sublayer,
        operation=operation,
        symbol=label,
        shape=made.shape,
        terms=tuple(term if isinstance(term, str) else term[0] for term in terms),
        operands=dict(term for term in terms if not isinstance(term, str)),
        per=made.per,
        derived=derived,
    )
