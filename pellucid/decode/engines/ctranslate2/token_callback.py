"""The callback that CTranslate2 calls with every token it chooses.

A CTranslate2 worker calls it after every token, and releases it some time after the last. Two things would crash the
process: a worker that calls or releases it when the interpreter is gone, and a callback that holds the last reference
to its engine, which would then be destroyed by its own worker. So a callback releases everything when its search is
done, and searches that run when the interpreter ends are stopped first.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.decode.hypotheses import OnToken
from pellucid.text.tokenizer import END


class TokenCallback:
    """The callback of one search."""

    def __init__(self, on_token: OnToken, places: Sequence[int], prefix: int, ids: Mapping[str, int]) -> None:
        self._on_token: OnToken | None = on_token
        self._places = places  # of the sentences in the request
        self._prefix = prefix  # tokens that are not reported
        self._ids = ids  # of the tokens, whatever numbers they have in the converted model
        self._error: BaseException | None = None
        self._stop = False
        self._done = threading.Event()

    def __call__(self, step: Any) -> bool:
        """Whether to stop. An error must not pass through a worker: it waits until the search is over."""
        try:
            token = self._ids[step.token]
            if self._on_token and token != END and step.step >= self._prefix:
                self._on_token(self._places[step.batch_id], token)
        except BaseException as error:
            self._error, self._stop = error, True
        return self._stop

    def release(self) -> BaseException | None:
        """The search is over; the error it met, if any."""
        error, self._error, self._on_token = self._error, None, None
        self._done.set()
        return error

    def end(self) -> None:
        """Stop the search and wait for it."""
        self._stop = True
        self._done.wait()
