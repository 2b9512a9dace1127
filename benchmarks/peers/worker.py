"""Our end of the line: a process that stays alive and does one piece of work a request.

So contenders that live in different environments, and take long to start, can be interleaved.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self

from benchmarks.harness import ROOT
from pellucid.errors import UserError


class Worker:
    """`python -m module arguments...` in the root of the project; the module answers through a `Channel`."""

    def __init__(
        self,
        python: str | Path,
        module: str,
        arguments: Sequence[str | Path] = (),
        *,
        threads: int = 2,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.module = module
        self._errors = TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, **counts, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: Any = None) -> Any:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._failed()
        return json.loads(line)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """A worker has nothing worth saving: it is stopped where it stands."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _failed(self) -> UserError:
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        return UserError(f"ended with {self._process.returncode} instead of an answer:\n{said[-3000:]}", self.module)
