"""Dynamic batching: requests that ask for the same kind of translation go through the engine together.

Nobody waits for a batch to fill. A free thread takes whatever is there; while all are busy, batches grow by themselves.
No translation depends on what it shares a batch with, so a request gets the answer it would get alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from pellucid.config import DecodeConfig
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop

MOST_JOBS, MOST_CHARACTERS = 64, 20_000  # of one batch; beyond that others should have their turn


class Options(NamedTuple):
    """What has to be equal for texts to go together."""

    source: str | None
    target: str | None
    config: DecodeConfig = DecodeConfig()
    protect: bool = False
    split: bool | None = None


class Job(NamedTuple):
    """Texts of one request that are translated in the same way. `prefix` begins each of their translations."""

    options: Options
    texts: tuple[str, ...]
    prefix: str = ""
    wanted: Callable[[], bool] = lambda: True  # whether anybody still waits for them

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


Translations = list[Translation]
Translate = Callable[[Options, list[str], list[str], Stop], Translations]
"""Translations of texts, each with its prefix, unless it is told to stop."""


class BusyError(Exception):
    """The queue is full, or closed."""


class Batcher:
    """A bounded queue and the threads that empty it. A job whose future is cancelled before its turn is left out."""

    def __init__(
        self, translate: Translate, threads: int, capacity: int, observe: Callable[[int], None] = lambda _: None
    ) -> None:
        self._translate = translate
        self._capacity = capacity
        self._observe = observe  # told the number of jobs of each batch
        self._waiting: OrderedDict[Options, dict[Future[Translations], Job]] = OrderedDict()
        self._unfinished = 0
        self._open = True
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._work, name=f"batch-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def unfinished(self) -> int:
        """Jobs that wait or are worked on."""
        return self._unfinished

    def submit(self, jobs: Sequence[Job]) -> list[Future[Translations]]:
        """A future for each job; all of them are taken, or none."""
        futures: list[Future[Translations]] = [Future() for _ in jobs]
        with self._changed:
            if not self._open or self._unfinished + len(jobs) > self._capacity:
                raise BusyError
            self._unfinished += len(jobs)
            for future, job in zip(futures, jobs, strict=True):
                self._waiting.setdefault(job.options, {})[future] = job
            self._changed.notify(len(jobs))
        for future, job in zip(futures, jobs, strict=True):
            future.add_done_callback(lambda done, options=job.options: self._done(done, options))  # type: ignore[misc]
        return futures

    def close(self) -> None:
        """Take nothing more, finish what was taken."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _done(self, future: Future[Translations], options: Options) -> None:
        with self._changed:
            self._unfinished -= 1
            group = self._waiting.get(options, {})
            if group.pop(future, None) and not group:  # cancelled before its turn
                del self._waiting[options]

    def _work(self) -> None:
        while batch := self._take():
            running = {future: job for future, job in batch.items() if future.set_running_or_notify_cancel()}
            if running:
                self._observe(len(running))
                self._run(running)

    def _take(self) -> dict[Future[Translations], Job]:
        """The next batch: of the kind that has waited longest. Empty when the batcher is closed and all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or not self._open)
            if not self._waiting:
                return {}
            options, group = next(iter(self._waiting.items()))
            batch: dict[Future[Translations], Job] = {}
            characters = 0
            for future, job in group.items():
                characters += job.characters
                if batch and (len(batch) == MOST_JOBS or characters > MOST_CHARACTERS):
                    break
                batch[future] = job
            for future in batch:
                del group[future]
            if group:
                self._waiting.move_to_end(options)  # other kinds have their turn before the rest
            else:
                del self._waiting[options]
            return batch

    def _run(self, batch: dict[Future[Translations], Job]) -> None:
        jobs = list(batch.values())
        texts = [text for job in jobs for text in job.texts]
        prefixes = [job.prefix for job in jobs for _ in job.texts]
        try:
            found = iter(
                self._translate(jobs[0].options, texts, prefixes, lambda: not any(job.wanted() for job in jobs))
            )
        except BaseException as error:
            if len(batch) == 1:
                next(iter(batch)).set_exception(error)
                return
            for future, job in batch.items():  # one job's fault is not its neighbours'
                self._run({future: job})
            return
        for future, job in batch.items():
            future.set_result([next(found) for _ in job.texts])
