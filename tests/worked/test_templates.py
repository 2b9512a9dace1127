"""Random workings of every template: right ones pass at any number of digits, one altered number is found."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.worked import CheckedStep, check, read, templates
from tests.worked.students import Random, Student, reach
from tests.worked.workings import WORKINGS, Values, checked, random_inputs

pytestmark = pytest.mark.filterwarnings("error")  # nothing is muttered beside the verdicts

KINDS = st.sampled_from(sorted(WORKINGS))
SEEDS = st.integers(0, 2**32 - 1)


def as_read(value: Any, digits: int) -> Any:
    """The value that its text stands for."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    return np.vectorize(lambda number: float(f"{number:.{digits}f}"), otypes=[float])(array)[()]


def work(kind: str, inputs: Values, digits: int, after_rounding: bool, alter: dict[str, Any] | None = None) -> Values:
    """What somebody writes down who works the template; `alter` replaces one step by something else."""
    values, written = dict(inputs), {}
    for name, compute in WORKINGS[kind]:
        with np.errstate(all="ignore"):
            written[name] = (alter or {}).get(name, compute(values))
        values[name] = as_read(written[name], digits) if after_rounding else written[name]
    return written


def test_there_is_a_working_for_every_template() -> None:
    assert WORKINGS.keys() == templates().keys()


@pytest.mark.parametrize("kind", sorted(WORKINGS))
def test_a_template_passes_as_it_is_and_explains_itself(kind: str) -> None:
    path = templates()[kind]
    assert [step.verdict for step in check(read(str(path))).steps] == ["right"] * len(WORKINGS[kind])
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#")
    assert "pellucid check FILE" in text


@given(KINDS, SEEDS, st.integers(1, 6))
def test_a_correct_working_is_right_at_any_number_of_digits(kind: str, seed: int, digits: int) -> None:
    inputs = random_inputs(kind, seed)
    steps = checked(kind, inputs, work(kind, inputs, digits, after_rounding=False), digits)
    assert {name: step.verdict for name, step in steps.items()} == dict.fromkeys(steps, "right")


@given(KINDS, SEEDS, st.integers(1, 6))
def test_working_on_with_rounded_numbers_is_never_wrong(kind: str, seed: int, digits: int) -> None:
    inputs = random_inputs(kind, seed)
    steps = checked(kind, inputs, work(kind, inputs, digits, after_rounding=True), digits)
    assert {step.verdict for step in steps.values()} <= {"right", "rounded"}


def altered(inputs: Values, written: Values, digits: int, random: Random) -> tuple[str, Any, Any]:
    """One step with one number, or word, changed: its name, its new content, and the place of the change."""
    name = str(random.choice(sorted(written)))
    value = np.array(written[name])
    place = tuple(int(random.integers(size)) for size in value.shape)
    if value.dtype.kind == "U":
        value[place] = random.choice([word for word in inputs["vocabulary"] if word != value[place]])
    elif value.dtype.kind == "i":  # a place in the vocabulary
        value[place] = (value[place] + random.integers(1, 4)) % 4
    elif np.isfinite(value[place]):
        units = round(3 * 10 ** random.uniform(0, 3.2))  # 3 to 5000, the small as often as the large
        value[place] += random.choice([-1, 1]) * units * 10.0**-digits
    else:
        value[place] = 0.5
    return name, value[()], place


def find_altered_number(seed: int) -> bool:
    """Fails unless the number changed is found, and nothing else; False where rounding may explain the change."""
    random = np.random.default_rng(seed)
    kind, digits = str(random.choice(sorted(WORKINGS))), int(random.integers(3, 7))
    inputs = random_inputs(kind, seed)
    written = work(kind, inputs, digits, True)
    name, change, place = altered(inputs, written, digits, random)
    steps = checked(kind, inputs, work(kind, inputs, digits, True, {name: change}), digits)
    right, changed = np.asarray(steps[name].right), np.asarray(change)
    if right.dtype.kind == "f":  # rounding before it may explain the change, or bring the truth to where it went
        unit = 10.0**-digits
        student = Student(kind, inputs, dict.fromkeys(written, digits), ROUND_HALF_EVEN, 0)
        low, high = reach(student, name, {step: as_read(value, digits) for step, value in written.items()}, place)
        near = abs(right[place] - changed[place]) < 2 * unit
        if near or low - 2 * unit <= changed[place] <= high + 2 * unit:
            return False

    assert steps[name].verdict == "wrong"
    element = steps[name].elements
    for index in place:
        element = element[index]
    assert element == "wrong"
    after = dependents(steps, name)
    for other, step in steps.items():
        if other in after:
            assert step.verdict == verdict_by_distance(step, digits)
        elif other != name:
            assert step.verdict in ("right", "rounded")
    return True


def dependents(steps: dict[str, CheckedStep], name: str) -> set[str]:
    found = {name}
    for other, step in steps.items():
        if step.step.needs() & found:
            found.add(other)
    return found - {name}


def verdict_by_distance(step: CheckedStep, digits: int) -> str:
    """What a step deserves that was worked rightly on top of a mistake: its worst distance from the truth decides."""
    assert step.step.stated is not None
    assert step.right is not None
    stated, right = step.step.stated.values, step.right
    assert stated is not None
    if right.dtype.kind == "U":
        return "right" if (stated == right).all() else "carried"
    unit = 1.0 if step.step.name == "chosen" else 10.0**-digits
    with np.errstate(invalid="ignore"):
        distance = np.where((stated == right) | (np.isnan(stated) & np.isnan(right)), 0, np.abs(stated - right))
    worst = float(np.nan_to_num(distance, nan=np.inf).max()) / unit
    return "right" if worst <= 0.5 + 1e-6 else "rounded" if worst < 1 - 1e-6 else "carried"


def test_one_altered_number_is_found_at_its_step() -> None:
    assert sum(map(find_altered_number, range(100))) > 70


@pytest.mark.proof
def test_one_altered_number_is_always_found() -> None:
    assert sum(map(find_altered_number, range(100, 3000))) > 2000


@pytest.mark.parametrize("kind", sorted(WORKINGS))
def test_every_single_number_is_guarded(kind: str) -> None:
    inputs = random_inputs(kind, 7)
    written = work(kind, inputs, 4, after_rounding=False)
    for name, content in written.items():
        for place in np.ndindex(np.shape(content)):
            value = np.array(content)
            if value.dtype.kind == "U":
                value[place] = "nonsense"
            else:
                value[place] = 1 + (value[place] if np.isfinite(value[place]) else 0)
            steps = checked(kind, inputs, {**written, name: value[()]}, 4)  # all the rest stays as it was
            assert {other for other, step in steps.items() if step.verdict != "right"} == {name}
            assert steps[name].verdict == "wrong"
