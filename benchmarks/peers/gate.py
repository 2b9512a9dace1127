"""A gate between two updates of a training loop.

A request opens it for a number of updates; after these the loop stands here again, and the answer says how many tokens
it trained on and how long that took. So loops that belong to other toolkits can take turns, and neither start-up nor
compilation is ever in a measured time. Runs inside the environments of the peers: nothing but Python.
"""

from __future__ import annotations

import os
import time

from benchmarks.peers.channel import Channel
from benchmarks.peers.memory import peak_mb


class Gate:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._requests = channel.requests()
        self._left = 0
        self._since: tuple[float, int] | None = None  # time and tokens when the gate was opened

    def pass_through(self, tokens: int) -> None:
        """Call it once between two updates; `tokens`: real source and target tokens trained on so far."""
        if self._left == 0:
            if self._since is not None:
                began, before = self._since
                seconds = time.perf_counter() - began
                self._channel.answer({"tokens": tokens - before, "seconds": seconds, "peak_mb": peak_mb()})
            request = next(self._requests, None)
            if request is None:
                os._exit(0)  # the loop is not ours: leave it without whatever it does at its end
            self._left = request["updates"]
            self._since = time.perf_counter(), tokens
        self._left -= 1
