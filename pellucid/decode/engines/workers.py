"""How many sentences are worked on at once: found by trying, once a machine, on work that is long enough to tell.

A core more is not always faster (two hardware threads of one core, a container with a smaller share). The number
changes how long the work takes and never what comes out.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from pellucid.cores import cores
from pellucid.text.cache import cache_directory

Job = TypeVar("Job")
Done = TypeVar("Done")

LONG_ENOUGH = 40  # times the jobs of one trial
CLEARLY = 0.8  # of the time: where the difference is smaller, a busy moment of the machine would decide for good


class Workers:
    """Threads that share jobs out. `most` is what the machine has, `count` what is used."""

    def __init__(self, most: int | None = None, record: Path | None = None) -> None:
        self.most = most or cores()
        self._record = record or cache_directory() / "workers.json"
        measured = self._recall()
        self._measured = measured is not None or self.most == 1
        self.count = measured or self.most

    def map(self, run: Callable[[Job], Done], jobs: Sequence[Job]) -> Iterator[Done]:
        """The results in the order of the jobs. The calling thread does a single job itself."""
        few = 2 * self.most
        if not self._measured and len(jobs) >= LONG_ENOUGH * few:
            self._measure(run, jobs[:: len(jobs) // few][:few])
        return self._map(run, jobs, self.count)

    def _map(self, run: Callable[[Job], Done], jobs: Sequence[Job], count: int) -> Iterator[Done]:
        if count == 1 or len(jobs) < 2:
            yield from map(run, jobs)
            return
        # Where the engine takes no more at once, one more waits with its job, so that the engine need not wait for it:
        # 1,000 sentences take 0.98 of the time. Where jobs are for two forms of a model, it may run beside the others.
        ahead = 1 if count == self.most else 0
        with ThreadPoolExecutor(min(count + ahead, len(jobs))) as pool:
            yield from pool.map(run, jobs)

    def _measure(self, run: Callable[[Job], Done], trial: Sequence[Job]) -> None:
        """Halve the workers for as long as that is clearly faster."""
        self._measured = True
        count, seconds = self.most, self._seconds(run, trial, self.most)
        while count > 1:
            fewer = self._seconds(run, trial, count // 2)
            if fewer > CLEARLY * seconds:
                break
            count, seconds = count // 2, fewer
        self.count = count
        self._remember()

    def _seconds(self, run: Callable[[Job], Done], trial: Sequence[Job], count: int) -> float:
        start = perf_counter()
        for _ in self._map(run, trial, count):
            pass
        return perf_counter() - start

    def _recall(self) -> int | None:
        try:
            count = json.loads(self._record.read_text(encoding="utf-8"))[str(self.most)]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return count if isinstance(count, int) and 1 <= count <= self.most else None

    def _remember(self) -> None:
        with contextlib.suppress(OSError):  # where nothing can be kept, it is measured again
            self._record.parent.mkdir(parents=True, exist_ok=True)
            draft = self._record.with_name(f".{self._record.name}-{os.getpid()}")
            draft.write_text(json.dumps({str(self.most): self.count}) + "\n", encoding="utf-8")
            draft.replace(self._record)
