"""Signals that ask a run to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    received = False


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """SIGINT, SIGTERM and SIGHUP (a closed terminal) request a stop after the current step; a second SIGINT or SIGTERM
    stops at once. A signal that the process ignores, as under nohup, stays ignored."""
    request = StopRequest()

    def handle(number: int, _frame: FrameType | None) -> None:
        request.received = True
        if number != signal.SIGHUP:  # a terminal that is closed sends it twice
            signal.signal(number, signal.SIG_DFL)

    try:
        handled = [number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, handle) for number in handled}
    except ValueError:  # only the main thread receives signals
        before = {}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
