"""C1: the certificate against a search for lines, the perceptron rule, and verdicts on made-up measurements."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from pellucid.labs import Result, committed
from pellucid.labs.xor import POINTS, certificate, decide, perceptron_rule


@pytest.mark.parametrize("labels", list(product([0, 1], repeat=4)))
def test_the_certificate_agrees_with_a_search_for_a_line(labels: tuple[int, ...]) -> None:
    """Lines with weights and a bias from a grid: it has one for every function that can be separated."""
    grid = np.arange(-2, 2.25, 0.5)
    found = any(
        np.array_equal(POINTS @ np.array([first, second]) + bias > 0, np.array(labels) == 1)
        for first, second, bias in product(grid, grid, grid - 0.25)
    )
    assert certificate(np.array(labels))["separable"] == found == (labels not in ((0, 1, 1, 0), (1, 0, 0, 1)))


def test_the_sum_of_the_certificate_is_zero() -> None:
    """0 = (0,0) with weight -1, (0,1) and (1,0) with +1, (1,1) with -1, each with a 1 for the bias."""
    assert certificate(np.array([0, 1, 1, 0]))["combination"] == [1, 1, 1, 1]
    signed = [(-0, -0, -1), (0, 1, 1), (1, 0, 1), (-1, -1, -1)]
    assert [sum(column) for column in zip(*signed, strict=True)] == [0, 0, 0]


def test_the_perceptron_rule_ends_where_it_is_proved_to() -> None:
    for labels in product([0, 1], repeat=4):
        right = perceptron_rule(np.array(labels), seed=4)
        assert (right == 1.0) == certificate(np.array(labels))["separable"]


def test_each_part_of_the_criterion_counts(quick: Callable[..., Result]) -> None:
    data = quick("xor").data

    def changed(unit: str, function: str, right: float) -> str:
        other = copy.deepcopy(data)
        other["single_units"][unit][function][0] = right
        return decide(other).outcome

    assert decide(data).outcome == "shown"
    assert changed("logistic", "XOR", 1.0) == changed("perceptron", "XOR", 1.0) == "refuted"
    assert changed("logistic", "OR", 0.75) == "not decided"


def test_the_boundary_ends_with_xor() -> None:
    last = np.array(committed("xor").data["boundary"]["panels"][-1]["values"])
    corner = {(first, second): last[15 - 10 * second, 5 + 10 * first] for first in (0, 1) for second in (0, 1)}
    assert {point for point, value in corner.items() if value > 0} == {(0, 1), (1, 0)}
