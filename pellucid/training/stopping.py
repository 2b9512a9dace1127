"""Signals that ask a run to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    asked = False


@contextmanager
def signals() -> Iterator[Stop]:
    """SIGINT and SIGTERM ask to stop after the current step; a second one stops at once."""
    stop = Stop()

    def ask(number: int, _frame: FrameType | None) -> None:
        stop.asked = True
        signal.signal(number, signal.SIG_DFL)

    try:
        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: nobody can send it signals
        before = {}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
