"""One function of a learner's file, checked as one task.

`check` settles on a reading, under which the function is right if it is right under any; then it tries each property,
and for one that fails looks for the smallest example and the likely cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid.worked.code.causes import Example, Result, cause_of_exception, explains, gives, named, slips_that_explain
from pellucid.worked.code.examples import Build, Fails, fills, smallest
from pellucid.worked.code.process import Answer, Process, encoded
from pellucid.worked.code.source import Binding, Function, Source
from pellucid.worked.code.task import Case, Failure, Fill, Outcome, Property, Reading, Size, Slip, Task, compare

TRIES = 2  # of each size
ENOUGH = 3  # examples, to tell slips apart


def plain(value: Any) -> Any:
    """Arrays as lists, and numbers that JSON does not have in words."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


@dataclass(frozen=True)
class CheckedProperty:
    """One property, and if it fails how, why, and for which arguments."""

    name: str
    failure: Failure | None = None
    cause: str = ""
    example: Case = field(default_factory=dict)  # by the names of the function's own arguments

    def to_dict(self) -> dict[str, Any]:
        if self.failure is None:
            return {"name": self.name, "holds": True}
        return {
            "name": self.name,
            "holds": False,
            "what": self.failure.words,
            "cause": self.cause or None,
            "line": self.failure.answer.line,
            "example": {name: plain(value) for name, value in self.example.items()},
            "found": plain(self.failure.found),
            "right": plain(self.failure.right),
        }


@dataclass(frozen=True)
class CheckedFunction:
    """A function, how it was understood, and its properties."""

    name: str
    line: int
    task: str
    understood: tuple[str, ...]
    properties: tuple[CheckedProperty, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "line": self.line,
            "checked_as": self.task,
            "understood": list(self.understood),
            "right": self.right,
            "properties": [each.to_dict() for each in self.properties],
        }

    @property
    def right(self) -> bool:
        return all(each.failure is None for each in self.properties)


@dataclass
class FunctionChecker:
    """One function of a file, as one task."""

    process: Process
    source: Source
    function: Function
    task: Task
    binding: Binding
    item: int | None = None  # which of the values that it returns is the result, once that is settled
    answers: dict[str, Answer] = field(default_factory=dict)  # of the calls that were made, by their arguments
    plain: dict[tuple[Any, ...], list[Case]] = field(default_factory=dict)  # cases, by what they depend on
    stuck: tuple[Answer, Case] | None = (
        None  # a call that did not come back, and its arguments: there is no further one
    )
    explained: list[Slip] = field(default_factory=list)  # the slips that explain the failures so far
    results: list[Result] = field(default_factory=list)  # of the plain cases
    failed_before: bool = False  # a property failed without a cause, which may be why others fail

    def check(self) -> CheckedFunction:
        reading = self._settle()
        properties: list[CheckedProperty] = []
        for each in self.task.properties:
            if each.applies(reading):
                properties.append(self._try(each, reading))
                failure = properties[-1].failure
                self.failed_before |= failure is not None
                if failure is not None and failure.answer.error:
                    break  # one that cannot be called fails everything
        understood = [*self.task.words(reading), *self._by_place()]
        if self.failed_before:
            understood += self._right_for_one(reading)
        return CheckedFunction(
            self.function.name, self.function.line, self.task.name, tuple(understood), tuple(properties)
        )

    def _by_place(self) -> list[str]:
        roles = {argument: role for role, argument in self.binding.arguments.items()}
        return [f"{argument} is {roles[argument]}, by its place" for argument in self.binding.by_place]

    # --- how it is understood ---

    def _readings(self) -> Iterator[Reading]:
        for reading in self.task.readings(self.binding.arguments, self.function.text):
            for library in self._libraries():
                yield {**reading, "library": library}

    def _libraries(self) -> list[str]:
        """What its arrays are: NumPy's or torch's, by what the function uses, else by what the file imports."""
        names = {"numpy": ("np.", "numpy."), "torch": ("torch.", "F.", "nn.", "Tensor")}
        used = [library for library, marks in names.items() if any(mark in self.function.text for mark in marks)]
        return used[-1:] if used == ["torch"] or used == ["numpy"] else sorted(self.source.libraries) or ["numpy"]

    def _settle(self) -> Reading:
        reading = self._settled_reading()
        plain = self._plain_cases(reading)
        shape = self.task.right(plain[0], reading).shape
        arrays = self.task.read(self._answer(plain[0], reading))
        self.item = next((place for place, array in enumerate(arrays) if array.shape == shape), 0)
        outcomes = [(case, self._run(case, reading).value) for case in plain]
        self.results = [(case, value) for case, value in outcomes if value is not None]
        return reading

    def _settled_reading(self) -> Reading:
        """The first reading under which it is right; else the first under which slips explain it; else the first under
        which it can be called."""
        readings = [reading for reading in self._readings() if not reading.get("fallback")]
        if self._only_for_one(readings):
            readings = list(self._readings())
        callable_under: list[tuple[Reading, list[Result]]] = []
        for reading in readings:
            if self._is_right(reading):
                return reading
            if self.stuck:
                return reading
        for reading in readings:
            outcomes = [(case, self._run(case, reading).value) for case in self._plain_cases(reading)]
            results = [(case, value) for case, value in outcomes if value is not None]
            if len(results) == len(outcomes):
                callable_under.append((reading, results))
        for slips in (self.task.single_slips(), self.task.pairs_of_slips()):
            for reading, results in callable_under:
                self.explained = [slip for slip in slips if gives(slip, self.task, reading, results)]
                if self.explained:
                    return reading
        return callable_under[0][0] if callable_under else readings[0]

    def _only_for_one(self, readings: list[Reading]) -> bool:
        """Whether it cannot be called with matrices, and that is no slip."""
        answers = [self._answer(self._plain_cases(reading)[0], reading) for reading in readings]
        slip = any(cause_of_exception(answer, self.function).startswith("missing keepdims") for answer in answers)
        return all(answer.error for answer in answers) and not slip

    def _is_right(self, reading: Reading) -> bool:
        cases = self._plain_cases(reading)
        return all(compare(self._run(case, reading), self.task.right(case, reading)) is None for case in cases)

    def _right_for_one(self, reading: Reading) -> list[str]:
        """What is wrong for a matrix may be right for what somebody had in mind: one row."""
        rows = [each for each in self._readings() if each.get("fallback") and not reading.get("fallback")]
        note = "right for a single row: if that is meant, name the argument row or vector"
        return [note] if not self.stuck and any(map(self._is_right, rows)) else []

    def _plain_cases(self, reading: Reading) -> list[Case]:
        """Random ones of the two largest sizes."""
        key = tuple(reading[name] for name in self.task.built_by or reading)
        if key not in self.plain:
            self.plain[key] = [
                self.task.build(fill, size, reading)
                for size in self.task.sizes[:-3:-1]
                for fill in fills((), self.task.plain_cases)
            ]
        return self.plain[key]

    # --- how it is called ---

    def _answer(self, case: Case, reading: Reading) -> Answer:
        given = self._named_arguments(case, reading)
        content = {name: encoded(value) for name, value in given.items()}
        key = json.dumps([reading["library"], content, case.get("again")])  # asked again, it is called again
        if key not in self.answers:
            if self.stuck:
                return self.stuck[0]
            self.answers[key] = self.process.call(self.function.name, given, reading["library"])
            if self.answers[key].error in ("timeout", "died"):
                self.stuck = self.answers[key], given
        return self.answers[key]

    def _named_arguments(self, case: Case, reading: Reading) -> Case:
        roles = self.binding.arguments
        passed = self.task.arguments(case, reading)
        return {roles[role]: value for role, value in passed.items() if role in roles and value is not None}

    def _run(self, case: Case, reading: Reading) -> Outcome:
        answer = self._answer(case, reading)
        arrays = self.task.read(answer)
        if not arrays:
            return Outcome(None, answer)
        shape = self.task.right(case, reading).shape
        if self.item is not None:
            value = arrays[min(self.item, len(arrays) - 1)]
        else:
            value = next((array for array in arrays if array.shape in (shape, (1, *shape))), arrays[0])
        return Outcome(value[0] if value.shape == (1, *shape) else value, answer)

    # --- what holds of it ---

    def _try(self, each: Property, reading: Reading) -> CheckedProperty:
        def build(fill: Fill, size: Size) -> Case:
            return each.change(self.task.build(fill, size, reading))

        def fails(case: Case) -> Failure | None:
            return each.check(lambda case: self._run(case, reading), case, self.task.right(case, reading))

        examples = list(self._failing(each, build, fails))
        if not examples:
            return CheckedProperty(each.name)
        slips = self._slips(each, reading, examples)

        def fails_alike(case: Case) -> Failure | None:
            """As the first example does, for the same cause, so that the smaller example still shows it."""
            failure = fails(case)
            if failure is None or failure.kind != examples[0][1].kind:
                return None
            alike = not slips or any(
                explains(slip, self.task, reading, each.check, [(case, failure)]) for slip in slips
            )
            return failure if alike else None

        if self.stuck:
            answer, given = self.stuck
            failure = Failure(answer.error, answer.message, answer=answer)
            return CheckedProperty(each.name, failure, cause_of_exception(answer, self.function), given)
        small = smallest(build, fails_alike, each.sizes or self.task.sizes, each.values)
        case, failure = small or examples[0]
        cause = named(slips) or self._other_cause(each, failure)
        return CheckedProperty(each.name, failure, cause, self._named_arguments(case, reading))

    def _failing(self, each: Property, build: Build, fails: Fails) -> Iterator[Example]:
        """A few examples on which it fails, the largest first."""
        found = 0
        for size in reversed(each.sizes or self.task.sizes):
            for fill in fills(each.values, TRIES):
                case = build(fill, size)
                failure = fails(case)
                if failure is None:
                    continue
                yield case, failure
                found += 1
                if found == ENOUGH or self.stuck:
                    return

    def _slips(self, each: Property, reading: Reading, examples: list[Example]) -> list[Slip]:
        """The slips that explain the failure: those known already, or else others."""
        known = [slip for slip in self.explained if explains(slip, self.task, reading, each.check, examples)]
        if known:
            return known
        bases = self.explained or [((), {})]
        further: list[Slip] = [
            (causes, base | knobs) for _, base in bases for causes, knobs in self.task.single_slips() if base != knobs
        ]
        # one that would be seen in the plain results is not the cause of what is seen here alone
        hidden = [slip for slip in further if gives(slip, self.task, reading, self.results)]
        return slips_that_explain(hidden, self.task, reading, each.check, examples)

    def _other_cause(self, each: Property, failure: Failure) -> str:
        """What an exception says; or what the failure of this property alone means."""
        if failure.answer.error:
            return cause_of_exception(failure.answer, self.function)
        if failure.kind in ("not finite", "changed", "leak", "dtype") or not self.failed_before:
            return each.cause
        return ""
