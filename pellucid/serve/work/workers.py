"""Threads that take work and do it, until they are closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")


class Workers(Generic[Work]):
    """Threads that `run` whatever `take` returns. `take` is called while `changed` is held; None: nothing now."""

    def __init__(self, threads: int, take: Callable[[], Work | None], run: Callable[[Work], None]) -> None:
        self.changed = threading.Condition()  # notify it when `take` may have something
        self.open = True
        self._take, self._run = take, run
        self._threads = [threading.Thread(target=self._work, name=f"work-{n}", daemon=True) for n in range(threads)]

    def __len__(self) -> int:
        return len(self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self, seconds: float | None = None) -> None:
        """Finish what can be taken, for so many seconds at most. The threads are daemons: they end with the process."""
        with self.changed:
            self.open = False
            self.changed.notify_all()
        deadline = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while (work := self._next()) is not None:
            self._run(work)

    def _next(self) -> Work | None:
        with self.changed:
            while (work := self._take()) is None and self.open:
                self.changed.wait()
            return work
