"""How settings are declared: a `Config` is a frozen set of fields, each with its type, default, range and help text.

Everything else about a setting is derived from its declaration: the check of a value, the option of a command line
(`pellucid.cli.options`), the JSON schema of an HTTP parameter and the row of a table in the documentation.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from types import UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    Self,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pellucid.errors import Problem, UserError, nearest

# The types that a value may have: the name in a JSON schema, and the words of an error.
TYPES = {
    int: ("integer", "a whole number"),
    float: ("number", "a number"),
    bool: ("boolean", "true or false"),
    str: ("string", "a string"),
    list: ("array", "a list of strings"),
    dict: ("object", "an object"),
    type(None): ("null", "nothing"),
}


def setting(default: Any, help: str, *, minimum: float | None = None, maximum: float | None = None) -> Any:
    """Declare a field: its default, what it does, and the range it may lie in (both ends allowed)."""
    return field(default=default, metadata={"help": help, "minimum": minimum, "maximum": maximum})


def required(help: str) -> Any:
    """Declare a field that must be given, and not be empty."""
    return field(default=None, metadata={"help": help, "required": True})


class Setting(NamedTuple):
    """A field as it was declared."""

    name: str
    default: Any
    types: tuple[type, ...]  # those that a value may have
    choices: tuple[str, ...]  # or the words it may be
    minimum: float | None
    maximum: float | None
    help: str
    required: bool

    @property
    def flag(self) -> str:
        """The setting as an option of a command: `--length-penalty`."""
        return "--" + self.name.replace("_", "-")

    def json_schema(self) -> dict[str, Any]:
        """The setting as JSON schema, for OpenAPI."""
        names = [TYPES[kind][0] for kind in self.types]
        schema: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
        if self.choices:
            schema = {"type": ["string", *names] if names else "string", "enum": list(self.choices)}
        if list in self.types:
            schema["items"] = {"type": "string"}
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        default = {} if self.required else {"default": self.default}
        return schema | default | {"description": self.help} | given

    def problem(self, value: Any) -> Problem | None:
        """What is wrong with a value, if anything."""
        if self.required and not value:
            return Problem(f"missing {self.name}: {self.help}")
        if (value is None and type(None) in self.types) or (self.choices and value in self.choices):
            return None
        if self.choices:
            return Problem(f"{_brief(value)} is not a choice", self.name, nearest(str(value), self.choices))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        kinds = (*self.types, int) if float in self.types else self.types
        fits = isinstance(value, kinds) and (
            bool in kinds or not isinstance(value, bool)
        )  # to Python, a bool is an int
        if not fits or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            wanted = " or ".join(TYPES[kind][1] for kind in self.types if kind is not type(None))
            return Problem(f"{_brief(value)} does not fit", self.name, f"give {wanted}")
        if number and not _is_finite(value):
            return Problem(f"{_brief(value)} is not a finite number", self.name, "give a finite number")
        low, high = self.minimum, self.maximum
        if number and not ((low is None or value >= low) and (high is None or value <= high)):
            bounds = f"at least {low}" if high is None else f"from {low} to {high}"
            return Problem(f"{value!r} is out of range", self.name, f"give a number {bounds}")
        return None


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Config:
    """A frozen set of settings, checked as a whole when it is made: one `UserError` lists every problem."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, init=False)(cls)

    def __init__(self, **values: Any) -> None:
        known = self.settings()
        problems = [
            Problem(f"unknown key (value {value!r})", name, nearest(name, known))
            for name, value in values.items()
            if name not in known
        ]
        chosen = {name: setting.default for name, setting in known.items()}
        for name, setting in known.items():
            value = values.get(name, setting.default)
            # A default needs no check; most fields are one, and a search is configured for every sentence served.
            if type(value) is type(setting.default) and value == setting.default and not setting.required:
                continue
            problem = setting.problem(value)
            if problem:  # the default stays, so that the checks across fields run and every problem is reported at once
                problems.append(problem)
            else:
                chosen[name] = float(value) if type(value) is int and float in setting.types else value
        vars(self).update(chosen)
        wrong = {problem.where for problem in problems}  # these hold a default now, which conflicts with nothing given
        problems += [problem for problem in self.conflicts() if problem.where not in wrong]
        if problems:
            raise UserError(problems)

    def conflicts(self) -> Iterable[Problem]:
        """Problems between fields that are each right alone."""
        return ()

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Name -> declaration of every field, in order."""
        return _settings(cast(Any, cls))

    @classmethod
    def names(cls) -> list[str]:
        """The fields, in order."""
        return list(_settings(cast(Any, cls)))

    def to_dict(self) -> dict[str, Any]:
        """The fields that have a value, ready for JSON or TOML (which has no null)."""
        return {name: value for name, value in asdict(cast(Any, self)).items() if value is not None}

    def changed(self, **values: Any) -> Self:
        """A copy with other values, checked as a whole."""
        return type(self)(**{**asdict(cast(Any, self)), **values})


@cache  # read for every request: without the cache the check of a config takes twice as long, 14 µs instead of 7
def _settings(kind: type[Config]) -> dict[str, Setting]:
    hints = get_type_hints(kind)
    return {declared.name: _setting(declared, hints[declared.name]) for declared in fields(cast(Any, kind))}


def _setting(declared: Any, hint: Any) -> Setting:
    """From a field and its type hint: `int | None`, `Literal["a", "b"]` (perhaps with None), or one type alone."""
    union = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    choices = tuple(word for part in union if get_origin(part) is Literal for word in get_args(part))
    types = tuple(get_origin(part) or part for part in union if get_origin(part) is not Literal)
    about = declared.metadata
    bounds = about.get("minimum"), about.get("maximum")
    return Setting(declared.name, declared.default, types, choices, *bounds, about["help"], "required" in about)


def _brief(value: Any) -> str:
    """A value as an error shows it. The body of a request may hold a long one."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number with hundreds of digits
        return False


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """`key=value` words as given after `--set`; values are read as TOML, bare words as strings."""
    wrong = [text for text in settings if "=" not in text or text.lstrip().startswith("=")]
    if wrong:
        raise UserError(Problem(f"{text!r} has no name or no value", "--set", "write key=value") for text in wrong)
    named = (text.split("=", 1) for text in settings)
    return {name.strip(): parse_value(value.strip()) for name, value in named}


def parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
