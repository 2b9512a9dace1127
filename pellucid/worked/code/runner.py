"""The program that runs a learner's file, in a process of its own. It imports nothing of Pellucid.

It reads one JSON request a line from the standard input and writes one JSON answer a line to the standard output. What
the learner's code prints goes to the standard error, and it reads from nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

MOST_ELEMENTS = 100_000  # of an array that is sent back
MOST_TEXT = 500  # characters of a message that is sent back


def main(path: str, memory: int, cpu_seconds: int) -> None:
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    source = Path(path).read_bytes()
    if b"torch" in source:
        with contextlib.suppress(ImportError):
            import_torch()  # before memory is limited: its libraries alone are larger than what the code may use
    limit(memory, cpu_seconds)
    namespace: dict[str, Any] = {"__name__": Path(path).stem, "__file__": path, "__builtins__": __builtins__}
    sys.argv = [path]
    sys.path.append(str(Path(path).parent))  # last, so that a file beside it cannot take the place of NumPy
    send(answers, attempt(lambda: exec(compile(source, path, "exec"), namespace), path))
    for line in requests:
        send(answers, answer(json.loads(line), namespace, path))


def import_torch() -> Any:
    import importlib

    return importlib.import_module("torch")


def limit(memory: int, cpu_seconds: int) -> None:
    """At most so many bytes more than now and so many seconds of the processor, where the system can limit them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    statm = Path("/proc/self/statm")
    if statm.exists():
        used = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def send(answers: TextIO, content: dict[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def attempt(work: Callable[[], Any], path: str) -> dict[str, Any]:
    """What the work gives, or its exception with the line of the learner's file that raised it."""
    try:
        with np.errstate(all="ignore"):
            return {"value": encoded(work())}
    except BaseException as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        return {
            "error": type(error).__name__,
            "message": str(error)[:MOST_TEXT],
            "line": frames[-1].lineno if frames else None,
        }
    finally:
        with contextlib.suppress(Exception):  # the code may have closed it
            sys.stdout.flush()


def answer(request: dict[str, Any], namespace: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The answer of one call, with the names of the arguments that it changed in place."""
    with_torch = request["library"] == "torch"
    given = {name: decoded(value, with_torch) for name, value in request["arguments"].items()}
    before = {name: copied(value) for name, value in given.items() if hasattr(value, "shape")}
    reply = attempt(lambda: namespace[request["function"]](**given), path)
    reply["changed"] = [
        name for name, value in before.items() if not np.array_equal(value, np.asarray(given[name]), equal_nan=True)
    ]
    return reply


def copied(value: Any) -> Any:
    """The numbers of an array or a tensor, which stay as they are when it is changed."""
    return np.array(value.detach().numpy() if hasattr(value, "detach") else value)


def decoded(value: Any, with_torch: bool) -> Any:
    if not isinstance(value, dict):
        return value
    if "step" in value:
        return Step(value["step"])
    array = np.array(value["array"], value["dtype"]).reshape(value["shape"])
    if not with_torch:
        return array
    return import_torch().from_numpy(array.astype(np.float32) if array.dtype == np.float64 else array)


class Step:
    """A model of three or more tokens: what comes next depends on the last two. A token alone, not in a sequence, is
    answered as a sequence of its own."""

    def __init__(self, table: dict[str, list[float]]) -> None:
        self.table = table

    def __call__(self, tokens: Any) -> Any:
        tensor = hasattr(tokens, "detach")
        ids = np.asarray(tokens.detach() if tensor else tokens)
        if ids.dtype.kind not in "iu" and ids.size:
            raise TypeError("step takes the ids of the tokens so far, as integers")
        last = [int(token) for token in ids.reshape(-1)[-2:]]
        row = np.array(self.table[",".join(map(str, last))])
        row = row[None] if ids.ndim == 2 else row
        return import_torch().tensor(row, dtype=import_torch().float32) if tensor else row


def encoded(value: Any) -> Any:
    """A value as JSON: arrays with their shape and dtype, tuples and lists item by item, else only the type's name."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy() if value.is_floating_point() else value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic | float | int):
        array = np.asarray(value)
        if array.dtype.kind in "fiub" and array.size <= MOST_ELEMENTS:
            return {"array": array.tolist(), "shape": list(array.shape), "dtype": array.dtype.kind}
    if isinstance(value, tuple | list) and len(value) <= MOST_ELEMENTS:
        return {"items": [encoded(item) for item in value], "tuple": isinstance(value, tuple)}
    return {"other": type(value).__name__}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
