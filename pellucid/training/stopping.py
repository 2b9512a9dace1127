"""Signals that ask a run to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    asked = False


@contextmanager
def signals() -> Iterator[Stop]:
    """SIGINT, SIGTERM and a closed terminal ask to stop after the current step; a second one of the
    former stops at once. What the run was told to ignore, as nohup does, it ignores."""
    stop = Stop()

    def ask(number: int, _frame: FrameType | None) -> None:
        stop.asked = True
        if number != signal.SIGHUP:  # a terminal that is closed says so twice, as fast as that
            signal.signal(number, signal.SIG_DFL)

    try:
        heeded = [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, ask) for number in heeded}
    except ValueError:  # not the main thread: nobody can send it signals
        before = {}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
