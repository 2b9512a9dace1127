"""Iterators that run in threads and are read from the event loop, with a bound on how many run and how many wait."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from pellucid.serve.work.batcher import QueueFullError
from pellucid.serve.work.cpu_meter import CpuMeter
from pellucid.serve.work.turns import Turns
from pellucid.serve.work.workers import Workers


class TimedOutError(HTTPException):
    def __init__(self, seconds: float) -> None:
        super().__init__(503, f"the translation took longer than {seconds:g} s", {"Retry-After": "1"})


class Task(NamedTuple):
    """An iterator, before it has begun: for whom, how many tokens are searched at most, and who pays."""

    start: Callable[[], Iterator[Any]]
    client: str = ""
    tokens: int = 1
    charge: Callable[[float], None] = lambda _: None  # called with the CPU seconds that it took


class Running(NamedTuple):
    """A task that was accepted, and how its items reach the event loop."""

    task: Task
    put: Callable[[tuple[Any] | BaseException | None], None]
    closed: threading.Event


class IteratorPool:
    """Threads that iterate. One is kept free of each client, so that the others are not shut out."""

    def __init__(self, threads: int, capacity: int, meter: CpuMeter | None = None) -> None:
        self._capacity = capacity
        self._meter = meter or CpuMeter()
        self._queue: Turns[Running] = Turns()
        self._running: Counter[str] = Counter()  # tasks in progress by client
        self._workers = Workers(threads, self._take, self._work)
        self._workers.start()
        self.unfinished = 0  # changed on the event loop only

    async def read(self, task: Task, timeout: float) -> AsyncGenerator[Any]:
        """The items as they are produced. Closing the generator stops the iterator at its next item."""
        if self.unfinished >= self._capacity:
            self._make_room(task.client)
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[Any] | BaseException | None] = asyncio.Queue()

        def put(item: tuple[Any] | BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: there is no reader any more
                loop.call_soon_threadsafe(queue.put_nowait, item)

        running = Running(task, put, threading.Event())
        self.unfinished += 1
        with self._workers.changed:
            self._queue.put(task.client, running)
            self._workers.changed.notify()
        try:
            async with asyncio.timeout(timeout):
                while (item := await queue.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    yield item[0]
        except TimeoutError:
            raise TimedOutError(timeout) from None
        finally:
            running.closed.set()
            with self._workers.changed:
                self._queue.remove(task.client, running)  # if it has not begun
            self.unfinished -= 1

    def close(self, seconds: float | None = None) -> None:
        self._workers.close(seconds)

    def _make_room(self, client: str) -> None:
        with self._workers.changed:
            loser = self._queue.make_room(client)
        if loser is None:
            raise QueueFullError
        loser.put(QueueFullError())

    def _take(self) -> Running | None:
        most = max(1, len(self._workers) - 1)
        running = self._queue.take(lambda client, _: self._running[client] < most)
        if running is not None:
            self._running[running.task.client] += 1
        return running

    def _work(self, running: Running) -> None:
        task, put, closed = running
        try:
            with self._meter.measure(task.tokens) as share:
                for item in task.start():
                    if closed.is_set():
                        break
                    put((item,))
            put(None)
        except BaseException as error:
            put(error)  # raised where the items are read
        finally:
            task.charge(share.seconds)
            with self._workers.changed:
                self._running -= Counter([task.client])
                self._workers.changed.notify_all()
