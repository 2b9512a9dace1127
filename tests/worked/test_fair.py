"""Who works on consistently is never accused, whatever is rounded on the way; a mistake that rounding cannot explain is
found where it was made."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worked.students import random_student, some_mistake, unexplained
from tests.worked.workings import WORKINGS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a student may take the root of a mistake below 0


def unfair(seed: int) -> list[str]:
    """The steps that are called wrong in the working of a student with one mistake, but for the mistaken one."""
    random = np.random.default_rng(seed)
    student = random_student(random)
    names = [name for name, _ in WORKINGS[student.kind]]
    mistaken = str(random.choice([*names, ""]))  # or none at all
    if mistaken:
        student.mistakes[mistaken] = some_mistake(random, student.inputs)
    steps = student.checked(student.work()[0])
    return [
        f"{seed} {student.kind}.{name}" for name, step in steps.items() if step.verdict == "wrong" and name != mistaken
    ]


def _numbers(value: object) -> list[float]:
    array = np.asarray(value)
    return array.ravel().tolist() if array.dtype.kind == "f" else []


def second_mistake_found(seed: int) -> bool | None:
    """Whether a second mistake, beyond what rounding explains, is found at its step; None if there is none to make."""
    random = np.random.default_rng(seed)
    student = random_student(random)
    names = [name for name, _ in WORKINGS[student.kind]]
    first, second = sorted(random.choice(len(names), 2, replace=False).tolist())
    student.mistakes[names[first]] = some_mistake(random, student.inputs)
    mistake = unexplained(student, names[second], random)
    if mistake is None:
        return None
    student.mistakes[names[second]] = mistake
    verdicts = student.checked(student.work()[0])[names[second]].elements
    for index in mistake.place:
        verdicts = verdicts[index]
    return None if verdicts == "right" else bool(verdicts == "wrong")  # by chance it may have come out right


def found(seeds: range) -> tuple[int, int]:
    answers = [answer for answer in map(second_mistake_found, seeds) if answer is not None]
    return sum(answers), len(answers)


def causes_on_correct_work(seed: int) -> list[str]:
    """What is named in the working of a student without any mistake."""
    student = random_student(np.random.default_rng(seed))
    steps = student.checked(student.work()[0]).items()
    return [f"{seed} {student.kind}.{name}: {step.cause}" for name, step in steps if step.cause]


def test_no_slip_is_named_on_correct_work() -> None:
    assert [cause for seed in range(200) for cause in causes_on_correct_work(seed)] == []


@pytest.mark.proof
def test_no_slip_is_ever_named_on_correct_work() -> None:
    assert [cause for seed in range(10_000) for cause in causes_on_correct_work(seed)] == []


def test_a_consistent_student_is_never_accused() -> None:
    assert [step for seed in range(400) for step in unfair(seed)] == []


def test_a_second_mistake_is_found() -> None:
    right, tried = found(range(400))
    assert tried > 200
    assert right >= 0.99 * tried


@pytest.mark.proof
def test_no_consistent_student_is_ever_accused() -> None:
    assert [step for seed in range(10_000) for step in unfair(seed)] == []


@pytest.mark.proof
def test_second_mistakes_are_found() -> None:
    right, tried = found(range(15_000))
    assert tried >= 10_000
    assert right >= 0.99 * tried
