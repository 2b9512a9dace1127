from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop, StoppedError
from pellucid.serve.batcher import MAX_CHARACTERS, MAX_JOBS, Batcher, Job, Options, QueueFullError

EN_DE, DE_EN = Options("en", "de"), Options("de", "en")


class Work:
    """A translator that upper-cases, records its batches, and waits until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.batches: list[tuple[Options, list[str]]] = []

    def __call__(self, options: Options, texts: list[str], prefixes: list[str], stop: Stop) -> list[Translation]:
        self.batches.append((options, texts))
        self.entered.release()
        assert self.released.wait(60)
        if stop():
            raise StoppedError
        if "bad" in texts:
            raise ValueError("bad")
        return [Translation(prefix + text.upper(), 0.0, ()) for text, prefix in zip(texts, prefixes, strict=True)]


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.released.set()


def job(*texts: str, options: Options = EN_DE, prefix: str = "") -> Job:
    return Job(options, texts, prefix)


def texts_of(future: Future[list[Translation]]) -> list[str]:
    return [translation.text for translation in future.result(60)]


def busy_batcher(work: Work, capacity: int = 1000) -> Batcher:
    """A batcher of one thread, which is at work on something."""
    batcher = Batcher(work, threads=1, capacity=capacity)
    batcher.submit([job("first")])
    assert work.entered.acquire(timeout=60)
    return batcher


def test_what_waits_goes_together_and_everyone_gets_their_own(work: Work) -> None:
    batcher = busy_batcher(work)
    futures = batcher.submit([job("a", "b"), job("c", options=DE_EN), job("d", prefix="> ")])
    futures += batcher.submit([job("e", options=EN_DE._replace(config=DecodeConfig(beam=2))), job("f")])
    work.released.set()
    assert [texts_of(future) for future in futures] == [["A", "B"], ["C"], ["> D"], ["E"], ["F"]]
    assert [texts for _, texts in work.batches] == [["first"], ["a", "b", "d", "f"], ["c"], ["e"]]
    batcher.close()


def test_batches_are_bounded_and_kinds_take_turns(work: Work) -> None:
    batcher = busy_batcher(work)
    many = batcher.submit([job(str(number)) for number in range(MAX_JOBS + 1)])
    long = batcher.submit([job("x" * MAX_CHARACTERS, options=DE_EN), job("y", options=DE_EN)])
    work.released.set()
    for future in (*many, *long):
        future.result(60)
    assert [len(texts) for _, texts in work.batches] == [1, MAX_JOBS, 1, 1, 1]
    assert [options for options, _ in work.batches[1:]] == [EN_DE, DE_EN, EN_DE, DE_EN]
    batcher.close()


def test_a_full_queue_takes_all_or_nothing(work: Work) -> None:
    batcher = busy_batcher(work, capacity=3)
    with pytest.raises(QueueFullError):
        batcher.submit([job("a"), job("b"), job("c")])
    assert batcher.unfinished == 1
    futures = batcher.submit([job("a"), job("b")])
    with pytest.raises(QueueFullError):
        batcher.submit([job("c")])
    futures[0].cancel()
    futures += batcher.submit([job("c")])  # who leaves makes room
    work.released.set()
    assert [texts_of(future) for future in futures[1:]] == [["B"], ["C"]]
    batcher.close()
    assert batcher.unfinished == 0


def test_cancelled_work_is_not_begun(work: Work) -> None:
    batcher = busy_batcher(work)
    alone, kept, left = batcher.submit([job("alone", options=DE_EN), job("kept"), job("left")])
    assert alone.cancel()
    assert left.cancel()
    work.released.set()
    assert texts_of(kept) == ["KEPT"]
    batcher.close()
    assert [texts for _, texts in work.batches] == [["first"], ["kept"]]


def test_one_jobs_fault_is_not_its_neighbours(work: Work) -> None:
    batcher = busy_batcher(work)
    good, bad, other = batcher.submit([job("good"), job("bad"), job("other")])
    work.released.set()
    assert texts_of(good) == ["GOOD"]
    assert texts_of(other) == ["OTHER"]
    with pytest.raises(ValueError, match="bad"):
        bad.result(60)
    batcher.close()


def test_work_stops_when_nobody_in_the_batch_wants_it(work: Work) -> None:
    batcher = busy_batcher(work)
    wanted = {"a": False, "b": False, "c": True}
    alone, *together = batcher.submit(
        [
            Job(DE_EN, ("a",), wanted=lambda: wanted["a"]),
            Job(EN_DE, ("b",), wanted=lambda: wanted["b"]),
            Job(EN_DE, ("c",), wanted=lambda: wanted["c"]),
        ]
    )
    work.released.set()
    assert [texts_of(future) for future in together] == [["B"], ["C"]]
    with pytest.raises(StoppedError):
        alone.result(60)
    batcher.close()


def test_closing_finishes_what_was_accepted(work: Work) -> None:
    batcher = busy_batcher(work)
    futures = batcher.submit([job(str(number), options=(EN_DE, DE_EN)[number % 2]) for number in range(10)])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    work.released.set()
    closing.join(60)
    assert not closing.is_alive()
    assert [texts_of(future) for future in futures] == [[str(number)] for number in range(10)]
    with pytest.raises(QueueFullError):
        batcher.submit([job("late")])


def test_a_batch_may_have_no_texts(work: Work) -> None:
    work.released.set()
    batcher = Batcher(work, threads=1, capacity=1)
    [future] = batcher.submit([job()])
    assert texts_of(future) == []
    batcher.close()
