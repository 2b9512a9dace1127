"""A learner's file is checked: read, recognised, run in a process of its own, and judged property by property.

`check_code("mycode.py")` is the walk. How one function is checked is in `function.py`, how the code runs in
`process.py`, what must hold of which function in `tasks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.errors import UserError
from pellucid.worked.code.function import CheckedFunction, FunctionChecker
from pellucid.worked.code.process import Answer, Limits, Process
from pellucid.worked.code.source import Binding, Function, bind, read_source, recognised
from pellucid.worked.code.task import Task
from pellucid.worked.code.tasks import TASKS
from pellucid.worked.code.tasks.attention import ATTENTION, MASKED_ATTENTION


@dataclass(frozen=True)
class CheckedCode:
    """A file: its functions that were checked, those that were not and why, and what it printed."""

    path: str
    functions: tuple[CheckedFunction, ...]
    left_out: tuple[tuple[str, str], ...]  # name, reason
    problem: str  # what went wrong when the file itself was run
    printed: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": self.path,
            "right": self.right,
            "problem": self.problem or None,
            "functions": [function.to_dict() for function in self.functions],
            "left_out": dict(self.left_out),
            "printed": self.printed,
        }

    @property
    def right(self) -> bool:
        return not self.problem and all(function.right for function in self.functions)


def check_code(name: str, limits: Limits | None = None) -> CheckedCode:
    """Run a learner's file and check the functions that are recognised in it."""
    source = read_source(name)
    known = [(function, task) for function in source.functions if (task := recognised(function, TASKS))]
    bound: list[tuple[Function, Task, Binding]] = []
    left_out: list[tuple[str, str]] = []
    for function, task in known:
        tasks = [ATTENTION, MASKED_ATTENTION] if task is ATTENTION else [task]
        bindings = [(each, bind(function, each)) for each in tasks]
        usable = [(each, binding) for each, binding in bindings if isinstance(binding, Binding)]
        # attention is checked with a mask too if it takes one
        bound += [
            (function, each, it) for each, it in usable if each is task or {"mask", "causal"} & it.arguments.keys()
        ]
        left_out += [] if usable else [(function.name, str(bindings[0][1]))]
    recognised_names = {function.name for function, _ in known}
    others = [function.name for function in source.functions if function.name not in recognised_names]
    left_out += [(name, "not a function that can be checked") for name in others]
    left_out += [(name, "a class: only functions are checked") for name in source.classes]
    if not bound:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out) or "it defines no function"
        remedy = "functions are known by their names: " + ", ".join(task.name for task in TASKS)
        raise UserError(f"nothing to check: {reasons}", name, remedy)
    with Process(source.path, limits or Limits()) as process:
        problem = _problem(process.loaded)
        checked = [FunctionChecker(process, source, *each).check() for each in bound]
    return CheckedCode(name, tuple(checked), tuple(left_out), problem, process.printed)


def _problem(loaded: Answer) -> str:
    if not loaded.error:
        return ""
    place = f"line {loaded.line}: " if loaded.line else ""
    return f"{place}running the file raises {loaded.error}: {loaded.message}"
