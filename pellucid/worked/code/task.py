"""What a checked function is, as data: the names it goes by, its arguments, what must hold of it, and the known slips.

A *case* is one input, by role: {"q": ..., "k": ..., "v": ...}. A *reading* is how the function is understood: which of
several conventions, all of them right, it follows, such as what True means in its mask. A *slip* is a knob of a formula
turned wrongly: a cause is named when the formula with the slip gives what the function gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.worked.code.process import Answer

Array = NDArray[Any]
Case = dict[str, Any]
Reading = Mapping[str, Any]
Size = tuple[int, ...]
Fill = Callable[..., Array]  # sizes -> an array of numbers
Knobs = dict[str, str]
Slip = tuple[tuple[str, ...], Knobs]  # the causes, and the knobs that are turned for them


class MisfitError(Exception):
    """A slip that is impossible for this case."""


@dataclass(frozen=True)
class Outcome:
    """What a function, or a formula with a slip, gives for a case."""

    value: Array | None = None
    answer: Answer = field(default_factory=Answer)


@dataclass(frozen=True)
class Failure:
    """How a property fails. `kind` tells failures apart while an example is made smaller."""

    kind: str  # error, nothing, shape, dtype, not finite, numbers, changed, leak
    words: str
    found: Array | None = None
    right: Array | None = None
    answer: Answer = field(default_factory=Answer)


Run = Callable[[Case], Outcome]
Check = Callable[[Run, Case, Array], Failure | None]
"""Judges a function by running it on a case, of which the right result is given."""


def agrees(run: Run, case: Case, right: Array) -> Failure | None:
    """The result is the right one, to what float32 can hold."""
    outcome = run(case)
    return compare(outcome, right)


def compare(outcome: Outcome, right: Array) -> Failure | None:
    answer, found = outcome.answer, outcome.value
    if answer.error:
        return Failure(f"error {answer.error}", f"{answer.error}: {answer.message}", None, right, answer)
    if found is None:
        return Failure("nothing", f"it returns {answer.described()}, not numbers", None, right, answer)
    if found.shape != right.shape:
        words = f"the shape is {shape(found)}, right is {shape(right)}"
        return Failure("shape", words, found, right, answer)
    if close(found, right):
        return None
    if np.isfinite(right).all() and not np.isfinite(found).all():
        what = "not a number (nan)" if np.isnan(found).any() else "infinite"
        return Failure("not finite", f"the result is {what}", found, right, answer)
    if found.dtype.kind in "iub" and right.dtype.kind == "f":
        return Failure("dtype", "the result is cut to integers", found, right, answer)
    return Failure("numbers", "the numbers are wrong", found, right, answer)


def close(found: Array, right: Array, tolerance: float = 3e-4) -> bool:
    return found.shape == right.shape and bool(np.allclose(found, right, tolerance, tolerance, equal_nan=True))


def shape(array: Array) -> str:
    return f"({', '.join(map(str, array.shape))})" if array.ndim else "that of a single number"


def unchanged(run: Run, case: Case, right: Array) -> Failure | None:
    """The function leaves its arguments as they were."""
    outcome = run(case)
    answer = outcome.answer
    if not answer.changed:
        return compare(outcome, right) if answer.error else None
    return Failure("changed", f"it changes its argument {' and '.join(answer.changed)}", answer=answer)


@dataclass(frozen=True)
class Property:
    """Something that must hold. It is tried on random numbers, or on all that are made of `values`."""

    name: str
    values: tuple[float, ...] = ()
    check: Check = agrees
    cause: str = ""  # what it most likely is if it fails and no slip explains it
    change: Callable[[Case], Case] = dict  # what makes the case one of this property
    applies: Callable[[Reading], bool] = lambda _: True
    sizes: tuple[Size, ...] = ()  # of the cases, smallest first; empty: those of the task


@dataclass(frozen=True)
class Task:
    """A function that is recognised and checked."""

    name: str
    names: tuple[str, ...]
    signatures: tuple[tuple[str, ...], ...]  # the roles that are needed, in the usual order; several if several will do
    roles: Mapping[str, tuple[str, ...]]  # each with the names of its argument
    readings: Callable[[Mapping[str, str], str], list[Reading]]  # of the roles that are bound, and the source text
    words: Callable[[Reading], list[str]]  # what was understood
    sizes: tuple[Size, ...]
    build: Callable[[Fill, Size, Reading], Case]
    arguments: Callable[[Case, Reading], Case]  # a case as it is passed under this reading
    right: Callable[[Case, Reading], Array]
    slipped: Callable[..., Array]  # (case, reading, **knobs): the right result if no knob is turned
    slips: Mapping[str, tuple[Knobs, ...]]  # cause -> each way to turn the knobs that is called so
    properties: tuple[Property, ...]
    read: Callable[[Answer], list[Array]] = Answer.arrays
    built_by: tuple[str, ...] = ()  # the parts of a reading that its cases depend on; empty: all
    combined: bool = True  # whether two slips at once are looked for
    plain_cases: int = 1  # of each of the two largest sizes, by which it is settled how the function is understood

    def single_slips(self) -> list[Slip]:
        return [((cause,), knobs) for cause, each in self.slips.items() for knobs in each]

    def pairs_of_slips(self) -> list[Slip]:
        """Two slips at once, as far as they turn different knobs."""
        return [
            ((*first, *second), knobs | others)
            for (first, knobs), (second, others) in combinations(self.single_slips(), 2)
            if self.combined and not knobs.keys() & others.keys() and first != second
        ]
