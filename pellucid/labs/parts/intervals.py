"""Means over seeds, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

# Student's t for 95% (two-sided) by degrees of freedom, as tables print it; beyond 20, that of 20.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip


class Interval(NamedTuple):
    """A mean and the 95% confidence interval around it. Of one value nothing is known about its spread."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def interval(values: Sequence[float]) -> Interval:
    """The mean of one value per seed, by Student's t."""
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Interval(mean, mean, mean)
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    half = STUDENT[min(count - 1, len(STUDENT)) - 1] * deviation / sqrt(count)
    return Interval(mean, mean - half, mean + half)


def paired(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The mean difference first - second, of values that share a seed."""
    return interval([a - b for a, b in zip(first, second, strict=True)])
