"""A learner's file as text: its functions, and which argument is which. Nothing is run here."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import UserError
from pellucid.worked.code.task import Task

MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Function:
    """A function as it is written."""

    name: str
    line: int
    required: tuple[str, ...]
    optional: tuple[str, ...]
    tree: ast.FunctionDef
    text: str

    def arguments(self) -> tuple[str, ...]:
        return self.required + self.optional


@dataclass(frozen=True)
class Source:
    path: Path
    text: str
    functions: tuple[Function, ...]
    classes: tuple[str, ...]
    libraries: frozenset[str]  # numpy, torch: those that the file imports


@dataclass(frozen=True)
class Binding:
    """Which argument plays which role."""

    arguments: dict[str, str]  # role -> argument
    by_place: tuple[str, ...] = ()  # arguments whose names are unknown, understood by their place


def read_source(name: str) -> Source:
    path = Path(name)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", name, "give the path of a Python file") from None
    if len(raw) > MOST_BYTES:
        raise UserError(f"larger than {MOST_BYTES:,} bytes", name, "give a file with the functions alone")
    try:
        text = raw.decode("utf-8-sig")
        tree = ast.parse(text)
    except UnicodeDecodeError:
        raise UserError("not UTF-8 text", name, "save the file as UTF-8") from None
    except SyntaxError as error:
        where = f"{name}:{error.lineno or 1}:{error.offset or 1}"
        raise UserError(f"not Python: {error.msg}", where, "Python itself cannot read this line") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"not Python: {error}", name, "give a Python file") from None
    # a later definition of the same name replaces an earlier one, as it does when the file runs
    functions = {node.name: _function(node, text) for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return Source(path, text, tuple(functions.values()), classes, frozenset(_imported(tree)))


def _function(node: ast.FunctionDef, text: str) -> Function:
    given = node.args
    named = [*given.posonlyargs, *given.args]
    first_optional = len(named) - len(given.defaults)
    pairs = list(zip(given.kwonlyargs, given.kw_defaults, strict=True))
    required = [each.arg for each in named[:first_optional]] + [each.arg for each, default in pairs if default is None]
    optional = [each.arg for each in named[first_optional:]] + [each.arg for each, default in pairs if default]
    return Function(
        node.name, node.lineno, tuple(required), tuple(optional), node, ast.get_source_segment(text, node) or ""
    )


def _imported(tree: ast.Module) -> set[str]:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names} & {"numpy", "torch"}


PREFIXES = "my|the|simple|naive|stable|safe|np|numpy|torch|compute|get|make|apply|batched"
SUFFIXES = r"np|numpy|torch|pytorch|stable|naive|simple|batched|fn|func|function|v?\d+|forward|decode|decoding|search"


def plain_name(name: str) -> str:
    """A name as the tasks know it: `MyLayerNorm_v2` -> `layernorm`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    while (shorter := re.sub(rf"^({PREFIXES})_(?=.)|(?<=.)_({SUFFIXES})$", "", name)) != name:
        name = shorter
    return name.replace("_", "")


def recognised(function: Function, tasks: list[Task]) -> Task | None:
    name = plain_name(function.name)
    return next((task for task in tasks if name in (plain_name(known) for known in task.names)), None)


def bind(function: Function, task: Task) -> Binding | str:
    """Which argument plays which role, or why the function cannot be called."""
    spread = function.tree.args
    if spread.posonlyargs or (spread.vararg and not function.arguments()):
        return "its arguments have no names that a call could use"
    known = {name: role for role, names in task.roles.items() for name in names}
    bound: dict[str, str] = {}
    for argument in function.arguments():
        role = known.get(argument.lower().strip("_")) or known.get(argument.lower().replace("_", ""))
        if role and role not in bound:
            bound[role] = argument
    unknown = [argument for argument in function.required if argument not in bound.values()]
    for signature in sorted(task.signatures, key=lambda needed: -len(bound.keys() & set(needed))):
        missing = [role for role in signature if role not in bound]
        if len(missing) == len(unknown):
            return Binding(bound | dict(zip(missing, unknown, strict=True)), tuple(unknown))
    expected = " or ".join("(" + ", ".join(signature) + ")" for signature in task.signatures)
    if unknown:
        return f"unknown what {', '.join(unknown)} should be; understood are {expected}, and other names for these"
    return f"it takes too little; understood are {expected}, and other names for these"
