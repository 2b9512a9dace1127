"""The worker's end of the line: a JSON request a line on stdin, a JSON answer a line on stdout.

Runs inside the environments of the peers, so it needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any


class Channel:
    """Make it first of all: from then on, whatever else the worker prints goes to stderr."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def requests(self) -> Iterator[Any]:
        """One after the other, until the other end hangs up."""
        for line in sys.stdin:
            yield json.loads(line)

    def answer(self, answer: Any) -> None:
        print(json.dumps(answer), file=self._answers, flush=True)
