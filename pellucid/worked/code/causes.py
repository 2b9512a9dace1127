"""Why a property fails: a slip that gives the same result, an exception that says so, or what the source shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import numpy as np

from pellucid.worked.code.process import Answer
from pellucid.worked.code.source import Function
from pellucid.worked.code.task import Array, Case, Check, Failure, MisfitError, Outcome, Reading, Slip, Task, close

Example = tuple[Case, Failure]
Result = tuple[Case, Array]


def slips_that_explain(
    slips: Sequence[Slip], task: Task, reading: Reading, check: Check, examples: Sequence[Example]
) -> list[Slip]:
    """The slips with which the formula fails as the function does, on every example."""
    return [slip for slip in slips if explains(slip, task, reading, check, examples)]


def gives(slip: Slip, task: Task, reading: Reading, results: Sequence[Result]) -> bool:
    """Whether the formula with this slip gives these results."""
    try:
        with np.errstate(all="ignore"):
            return all(close(found, task.slipped(case, reading, **slip[1])) for case, found in results)
    except MisfitError:
        return False


def explains(slip: Slip, task: Task, reading: Reading, check: Check, examples: Sequence[Example]) -> bool:
    def run(case: Case) -> Outcome:
        return Outcome(task.slipped(case, reading, **slip[1]))

    try:
        with np.errstate(all="ignore"):
            return all(same_failure(check(run, case, task.right(case, reading)), failure) for case, failure in examples)
    except MisfitError:
        return False


def same_failure(one: Failure | None, other: Failure) -> bool:
    """Both give the same wrong result. Which number is not a number may depend on the order of the operations."""
    if one is None or one.found is None or other.found is None:
        return False
    return close(one.found, other.found)


def named(slips: Sequence[Slip]) -> str:
    """The causes in words: those that hold together with "and", those of which any may be the one with "or"."""
    return "; or ".join(dict.fromkeys(" and ".join(causes) for causes, _ in slips))


# --- exceptions ------------------------------------------------------------------------------------------------------

KEEPDIM = re.compile(r"unexpected keyword argument '(keepdim|keepdims)'")
UNDEFINED = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'")
SHAPES = re.compile(
    r"could not be broadcast|mismatch in its core dimension|shapes? .* not aligned|must match the size"
    r"|cannot be multiplied|expected size for first two dimensions|not broadcastable|Expected size|inconsistent tensor"
)
AXIS = re.compile(r"axis (\S+) is out of bounds|Dimension out of range")
RESHAPE = re.compile(r"cannot reshape|is invalid for input of size|view size is not compatible")
DTYPE = re.compile(
    r"Cannot cast ufunc|same dtype|expected scalar type|result type .* can't be cast|must be (real|a floating)"
)
UNKNOWN_ARGUMENT = re.compile(r"unexpected keyword argument '(\w+)'")
REDUCTIONS = ("sum", "max", "mean", "std", "var", "amax")


def cause_of_exception(answer: Answer, function: Function) -> str:
    message = answer.message
    if answer.error in ("timeout", "died", "MemoryError"):
        return {
            "timeout": "it does not come to an end: a loop whose condition never becomes false",
            "died": "it ends the process, or takes too much time or memory",
            "MemoryError": "it takes too much memory",
        }[answer.error]
    if match := KEEPDIM.search(message):
        other = "torch's word: NumPy's" if match[1] == "keepdim" else "NumPy's word: torch's"
        return f"{match[1]} is {other} is {'keepdims' if match[1] == 'keepdim' else 'keepdim'}"
    if answer.error in ("NameError", "UnboundLocalError") and (match := UNDEFINED.search(message)):
        return f"an undefined name: {match[1] or match[2]} is used but has no value"
    if "'NoneType'" in message:
        return "a missing return: a function gives nothing back"
    if AXIS.search(message):
        return "wrong axis: it does not exist"
    if RESHAPE.search(message):
        return "wrong shape: a reshape to a size that does not fit"
    if SHAPES.search(message):
        return _shape_cause(function)
    if DTYPE.search(message):
        return "a wrong dtype: numbers that are changed in place, or combined, have different types"
    if match := UNKNOWN_ARGUMENT.search(message):
        return f"an unknown argument: {match[1]}"
    if answer.error == "RecursionError":
        return "it calls itself without end"
    if answer.error in ("ModuleNotFoundError", "ImportError"):
        return "a library that is not installed"
    return ""


def _shape_cause(function: Function) -> str:
    """Shapes that do not fit, by what is missing in the line that says so."""
    calls = [node for node in ast.walk(function.tree) if isinstance(node, ast.Call)]
    reductions = [call for call in calls if _called(call) in REDUCTIONS and _has_axis(call)]
    if any(not {"keepdims", "keepdim"} & {keyword.arg for keyword in call.keywords} for call in reductions):
        return "missing keepdims: the results of the rows are laid along the columns"
    if not re.search(r"\.T\b|\.mT\b|transpose|swapaxes|permute|einsum|moveaxis|rearrange|\.t\(", function.text):
        return "a missing transpose: Q K is not Q K^T"
    return "wrong shape: two arrays do not fit together"


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _has_axis(call: ast.Call) -> bool:
    named = any(keyword.arg in ("axis", "dim") for keyword in call.keywords)
    module = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    of_module = module and call.func.value.id in ("np", "numpy", "torch")  # type: ignore[attr-defined]
    return named or len(call.args) > (1 if of_module else 0)
