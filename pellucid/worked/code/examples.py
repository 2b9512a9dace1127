"""Inputs to try a function on, and the smallest one on which it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pellucid.worked.code.task import Array, Case, Failure, Fill, Size

SMALL_INTEGERS = (0.0, 1.0, 2.0, -1.0)
ATTEMPTS = 8  # of inputs of one size, in search of a small one that fails


def fills(values: Sequence[float], count: int, start: int = 0) -> Iterator[Fill]:
    """What fills arrays with random numbers: normally distributed, or drawn from these values."""
    for seed in range(start, start + count):
        generator = np.random.default_rng(seed)
        yield _normal(generator) if not values else _drawn(generator, values)


def _normal(generator: np.random.Generator) -> Fill:
    def fill(*sizes: int) -> Array:
        return generator.standard_normal(sizes)

    return fill


def _drawn(generator: np.random.Generator, values: Sequence[float]) -> Fill:
    def fill(*sizes: int) -> Array:
        return generator.choice(np.asarray(values), sizes)

    return fill


Build = Callable[[Fill, Size], Case]
Fails = Callable[[Case], Failure | None]


def smallest(build: Build, fails: Fails, sizes: Sequence[Size], values: Sequence[float]) -> tuple[Case, Failure] | None:
    """The first of the smallest size that fails, with as many zeros and ones as it keeps failing with."""
    for size in sizes:
        for fill in fills(values or SMALL_INTEGERS, ATTEMPTS):
            case = build(fill, size)
            if failure := fails(case):
                return simplified(case, failure, fails, values[:1] or (0.0, 1.0))
    return None


def simplified(case: Case, failure: Failure, fails: Fails, values: Sequence[float]) -> tuple[Case, Failure]:
    for role, array in case.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            continue
        for place in np.ndindex(array.shape):
            for value in values:
                if case[role][place] == value:
                    break
                changed = {**case, role: case[role].copy()}
                changed[role][place] = value
                if found := fails(changed):
                    case, failure = changed, found
                    break
    return case, failure
