"""Dynamic batching: jobs with the same options are translated in one batch.

A batch is never waited for: a free thread takes all that is queued, and the queue grows while every thread is busy.
Each translation is the same as if translated alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from starlette.exceptions import HTTPException

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop

MAX_JOBS, MAX_CHARACTERS = 64, 20_000  # of one batch, so that jobs with other options do not wait too long


class Options(NamedTuple):
    """What is the same for all texts of a batch."""

    config: DecodeConfig = DecodeConfig()
    protect: bool = False
    split: bool | None = None


class Job(NamedTuple):
    """The texts of one request, with their directions and prefixes."""

    options: Options
    sources: tuple[SourceText, ...]
    wanted: Callable[[], bool] = lambda: True  # whether the client is still waiting


Translations = list[Translation]
Translate = Callable[[Options, list[SourceText], Stop], Translations]
"""The translations of texts, unless `Stop` returns true on the way."""


class QueueFullError(HTTPException):
    """The queue is full, or closed."""

    def __init__(self) -> None:
        super().__init__(503, "the queue of the server is full: try again soon", {"Retry-After": "1"})


class Batcher:
    """A bounded queue and the threads that empty it. A job whose future is cancelled while queued is never begun."""

    def __init__(
        self, translate: Translate, threads: int, capacity: int, observe: Callable[[int], None] = lambda _: None
    ) -> None:
        self._translate = translate
        self._capacity = capacity
        self._observe = observe  # called with the number of jobs of each batch
        self._queued: OrderedDict[Options, dict[Future[Translations], Job]] = OrderedDict()
        self._unfinished = 0
        self._open = True
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._work, name=f"batch-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def unfinished(self) -> int:
        """Jobs queued or in progress."""
        return self._unfinished

    def submit(self, job: Job) -> Future[Translations]:
        """Queue a job."""
        future: Future[Translations] = Future()
        with self._changed:
            if not self._open or self._unfinished >= self._capacity:
                raise QueueFullError
            self._unfinished += 1
            self._queued.setdefault(job.options, {})[future] = job
            self._changed.notify()
        future.add_done_callback(lambda done: self._done(done, job.options))
        return future

    def close(self) -> None:
        """Accept no more jobs and finish those accepted."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _done(self, future: Future[Translations], options: Options) -> None:
        with self._changed:
            self._unfinished -= 1
            group = self._queued.get(options, {})
            if group.pop(future, None) and not group:  # cancelled while queued
                del self._queued[options]

    def _work(self) -> None:
        while batch := self._take():
            running = {future: job for future, job in batch.items() if future.set_running_or_notify_cancel()}
            if running:
                self._observe(len(running))
                self._run(running)

    def _take(self) -> dict[Future[Translations], Job]:
        """The next batch, of the options queued longest. Empty when the batcher is closed and the queue is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._queued or not self._open)
            if not self._queued:
                return {}
            options, group = self._queued.popitem(last=False)
            batch: dict[Future[Translations], Job] = {}
            characters = 0
            for future, job in group.items():
                characters += sum(len(source.text) for source in job.sources)
                if batch and (len(batch) == MAX_JOBS or characters > MAX_CHARACTERS):
                    break
                batch[future] = job
            rest = {future: job for future, job in group.items() if future not in batch}
            if rest:
                self._queued[options] = rest  # after the jobs with other options
            return batch

    def _run(self, batch: dict[Future[Translations], Job]) -> None:
        jobs = list(batch.values())
        sources = [source for job in jobs for source in job.sources]
        try:
            found = iter(self._translate(jobs[0].options, sources, lambda: not any(job.wanted() for job in jobs)))
        except BaseException as error:
            for future, job in batch.items():
                if len(batch) == 1:
                    future.set_exception(error)
                else:
                    self._run({future: job})  # alone, so that only the job at fault fails
            return
        for future, job in batch.items():
            future.set_result([next(found) for _ in job.sources])
