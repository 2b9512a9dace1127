"""Expressions: what they compute, what they refuse, and that nothing anybody writes crashes, hangs or escapes."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import UserError
from pellucid.worked import check
from pellucid.worked.evaluator import MOST_CHARACTERS, ExpressionError, MisfitError, evaluate, names, parse
from pellucid.worked.examples import read_text
from pellucid.worked.functions import FUNCTIONS, MOST_ELEMENTS

pytestmark = pytest.mark.filterwarnings("error")  # nothing is muttered beside the verdicts

VALUES: dict[str, Any] = {
    "x": np.array([1.0, -2.0, 3.0]),
    "A": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "B": np.array([[0.5, -1.0], [2.0, 0.0]]),
    "n": np.array(3.0),
    "words": np.array(["the", "cat", "sat"]),
}


def value(expression: str) -> Any:
    return evaluate(parse(expression), VALUES).tolist()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("7 // 2 + 7 % 4 + 2 ** 3", 14),
        ("-x", [-1, 2, -3]),
        ("A @ x", [6, 12]),
        ("A.T", [[1, 4], [2, 5], [3, 6]]),
        ("x @ x", 14),
        ("A[0, 1:]", [2, 3]),
        ("A[-1][0]", 4),
        ("A[:, 0]", [1, 4]),
        ("[1, n]", [1, 3]),
        ("words[argmax(x)]", "sat"),
        ("words[argmax(A)]", ["sat", "sat"]),
        ("join([words[0], words[2]])", "the sat"),
        ("sum(A)", 21),
        ("sum(A, axis=0)", [5, 7, 9]),
        ("mean(A, axis=1, keepdims=True)", [[2], [5]]),
        ("var(x)", 38 / 9),
        ("max(A) - min(A)", 5),
        ("prod(x)", -6),
        ("relu(x)", [1, 0, 3]),
        ("shape(A @ A.T)", [2, 2]),
        ("concat(A, B)", [[1, 2, 3, 0.5, -1], [4, 5, 6, 2, 0]]),
        ("where(relu(x), x, 0)", [1, 0, 3]),
        ("mask_future(B)", [[0.5, -np.inf], [2, 0]]),
        ("causal(2)", [[1, 0], [1, 1]]),
        ("softmax([0, 0])", [0.5, 0.5]),
        ("attention(zeros(1, 3), A, B)", [[1.25, -0.5]]),  # no query prefers a key: the mean of the values
        ("attention(zeros(2, 3), A, B, causal(2))", [[0.5, -1], [1.25, -0.5]]),
        ("layer_norm([1, 3])", [-1, 1]),
        ("layer_norm([1, 3], 2, 1)", [-1, 3]),
        ("rms_norm([3, 3])", [1, 1]),
        ("sqrt(zeros(2, 1) + 4)", [[2], [2]]),
        ("abs(x) * ones(3)", [1, 2, 3]),
        ("x < 0", [0, 1, 0]),
        ("(x >= 1) * (x != 3)", [1, 0, 0]),
        ("words == words[1]", [0, 1, 0]),
        ("sum(words[:, None] == words, axis=0)", [1, 1, 1]),
        ("x[:, None] + [0, 10]", [[1, 11], [-2, 8], [3, 13]]),
        ("sort(x)", [-2, 1, 3]),
        ("argsort(x)", [1, 0, 2]),
        ("argmin(A, axis=0)", [0, 0, 0]),
        ("top_k(x, 2)", [3, 1]),
        ("top_k_places([1, 2, 2], 2)", [1, 2]),
        ("words[top_k_places(x, 2)]", ["sat", "the"]),
        ("cumsum(A)", [[1, 3, 6], [4, 9, 15]]),
        ("arange(3)", [0, 1, 2]),
        ("one_hot([2, 0], 3)", [[0, 0, 1], [1, 0, 0]]),
        ("minimum(x, 1)", [1, -2, 1]),
        ("maximum(x, A)", [[1, 2, 3], [4, 5, 6]]),
        ("floor(x / 2)", [0, -1, 1]),
        ("1 / 0", np.inf),
        ("9 ** 9 ** 9", np.inf),
        ("\n  n\n + 1 ", 4),
    ],
)
def test_what_expressions_compute(expression: str, expected: Any) -> None:
    found = value(expression)
    if isinstance(found, float | list) and np.asarray(found).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert found == expected


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "open('x')",
        "().__class__",
        "x.__class__",
        "x.dtype",
        "A.T.base",
        "sum.__globals__",
        "(lambda: 1)()",
        "[y for y in x]",
        "{1: 2}",
        "{x}",
        "f'{x}'",
        "'word'",
        "b'x'",
        "1j",
        "...",
        "None",
        "x if n else A",
        "x and A",
        "not x",
        "~n",
        "x < n < x",
        "x in A",
        "x is A",
        "n := 3",
        "x = 3",
        "import os",
        "sum(*x)",
        "sum(**x)",
        "[*x]",
        "eval(x)",
        "sum",
        "sum(x)(x)",
        "x.T()",
        "A[None, None, None]",
        "None + 1",
        "A['a']",
        "softmax over(x)",
        "yield",
        "await x",
        "x; x",
        "",
        "   ",
        "(",
        "x\0",
        "1" * 400 + "." + "e" + "9" * 50 + "x",
    ],
)
def test_what_is_refused(expression: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(parse(expression), VALUES)


@pytest.mark.parametrize(
    "expression",
    [
        "zeros(1000000000)",
        "zeros(1e300)",
        "zeros(600, 600)",
        "causal(100000)",
        "sinusoidal(1000000, 1000000)",
        "zeros(300000) + zeros(300000, 1)",
        "zeros(300000, 1) @ zeros(1, 300000)",
        "zeros(500, 500) @ zeros(500, 500)",
        "concat(zeros(200000), zeros(200000))",
        "where(zeros(600, 1), zeros(600), 0)",
        "layer_norm(zeros(600, 1), zeros(600))",
        "[zeros(200000), zeros(200000)]",
        "x[zeros(300000)] + zeros(300000, 1)",
        "zeros(1, 300000)[zeros(3)]",
        "[[[[[1]]]]]",
        "(" * 220 + "1" + ")" * 220,
        "-" * 300 + "1",
        "1" + " + 1" * 100,
        "1" * (MOST_CHARACTERS + 1),
        "exp(" * 60 + "1" + ")" * 60,
        "1" * 400,
        " + ".join(["exp(zeros(250000))"] * 20),
        "arange(1e9)",
        "one_hot(zeros(1000), 1000)",
        "zeros(600)[:, None] < zeros(600)",
    ],
)
def test_what_would_take_too_much(expression: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(parse(expression), VALUES)


@pytest.mark.parametrize(
    ("expression", "column", "what"),
    [
        ("x + sotfmax(A)", 4, "sotfmax"),
        ("x + A.shape", 4, ".shape"),
        ("A @ A", 0, "3 columns meet 2 rows"),
        ("1 + (A @ A)", 5, "3 columns meet 2 rows"),
        ("n + A[7]", 4, "no such place"),
        ("x + words", 0, "words are not numbers"),
        ("x + softmax(x, y=1)", 4, "unexpected keyword argument 'y'"),
        ("x + softmax()", 4, "missing"),
        ("«x»", 0, "cannot be read"),
        ("  é + foo(1)", 6, "foo"),
    ],
)
def test_errors_tell_the_column(expression: str, column: int, what: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(parse(expression), VALUES)
    assert what in caught.value.what
    assert caught.value.column == column


def test_a_misfit_is_told_from_a_wrong_expression() -> None:
    with pytest.raises(MisfitError):
        evaluate(parse("A + B"), VALUES)
    with pytest.raises(ExpressionError) as caught:
        parse("foo(A)")
    assert not isinstance(caught.value, MisfitError)


def test_the_nearest_function_is_proposed() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("sotfmax(x)")
    assert caught.value.remedy == "did you mean 'softmax'?"


def test_the_names_of_an_expression() -> None:
    assert [name.id for name in names(parse("softmax(Q @ K.T / sqrt(d_k), axis=a)[i, j:] + [Q]"))] == [
        "Q",
        "K",
        "d_k",
        "a",
        "i",
        "j",
        "Q",
    ]


def run(expression: str) -> None:
    """Whatever it is, it has a value of bounded size or it is refused with a place inside the text."""
    try:
        tree = parse(expression)
        result = evaluate(tree, VALUES)
    except ExpressionError as error:
        inside = 0 <= error.column <= len(expression)
    else:
        inside = isinstance(result, np.ndarray) and result.dtype.kind in "fU" and result.size <= MOST_ELEMENTS
    assert inside


PIECES = [*FUNCTIONS, *VALUES, *"()[]{}.,:;@+-*/%=<>!~^&|'\"\\ \t\n0123456789_eTj", "**", "//", "axis=", ".T", "inf"]
PIECES += ["lambda", "import", "__class__", "if", "else", "for", "in", "é", "²", "\0", "1e308", "99999999999"]


def grammar() -> st.SearchStrategy[str]:
    """Expressions that are nearly always well formed, over values of every kind."""
    atoms = st.sampled_from([*VALUES, "0", "1", "2.5", "1e9", "inf", "-3", "[1, 2]", "[]", "A[0]", "x[1:2]"])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operator = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "@"])
        call = st.builds(
            lambda name, arguments, keyword: f"{name}({', '.join(arguments)}{keyword})",
            st.sampled_from(sorted(FUNCTIONS)),
            st.lists(inner, min_size=1, max_size=3),
            st.sampled_from(["", "", ", axis=0", ", axis=-1", ", axis=1, keepdims=True", ", axis=5", ", axis=x"]),
        )
        return st.one_of(
            st.builds(lambda a, o, b: f"({a} {o} {b})", inner, operator, inner),
            st.builds(lambda a: f"({a}).T", inner),
            st.builds(lambda a, i: f"({a})[{i}]", inner, inner),
            st.builds(lambda a, i, j: f"({a})[{i}:{j}]", inner, inner, inner),
            st.builds(lambda a: f"-({a})", inner),
            call,
            call,
        )

    return st.recursive(atoms, larger, max_leaves=8)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_pieces_put_together_break_it(expression: str) -> None:
    run(expression)


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_no_text_breaks_it(expression: str) -> None:
    run(expression)


@settings(max_examples=600)
@given(grammar())
def test_no_well_formed_expression_breaks_it(expression: str) -> None:
    run(expression)


STATED = ["1.0", "[1.0, -2.00, 3]", "[[0.5, -1], [2, 0]]", '"cat"', '["the", "?", "sat"]', "[[1], [2, 3]]"]
STATED += ['[nan, -inf, "?"]', "[[1, 2, 3], [4, 5, 6.5]]", "[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]", "[2, 3]"]


def run_whole(expression: str, stated: list[str]) -> None:
    """The same in a file, three times in a row, with something stated that has nothing to do with it."""
    lines = ["[inputs]", *(f"{name} = {json.dumps(value.tolist())}" for name, value in VALUES.items())]
    for number, (text, before) in enumerate(zip(stated, ("x", "step_0", "step_1"), strict=True)):
        chained = re.sub(r"\bx\b", before, expression)
        lines += ["[[steps]]", f'name = "step_{number}"', f'expression = "{chained}"', f"stated = {text}"]
    try:
        found = check(read_text("\n".join(lines), "test")).to_dict()["steps"]
    except UserError as error:
        sound = all(problem.where.startswith("test:") for problem in error.problems)
    else:
        sound = all(step["verdict"] in ("right", "rounded", "carried", "wrong") for step in found)
        json.dumps(found, allow_nan=False)
    assert sound


@settings(max_examples=300)
@given(grammar(), st.lists(st.sampled_from(STATED), min_size=3, max_size=3))
def test_nothing_stated_breaks_the_check(expression: str, stated: list[str]) -> None:
    run_whole(expression, stated)


@pytest.mark.proof
@settings(max_examples=5_000)
@given(grammar(), st.lists(st.sampled_from(STATED), min_size=3, max_size=3))
def test_nothing_at_all_breaks_the_check(expression: str, stated: list[str]) -> None:
    run_whole(expression, stated)


@pytest.mark.proof
@settings(max_examples=20_000)
@given(grammar() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_nothing_breaks_it(expression: str) -> None:
    run(expression)
