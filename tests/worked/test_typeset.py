"""Formulas as MathML: well-formed, with parentheses where they are needed and names with their indices."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pellucid.worked.evaluator import parse
from pellucid.worked.typeset import formula, symbol


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Q @ K.T / sqrt(d_k)", ("mfrac", "msqrt", "msup", "msub")),
        ("(a + b) * c", ("(",)),
        ("x[0, 1:]", ("msub",)),
        ("exp(x) // 2 - -abs(x) % 3", ("msup", "⌊", "|", "mod")),
        ("sum([a, b], axis=0)", ("[", "axis")),
    ],
)
def test_formulas_are_set(expression: str, expected: tuple[str, ...]) -> None:
    text = formula("y", parse(expression))
    ElementTree.fromstring(text)
    assert all(part in text for part in expected)


def visible(text: str) -> str:
    return "".join(ElementTree.fromstring(text).itertext())


def test_parentheses_stand_only_where_they_are_needed() -> None:
    assert visible(formula("y", parse("a - (b - c)"))) == "y=a−(b−c)"
    assert visible(formula("y", parse("(a - b) - c"))) == "y=a−b−c"
    assert visible(formula("y", parse("(a * b) + c"))) == "y=a·b+c"
    assert visible(formula("y", parse("(a + b) ** 2"))) == "y=(a+b)2"
    assert visible(formula("y", parse("(A @ B).T"))) == "y=(AB)⊤"
    assert visible(formula("y", parse("(a / b) ** 2"))) == "y=(ab)2"
    assert visible(formula("y", parse("weights @ V"))) == "y=weights·V"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("W_Q", "<msub><mi>W</mi><mi>Q</mi></msub>"),
        ("Q1", "<msub><mi>Q</mi><mn>1</mn></msub>"),
        ("d_model", "<msub><mi>d</mi><mtext>model</mtext></msub>"),
        ("token_12", "<msub><mtext>token</mtext><mn>12</mn></msub>"),
        ("first_layer", "<mtext>first layer</mtext>"),
        ("gamma", "<mi>γ</mi>"),
        ("x", "<mi>x</mi>"),
    ],
)
def test_names_are_set(name: str, text: str) -> None:
    assert symbol(name) == text
