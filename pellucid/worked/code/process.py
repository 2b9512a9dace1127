"""A learner's file in a process of its own, limited in time and memory.

This guards against accidents; it is not a sandbox: the code may read and write what the user may.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

RUNNER = Path(__file__).with_name("runner.py")
Array = NDArray[Any]
MOST_OUTPUT = 4000  # characters of what the code prints


@dataclass(frozen=True)
class Limits:
    """What the learner's code may use."""

    load_seconds: float = 120.0  # torch alone may take many on a busy machine
    call_seconds: float = 5.0
    cpu_seconds: int = 120
    memory: int = 1 << 30  # bytes, beyond what NumPy and torch take


@dataclass(frozen=True)
class Answer:
    """What a call gave: arrays (several if it returned a tuple or a list), or the exception that it raised."""

    value: Any = None  # as JSON, see `runner.encoded`
    error: str = ""  # the name of the exception; "timeout" or "died" if there was no answer
    message: str = ""
    line: int | None = None
    changed: tuple[str, ...] = ()  # the arguments that were changed in place

    def arrays(self) -> list[Array]:
        """The value as one array, or the arrays of the tuple that it is."""
        whole = as_array(self.value)
        if whole is not None or not isinstance(self.value, dict):
            return [] if whole is None else [whole]
        parts = [as_array(part) for part in self.value.get("items", [])]
        return [part for part in parts if part is not None]

    def described(self) -> str:
        """What kind of value it is, in words."""
        if isinstance(self.value, dict) and "items" in self.value:
            return f"{len(self.value['items'])} values"
        if isinstance(self.value, dict) and "other" in self.value:
            return "nothing (None)" if self.value["other"] == "NoneType" else f"a value of type {self.value['other']}"
        return "an array"


def as_array(value: Any) -> Array | None:
    """An array, or a list of arrays of one shape as the array of them; else None."""
    if not isinstance(value, dict):
        return None
    if "array" in value:
        kinds = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
        return np.array(value["array"], kinds[value["dtype"]]).reshape(value["shape"])
    if "items" not in value or value["tuple"] or not value["items"]:
        return None
    parts = [as_array(item) for item in value["items"]]
    arrays = [part for part in parts if part is not None]
    return np.stack(arrays) if len(arrays) == len(parts) and len({part.shape for part in arrays}) == 1 else None


def encoded(value: Any) -> Any:
    """An argument as JSON: see `runner.decoded`."""
    if isinstance(value, np.ndarray | np.generic):
        return {"array": value.tolist(), "shape": list(value.shape), "dtype": str(value.dtype)}
    return value


@dataclass
class Process:
    """`with Process(path) as process: process.call("softmax", {"x": array}, "numpy")`."""

    path: Path
    limits: Limits = field(default_factory=Limits)
    loaded: Answer = field(init=False, default=Answer())
    printed: str = field(init=False, default="")

    def __enter__(self) -> Process:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def call(self, function: str, arguments: Mapping[str, Any], library: str) -> Answer:
        """The answer of one call. After one that does not come back, or ends the process, another is started."""
        assert self._child.stdin is not None
        content = {name: encoded(value) for name, value in arguments.items()}
        request = json.dumps({"function": function, "arguments": content, "library": library})
        try:
            self._child.stdin.write(request + "\n")
            self._child.stdin.flush()
        except OSError:  # it has ended: nothing comes back
            pass
        answer = self._answer(self.limits.call_seconds)
        if answer.error in ("timeout", "died"):
            self._stop()
            self._start()
        return answer

    def _start(self) -> None:
        # -I: neither the environment nor the working directory changes what is imported
        command = [sys.executable, "-I", str(RUNNER), str(self.path.resolve())]
        command += [str(self.limits.memory), str(self.limits.cpu_seconds)]
        passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SYSTEMROOT") if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=passed | threads,
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=_forward, args=(self._child.stdout, self._answers), daemon=True),
            threading.Thread(target=self._collect, args=(self._child.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.loaded = self._answer(self.limits.load_seconds)

    def _stop(self) -> None:
        self._child.kill()
        self._child.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with contextlib.suppress(OSError):  # what was not yet written to a process that has ended
                assert stream is not None
                stream.close()

    def _answer(self, seconds: float) -> Answer:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return Answer(error="timeout", message=f"no answer within {seconds:g} seconds")
        if line is None:
            return Answer(error="died", message="the process ended: out of time, out of memory, or by its own call")
        reply = json.loads(line)
        reply["changed"] = tuple(reply.get("changed", ()))
        return Answer(**reply)

    def _collect(self, stream: IO[str]) -> None:
        """Reads all that the code prints, so that it never waits for a reader, and keeps the beginning."""
        while text := stream.read(1024):
            self.printed += text[: max(0, MOST_OUTPUT - len(self.printed))]


def _forward(stream: IO[str], answers: queue.Queue[str | None]) -> None:
    for line in stream:
        answers.put(line)
    answers.put(None)
