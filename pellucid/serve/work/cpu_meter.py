"""How much CPU time each piece of work has cost.

Engines compute in threads of their own, so the time of one thread says little. The time of the whole process is divided
among the pieces in progress instead, in proportion to their weights (the tokens they search at most).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Share:
    """The part of one piece of work."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.seconds = 0.0


class CpuMeter:
    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._then = clock()
        self._shares: list[Share] = []
        self._lock = threading.Lock()

    @contextmanager
    def measure(self, weight: float) -> Iterator[Share]:
        """Count what the work inside costs. Its seconds are final when it has ended."""
        share = Share(weight)
        with self._lock:
            self._divide()
            self._shares.append(share)
        try:
            yield share
        finally:
            with self._lock:
                self._divide()
                self._shares.remove(share)

    def _divide(self) -> None:
        """Divide the time since the last call among the pieces that were in progress."""
        now = self._clock()
        passed, self._then = now - self._then, now
        total = sum(share.weight for share in self._shares)
        for share in self._shares:
            share.seconds += passed * share.weight / total
