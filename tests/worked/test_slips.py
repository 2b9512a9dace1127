"""The list of slips: each, worked in NumPy on random numbers, is named; where another fits as well, both are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pellucid.worked import CheckedStep, check
from pellucid.worked.examples import read_text
from pellucid.worked.slips.rules import SlipKind, kinds
from tests.worked.wrong_workings import WRONG

LAWS = ("a copied row", "a distribution", "an average", "a broken", "no position", "a shape")  # are no slips
PAIRS = list(zip(kinds(), WRONG.items(), strict=True))  # in one order


def drawn(shape: Any, random: np.random.Generator) -> Any:
    """Numbers of two decimals in the shape that an example describes, or its value."""
    if not isinstance(shape, str):
        return np.asarray(float(shape))
    sizes = [int(size) for size in shape.strip("+").split("x")] if shape.strip("+-") else []
    low = 0.2 if shape.endswith("+") else -2
    return np.round(random.uniform(low, 2, sizes), 2)


def toml(value: Any, digits: int) -> str:
    if np.ndim(value):
        return "[" + ", ".join(toml(item, digits) for item in value) + "]"
    return f"{float(value):.{digits}f}"


def step_with(kind: SlipKind, work: Callable[[dict[str, Any]], Any], seed: int, digits: int) -> CheckedStep | None:
    random = np.random.default_rng(seed)
    inputs = {name: drawn(shape, random) for name, shape in kind.inputs.items()}
    with np.errstate(all="ignore"):
        stated = work(inputs)
    lines = ["[inputs]", *(f"{name} = {toml(value, 2)}" for name, value in inputs.items())]
    lines += ["[[steps]]", 'name = "step"', f'expression = "{kind.expression}"']
    lines += [f"stated = {toml(stated, 0 if kind.expression.startswith('argmax') else digits)}"]
    step = check(read_text("\n".join(lines), "test")).steps[0]
    return step if step.verdict == "wrong" else None  # by chance a slip may change nothing


def is_named(kind: SlipKind, step: CheckedStep) -> bool:
    """Whether a slip is among those that are named. Where none of them is, no other may be."""
    name = ".*".join(map(re.escape, re.split(r"\{\w\}", kind.name)))  # {n} stands for a part of the expression
    causes = (step.cause or "").split("; or ")
    found = any(re.fullmatch(name, cause) for cause in causes)
    assert found or causes == [""] or str(step.cause).startswith(LAWS), (kind.name, causes)
    return found


def named(kind: SlipKind, work: Callable[[dict[str, Any]], Any], seeds: range, digits: int = 4) -> tuple[int, int]:
    """How often a slip is named, of how many times it made a difference."""
    steps = [step for seed in seeds if (step := step_with(kind, work, seed, digits)) is not None]
    return sum(is_named(kind, step) for step in steps), len(steps)


def test_every_slip_is_worked_in_numpy() -> None:
    assert len(kinds()) >= 100
    assert len({kind.name for kind in kinds()}) == len(kinds())
    assert all(kind.name.split()[0].strip(":") == key.split()[0] for kind, (key, _) in PAIRS)


def test_slips_are_named() -> None:
    counts = {kind.name: named(kind, work, range(2)) for kind, (_, work) in PAIRS}
    missed = [name for name, (right, tried) in counts.items() if right < tried]
    assert len(missed) <= len(PAIRS) // 10, missed


@pytest.mark.proof
@pytest.mark.parametrize("digits", [3, 4, 6])
def test_nine_of_ten_slips_are_always_named(digits: int) -> None:
    rates = {kind.name: named(kind, work, range(40), digits) for kind, (_, work) in PAIRS}
    missed = {name: counts for name, counts in rates.items() if not counts[1] or counts[0] < 0.95 * counts[1]}
    assert len(missed) <= len(PAIRS) // 10, missed


@pytest.mark.proof
def test_with_two_digits_no_slip_is_taken_for_another() -> None:
    """A single number of two digits may fit by chance, so that nothing is named."""
    rates = [named(kind, work, range(40), 2) for kind, (_, work) in PAIRS]
    assert sum(right for right, _ in rates) >= 0.9 * sum(tried for _, tried in rates)


def test_a_slip_that_may_give_no_number_explains_none() -> None:
    text = """
    [inputs]
    x = [-2.5, 2.5, -2.0]
    [[steps]]
    name = "mean"
    expression = "mean(x)"
    stated = -0.7
    [[steps]]
    name = "variance"
    expression = "var(x)"
    stated = 5.1
    [[steps]]
    name = "sd"
    expression = "sqrt(variance)"
    stated = 5.9
    """
    *before, sd = check(read_text(text, "test")).steps
    assert [step.verdict for step in before] == ["right", "right"]
    assert (sd.verdict, sd.cause) == ("wrong", None)  # and not "mean stands for variance"
