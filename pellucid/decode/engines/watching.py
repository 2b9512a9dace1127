"""Watching CTranslate2 choose tokens, without harm.

A worker calls back after every token, and drops the callback some time after its last answer. Two things would take the
process down: a worker that calls or drops it when Python is gone, and a callback that holds the last reference to its
engine, which would then be ended by its own worker. So a callback lets go of everything when its search is done, and
what is still watched when Python ends is ended first.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.decode.search import Watch
from pellucid.text.tokenizer import END


class Watching:
    """The callback of one search."""

    def __init__(self, watch: Watch, places: Sequence[int], prefix: int, ids: Mapping[str, int]) -> None:
        self._watch: Watch | None = watch
        self._places = places  # of the sentences in the request
        self._prefix = prefix  # tokens that are not shown
        self._ids = ids  # of the tokens, whatever numbers they have in this form of the model
        self._error: BaseException | None = None
        self._stop = False
        self._done = threading.Event()

    def __call__(self, step: Any) -> bool:
        """Whether to stop. An error must not pass through a worker: it waits until the search is over."""
        try:
            token = self._ids[step.token]
            if self._watch and token != END and step.step >= self._prefix:
                self._watch(self._places[step.batch_id], token)
        except BaseException as error:
            self._error, self._stop = error, True
        return self._stop

    def let_go(self) -> BaseException | None:
        """The search is over; the error it met, if any."""
        error, self._error, self._watch = self._error, None, None
        self._done.set()
        return error

    def end(self) -> None:
        """Stop the search and wait for it."""
        self._stop = True
        self._done.wait()
