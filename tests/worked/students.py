"""Students who work a template with a calculator: what they keep in it, how they write it down, where they go wrong."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from pellucid.worked import CheckedStep
from tests.worked.workings import WORKINGS, Array, Values, checked, random_inputs

Random = np.random.Generator
ROUNDINGS = [
    decimal.ROUND_HALF_EVEN, decimal.ROUND_HALF_UP, decimal.ROUND_DOWN, decimal.ROUND_UP,
    decimal.ROUND_FLOOR, decimal.ROUND_CEILING,
]  # fmt: skip


def rounded(value: Any, digits: int, how: str) -> Any:
    """Numbers cut or rounded to some decimals, as floats; words and places as they are."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    step = Decimal(1).scaleb(-digits)

    def one(number: float) -> float:
        shown = (
            Decimal(f"{number:.12g}") if np.isfinite(number) else None
        )  # a calculator shows 3.3, not 3.3000000000000003
        return number if shown is None else float(shown.quantize(step, how))

    with decimal.localcontext(prec=400):
        return np.vectorize(one, otypes=[float])(array)[()]


@dataclass
class Student:
    """Works a template step by step. `mistakes` change the result of some steps; what follows is worked from it."""

    kind: str
    inputs: Values
    digits: dict[str, int]  # written at each step
    rounding: str
    keeps: int | None  # digits more than written that are worked with; None: all of the calculator's
    mistakes: dict[str, Callable[[Any], Any]] = field(default_factory=dict)

    def work(self) -> tuple[Values, Values]:
        """What is written, and what is worked on with."""
        values, written = dict(self.inputs), {}
        for name, compute in WORKINGS[self.kind]:
            with np.errstate(all="ignore"):
                result = self.mistakes.get(name, lambda x: x)(compute(values))
            written[name] = rounded(result, self.digits[name], self.rounding)
            kept = self.keeps if self.keeps is None else self.digits[name] + self.keeps
            values[name] = result if kept is None else rounded(result, kept, self.rounding)
        return written, values

    def checked(self, written: Values) -> dict[str, CheckedStep]:
        return checked(self.kind, self.inputs, written, self.digits)


def random_student(random: Random) -> Student:
    kind = str(random.choice(sorted(WORKINGS)))
    names = [name for name, _ in WORKINGS[kind]]
    same = int(random.integers(1, 7))
    each = random.random() < 0.5  # other digits at each step
    digits = {name: int(random.integers(1, 7)) if each else same for name in names}
    keeps = [None, 0, 1, 3][int(random.integers(4))]
    inputs = random_inputs(kind, int(random.integers(2**32)))
    return Student(kind, inputs, digits, str(random.choice(ROUNDINGS)), keeps)


def some_mistake(random: Random, inputs: Values) -> Callable[[Any], Any]:
    """One number, a row or all of them changed: shifted, multiplied, of the wrong sign, or something else."""
    how, extent, seed = random.integers(4), random.integers(3), int(random.integers(2**32))

    def mistaken(value: Any) -> Any:
        array = np.array(value)
        again = np.random.default_rng(seed)
        chosen = np.zeros(array.shape, np.bool_)
        place = tuple(int(again.integers(size)) for size in array.shape)
        chosen[place[: array.ndim - int(extent)] if extent and array.ndim else place] = True
        if array.dtype.kind == "U":
            array[chosen] = again.choice(inputs["vocabulary"])
        elif array.dtype.kind == "i":
            array[chosen] = again.integers(4)
        else:
            array[chosen & np.isfinite(array)] = _changed(array[chosen & np.isfinite(array)], int(how), again)
        return array[()]

    return mistaken


def _changed(numbers: Array, how: int, random: Random) -> Array:
    if how == 0:
        return np.asarray(numbers + random.uniform(-3, 3))
    if how == 1:
        return np.asarray(numbers * random.uniform(0.2, 5))
    if how == 2:
        return -numbers
    return random.uniform(-4, 4, numbers.shape)


@dataclass(frozen=True)
class Replaced:
    """A mistake in one number."""

    place: tuple[int, ...]
    number: float

    def __call__(self, value: Any) -> Any:
        array = np.array(value)
        array[self.place] = self.number
        return array[()]


def unexplained(student: Student, name: str, random: Random) -> Replaced | None:
    """A mistake in one number that no rounding of the steps before explains; None where every number is explained.

    How far rounding leads is tried out: each number before the step is moved by a unit, one way and the other, and
    all of them together the way that moves the result most.
    """
    written, _ = student.work()
    base = np.asarray(dict(WORKINGS[student.kind])[name]({**student.inputs, **written}))
    if base.dtype.kind != "f" or not np.isfinite(base).any():
        return None
    places = np.argwhere(np.isfinite(base))
    place = tuple(int(at) for at in places[random.integers(len(places))])
    low, high = reach(student, name, written, place)
    unit = 10.0 ** -student.digits[name]
    if not np.isfinite(low + high):
        return None
    # A unit for how the result is written, and one for how the mistaken number is.
    beyond = 2 * unit + random.uniform(0.1, 3) * ((high - low) / 2 + unit)
    return Replaced(place, high + beyond if random.random() < 0.5 else low - beyond)


def reach(student: Student, name: str, written: Values, place: tuple[int, ...]) -> tuple[float, float]:
    """How far one number of a step may lie, when those before it that were written are short for others."""
    compute = dict(WORKINGS[student.kind])[name]
    names = [earlier for earlier, _ in WORKINGS[student.kind]]
    before = {n: np.array(written[n]) for n in names[: names.index(name)] if np.asarray(written[n]).dtype.kind == "f"}

    def result(moved: dict[str, Array]) -> float:
        values = {**student.inputs, **written, **{name: value[()] for name, value in moved.items()}}
        return float(np.asarray(compute(values))[place])

    moves = {n: np.zeros(value.shape) for n, value in before.items()}
    for earlier, value in before.items():
        unit = 10.0 ** -student.digits[earlier]
        for at in map(tuple, np.argwhere(np.isfinite(value))):
            step = np.zeros(value.shape)
            step[at] = unit
            rise = result({**before, earlier: value + step}) - result({**before, earlier: value - step})
            moves[earlier][at] = np.sign(rise) * unit
    ends = [result({n: value + sign * moves[n] for n, value in before.items()}) for sign in (-1, 1)]
    return min(ends), max(ends)
