"""What a set of settings is: frozen, documented field by field, and checked as a whole when it is made."""

from __future__ import annotations

import math
import tomllib
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Any, Literal, NamedTuple, Self, cast, dataclass_transform, get_args, get_origin, get_type_hints

from pellucid.errors import Problem, UserError, nearest

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", list: "a list"}


def setting(*, default: Any, doc: str, least: float | None = None, most: float | None = None) -> Any:
    """A documented field with the range it may lie in (both ends allowed)."""
    return field(default=default, metadata={"doc": doc, "least": least, "most": most})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Config:
    """A frozen set of fields that lists everything wrong with its values in one `UserError`."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, init=False)(cls)

    def __init__(self, **values: Any) -> None:
        known = _specs(cast(Any, type(self)))
        problems = [
            Problem(f"unknown key (value {value!r})", name, nearest(name, known))
            for name, value in values.items()
            if name not in known
        ]
        chosen = {name: spec.default for name, spec in known.items()}
        for name, spec in known.items():
            value = values.get(name, spec.default)
            # A default needs no check; most fields are one, and a search is configured for every sentence served.
            if type(value) is type(spec.default) and value == spec.default:
                continue
            problem = _problem(name, value, spec)
            if problem:  # the default stays, so that the checks across fields run and every problem is told at once
                problems.append(problem)
            else:
                chosen[name] = float(value) if type(value) is int and float in spec.expected else value
        vars(self).update(chosen)
        wrong = {problem.where for problem in problems}  # these hold a default now, which conflicts with nothing given
        problems += [problem for problem in self.conflicts() if problem.where not in wrong]
        if problems:
            raise UserError(problems)

    def conflicts(self) -> list[Problem]:
        """Problems between fields that are each right alone."""
        return []

    @classmethod
    def names(cls) -> list[str]:
        """The fields, in order."""
        return [spec.name for spec in fields(cast(Any, cls))]

    def to_dict(self) -> dict[str, Any]:
        """The fields that have a value, ready for JSON or TOML (which knows no null)."""
        return {name: value for name, value in asdict(cast(Any, self)).items() if value is not None}

    def changed(self, **values: Any) -> Self:
        """A copy with other values, checked as a whole."""
        return type(self)(**{**asdict(cast(Any, self)), **values})


class _Spec(NamedTuple):
    """What a field takes."""

    default: Any
    expected: tuple[Any, ...]  # types, or words
    least: float | None
    most: float | None


@cache  # reading them at each request made the checks of one take twice as long: 14 µs, now 7
def _specs(kind: type[Config]) -> dict[str, _Spec]:
    hints = get_type_hints(kind)
    return {
        spec.name: _Spec(spec.default, _alternatives(hints[spec.name]), spec.metadata["least"], spec.metadata["most"])
        for spec in fields(cast(Any, kind))
    }


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types or words of a hint: int | None, or Literal["a", "b"], or one type alone."""
    one = get_origin(hint) not in (Literal, UnionType)
    return tuple(get_origin(kind) or kind for kind in ((hint,) if one else get_args(hint)))


def _problem(name: str, value: Any, spec: _Spec) -> Problem | None:
    _, expected, least, most = spec
    words = [choice for choice in expected if isinstance(choice, str)]
    if words:
        if value in words:
            return None
        return Problem(f"{value!r} is not a choice", name, nearest(str(value), words))
    kinds = tuple(kind for kind in expected if isinstance(kind, type))
    if value is None and type(None) in kinds:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (number and float in kinds)
        or (isinstance(value, int) and not isinstance(value, bool) and int in kinds)
        or any(isinstance(value, kind) for kind in kinds if kind not in (int, float))
    )
    if not fits:
        wanted = " or ".join(KINDS[kind] for kind in kinds if kind is not type(None))
        return Problem(f"{value!r} does not fit", name, f"give {wanted}")
    if number and not _finite(value):
        return Problem(f"{value!r} is no finite number", name, "give a finite number")
    if number and not ((least is None or value >= least) and (most is None or value <= most)):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        return Problem(f"{value!r} is out of range", name, f"give a number {bounds}")
    return None


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number with hundreds of digits
        return False


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """`key=value` words as given after `--set`; values are read as TOML, bare words as text."""
    values: dict[str, Any] = {}
    problems = []
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            problems.append(Problem(f"{text!r} has no name or no value", "--set", "write key=value"))
            continue
        values[name.strip()] = parse_value(value.strip())
    if problems:
        raise UserError(problems)
    return values


def parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
