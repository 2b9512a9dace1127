"""Confidence intervals, against the density of Student's t and a count of how often they hold the true mean."""

from __future__ import annotations

from math import gamma, pi, sqrt

import numpy as np
import pytest

from pellucid.labs.parts.intervals import STUDENT, interval, paired


def probability_within(t: float, degrees: int) -> float:
    """That a value of Student's t lies between -t and t: its density, added up by Simpson's rule."""
    x = np.linspace(-t, t, 20_001)
    constant = gamma((degrees + 1) / 2) / (sqrt(degrees * pi) * gamma(degrees / 2))
    density = constant * (1 + x**2 / degrees) ** (-(degrees + 1) / 2)
    weights = np.ones_like(x)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return float((density * weights).sum() * (x[1] - x[0]) / 3)


@pytest.mark.parametrize("degrees", range(1, len(STUDENT) + 1))
def test_the_table_of_students_t(degrees: int) -> None:
    assert probability_within(STUDENT[degrees - 1], degrees) == pytest.approx(0.95, abs=1e-4)


def test_the_interval_holds_the_true_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(1).normal(3.0, 2.0, (2000, 5))
    inside = [found.low <= 3.0 <= found.high for found in map(interval, draws.tolist())]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)  # three standard errors


def test_small_cases_by_hand() -> None:
    assert interval([4.0]) == (4.0, 4.0, 4.0)
    mean, low, high = interval([1.0, 3.0])  # sd sqrt(2), standard error 1, t 12.706
    assert (mean, low, high) == pytest.approx((2.0, 2.0 - 12.706, 2.0 + 12.706))
    assert paired([3.0, 5.0], [1.0, 3.0]) == (2.0, 2.0, 2.0)
