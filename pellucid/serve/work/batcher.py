"""Dynamic batching: jobs with the same options are translated in one batch.

A batch is never waited for: a free thread takes all that is queued, and the queue grows while every thread is busy.
Clients take turns. Each translation is the same as if translated alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from starlette.exceptions import HTTPException

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Stop
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.serve.work.cpu_meter import CpuMeter
from pellucid.serve.work.turns import Turns
from pellucid.serve.work.workers import Workers

MAX_JOBS = 64  # of one batch
# Tokens searched for one batch at most. A job that alone has more is a large one: it is a batch of its own, and half of
# the threads are kept free of large ones, so that small requests do not wait until they are finished. (The engine
# divides a large batch among all cores.)
MAX_TOKENS = 16_384


class Options(NamedTuple):
    """What is the same for all texts of a batch."""

    config: DecodeConfig = DecodeConfig()
    protect: bool = False
    split: bool | None = None


class Job(NamedTuple):
    """The texts of one request, with their directions and prefixes."""

    options: Options
    sources: tuple[SourceText, ...]
    client: str = ""
    tokens: int = 1  # that are searched at most
    wanted: Callable[[], bool] = lambda: True  # whether the client is still waiting
    charge: Callable[[float], None] = lambda _: None  # called with the CPU seconds that the job took


Translations = list[Translation]
Translate = Callable[[Options, list[SourceText], Stop], Translations]
"""The translations of texts, unless `Stop` returns true on the way."""


class Queued(NamedTuple):
    job: Job
    future: Future[Translations]

    @property
    def large(self) -> bool:
        return self.job.tokens > MAX_TOKENS


class QueueFullError(HTTPException):
    """The queue is full, or closed."""

    def __init__(self) -> None:
        super().__init__(503, "the queue of the server is full: try again soon", {"Retry-After": "1"})


class Batcher:
    """A bounded queue and the threads that empty it. A job whose future is cancelled while queued is never begun."""

    def __init__(
        self,
        translate: Translate,
        threads: int,
        capacity: int,
        observe: Callable[[int], None] = lambda _: None,
        meter: CpuMeter | None = None,
    ) -> None:
        self._translate = translate
        self._capacity = capacity
        self._observe = observe  # called with the number of jobs of each batch
        self._meter = meter or CpuMeter()
        self._queue: Turns[Queued] = Turns()
        self._large = 0  # batches of large jobs in progress
        self._unfinished = 0
        self._workers = Workers(threads, self._take, self._work)
        self._changed = self._workers.changed
        self._workers.start()

    @property
    def unfinished(self) -> int:
        """Jobs queued or in progress."""
        return self._unfinished

    @property
    def full(self) -> bool:
        return self._unfinished >= self._capacity

    def submit(self, job: Job) -> Future[Translations]:
        """Queue a job. Where the queue is full, the client with most jobs in it loses the last of them."""
        queued = Queued(job, Future())
        with self._changed:
            if not self._workers.open:
                raise QueueFullError
            if self.full:
                loser = self._queue.make_room(job.client)
                if loser is None:
                    raise QueueFullError
                loser.future.set_exception(QueueFullError())
            self._unfinished += 1
            self._queue.put(job.client, queued)
            self._changed.notify()
        queued.future.add_done_callback(lambda _: self._done(queued))
        return queued.future

    def close(self, seconds: float | None = None) -> None:
        """Accept no more jobs and finish those accepted, for so many seconds at most."""
        self._workers.close(seconds)

    def _done(self, queued: Queued) -> None:
        with self._changed:
            self._unfinished -= 1
            self._queue.remove(queued.job.client, queued)  # if it was cancelled while queued

    def _take(self) -> list[Queued] | None:
        """The next batch: the job whose turn it is, and jobs with the same options."""
        no_more_large = self._large >= max(1, len(self._workers) // 2)
        first = self._queue.take(lambda _, each: not (each.large and no_more_large))
        if first is None:
            return None
        self._large += first.large
        batch, tokens = [first], first.job.tokens

        def fits(_client: str, each: Queued) -> bool:
            return each.job.options == first.job.options and tokens + each.job.tokens <= MAX_TOKENS

        while len(batch) < MAX_JOBS and (other := self._queue.take(fits)):
            batch.append(other)
            tokens += other.job.tokens
        return batch

    def _work(self, batch: list[Queued]) -> None:
        running = [each for each in batch if each.future.set_running_or_notify_cancel()]
        if running:
            self._observe(len(running))
            self._run(running)
        with self._changed:
            self._large -= batch[0].large
            self._changed.notify_all()

    def _run(self, batch: list[Queued]) -> None:
        jobs = [each.job for each in batch]
        sources = [source for job in jobs for source in job.sources]
        tokens = sum(job.tokens for job in jobs)
        try:
            with self._meter.measure(tokens) as share:
                found = iter(self._translate(jobs[0].options, sources, lambda: not any(job.wanted() for job in jobs)))
        except BaseException as error:
            for each in batch:
                if len(batch) == 1:
                    each.future.set_exception(error)
                else:
                    self._run([each])  # alone, so that only the job at fault fails
            return
        finally:
            for job in jobs:
                job.charge(share.seconds * job.tokens / tokens)
        for each in batch:
            each.future.set_result([next(found) for _ in each.job.sources])
