"""Streaming: the tokens of a search while it runs, and the text that each of them adds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue

from pellucid.config import DecodeConfig
from pellucid.decode.engines import Engine
from pellucid.decode.hypotheses import Sentence


def tokens_as_chosen(engine: Engine, sentence: Sentence, config: DecodeConfig) -> Iterator[int]:
    """The tokens of one search as they are chosen, in a thread that ends when the iterator is closed."""
    queue: SimpleQueue[int | BaseException | None] = SimpleQueue()
    left = threading.Event()

    def on_token(_sentence: int, token: int) -> None:
        if left.is_set():
            raise InterruptedError("the stream was closed")
        queue.put(token)

    def run() -> None:
        try:
            engine.search([sentence], config, on_token)
            queue.put(None)
        except BaseException as error:
            queue.put(error)  # it is raised where the tokens are waited for

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        thread.join()


def added_text(tokens: Iterable[int], text_of: Callable[[Sequence[int]], str]) -> Iterator[str]:
    """What each token adds to the text of those before it."""
    so_far: list[int] = []
    shown = ""
    for token in tokens:
        so_far.append(token)
        text = text_of(so_far)
        if text.endswith("\ufffd"):  # the rest of this character is still to come
            continue
        yield text[len(shown) :]
        shown = text
    text = text_of(so_far)
    if text != shown:
        yield text[len(shown) :]
