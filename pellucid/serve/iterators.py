"""Iterators that run in threads and are read from the event loop, with a bound on how many run and how many wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from starlette.exceptions import HTTPException

from pellucid.serve.batcher import QueueFullError

Item = TypeVar("Item")


class TimedOutError(HTTPException):
    def __init__(self, seconds: float) -> None:
        super().__init__(503, f"the translation took longer than {seconds:g} s", {"Retry-After": "1"})


class IteratorPool:
    def __init__(self, threads: int, capacity: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="iterator")
        self._capacity = capacity
        self.unfinished = 0  # changed on the event loop only

    async def read(self, start: Callable[[], Iterator[Item]], timeout: float) -> AsyncGenerator[Item]:
        """The items as they are produced. Closing the generator stops the iterator at its next item."""
        if self.unfinished >= self._capacity:
            raise QueueFullError
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[Item] | BaseException | None] = asyncio.Queue()
        closed = threading.Event()

        def put(item: tuple[Item] | BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: there is no reader any more
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                for item in start():
                    if closed.is_set():
                        break
                    put((item,))
                put(None)
            except BaseException as error:
                put(error)  # raised where the items are read

        self.unfinished += 1
        task = self._pool.submit(work)
        try:
            async with asyncio.timeout(timeout):
                while (item := await queue.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    yield item[0]
        except TimeoutError:
            raise TimedOutError(timeout) from None
        finally:
            closed.set()
            task.cancel()  # if it has not begun
            self.unfinished -= 1

    def close(self) -> None:
        self._pool.shutdown()
