"""The log of the service: errors without what they quote, and no line a thousand times over."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

ALIKE, WINDOW = 10, 60.0  # lines of one kind that are logged within so many seconds


def location(error: BaseException) -> str:
    """The type of an error and the calls that led to it, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    calls = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return f"{type(error).__name__} at {calls}"


class RedactedFormatter(logging.Formatter):
    """Formats the exceptions that other libraries log without their messages."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 the name is the standard library's
        return location(ei[1]) if ei[1] else ""


class Throttle(logging.Filter):
    """Lets ten warnings or errors of one kind pass in a minute. The first of the next minute says how many were left
    out. Lines of requests, which are INFO, all pass."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, object], tuple[float, int]] = {}  # since when, how many
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        kind, now = (record.name, record.msg), self._clock()
        with self._lock:
            since, count = self._seen.get(kind, (now, 0))
            left_out = 0
            if now - since >= WINDOW:
                since, count, left_out = now, 0, max(0, count - ALIKE)
            self._seen[kind] = since, count + 1
        if left_out:
            record.msg = f"{record.getMessage()} (and {left_out} like it that were not logged)"
            record.args = None
        return count < ALIKE
