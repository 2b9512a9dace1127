from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Stop, StoppedError
from pellucid.serve.batcher import MAX_CHARACTERS, MAX_JOBS, Batcher, Job, Options, QueueFullError

NARROW, WIDE = Options(DecodeConfig(beam=2)), Options(DecodeConfig(beam=8))


class Work:
    """A translator that upper-cases, records its batches, and waits until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.batches: list[tuple[Options, list[str]]] = []

    def __call__(self, options: Options, sources: list[SourceText], stop: Stop) -> list[Translation]:
        texts = [source.text for source in sources]
        self.batches.append((options, texts))
        self.entered.release()
        assert self.released.wait(60)
        if stop():
            raise StoppedError
        if "bad" in texts:
            raise ValueError("bad")
        return [Translation(source.prefix + source.text.upper(), 0.0, ()) for source in sources]


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.released.set()


def job(*texts: str, options: Options = NARROW, prefix: str = "") -> Job:
    return Job(options, tuple(source(text, prefix) for text in texts))


def source(text: str, prefix: str = "") -> SourceText:
    return SourceText(text, ("en", "de"), prefix)


def submit(batcher: Batcher, jobs: list[Job]) -> list[Future[list[Translation]]]:
    return [batcher.submit(each) for each in jobs]


def texts_of(future: Future[list[Translation]]) -> list[str]:
    return [translation.text for translation in future.result(60)]


def busy_batcher(work: Work, capacity: int = 1000) -> Batcher:
    """A batcher of one thread, which is at work on something."""
    batcher = Batcher(work, threads=1, capacity=capacity)
    batcher.submit(job("first"))
    assert work.entered.acquire(timeout=60)
    return batcher


def test_what_waits_goes_together_and_everyone_gets_their_own(work: Work) -> None:
    batcher = busy_batcher(work)
    futures = submit(batcher, [job("a", "b"), job("c", options=WIDE), job("d", prefix="> ")])
    futures += submit(batcher, [job("e", options=NARROW._replace(protect=True)), job("f")])
    work.released.set()
    assert [texts_of(future) for future in futures] == [["A", "B"], ["C"], ["> D"], ["E"], ["F"]]
    assert [texts for _, texts in work.batches] == [["first"], ["a", "b", "d", "f"], ["c"], ["e"]]
    batcher.close()


def test_batches_are_bounded_and_kinds_take_turns(work: Work) -> None:
    batcher = busy_batcher(work)
    many = submit(batcher, [job(str(number)) for number in range(MAX_JOBS + 1)])
    long = submit(batcher, [job("x" * MAX_CHARACTERS, options=WIDE), job("y", options=WIDE)])
    work.released.set()
    for future in (*many, *long):
        future.result(60)
    assert [len(texts) for _, texts in work.batches] == [1, MAX_JOBS, 1, 1, 1]
    assert [options for options, _ in work.batches[1:]] == [NARROW, WIDE, NARROW, WIDE]
    batcher.close()


def test_a_full_queue_takes_no_more(work: Work) -> None:
    batcher = busy_batcher(work, capacity=3)
    futures = submit(batcher, [job("a"), job("b")])
    with pytest.raises(QueueFullError):
        batcher.submit(job("c"))
    futures[0].cancel()
    futures += submit(batcher, [job("c")])  # who leaves makes room
    work.released.set()
    assert [texts_of(future) for future in futures[1:]] == [["B"], ["C"]]
    batcher.close()
    assert batcher.unfinished == 0


def test_cancelled_work_is_not_begun(work: Work) -> None:
    batcher = busy_batcher(work)
    alone, kept, left = submit(batcher, [job("alone", options=WIDE), job("kept"), job("left")])
    assert alone.cancel()
    assert left.cancel()
    work.released.set()
    assert texts_of(kept) == ["KEPT"]
    batcher.close()
    assert [texts for _, texts in work.batches] == [["first"], ["kept"]]


def test_one_jobs_fault_is_not_its_neighbours(work: Work) -> None:
    batcher = busy_batcher(work)
    good, bad, other = submit(batcher, [job("good"), job("bad"), job("other")])
    work.released.set()
    assert texts_of(good) == ["GOOD"]
    assert texts_of(other) == ["OTHER"]
    with pytest.raises(ValueError, match="bad"):
        bad.result(60)
    batcher.close()


def test_work_stops_when_nobody_in_the_batch_wants_it(work: Work) -> None:
    batcher = busy_batcher(work)
    wanted = {"a": False, "b": False, "c": True}
    alone, *together = submit(
        batcher,
        [
            Job(WIDE, (source("a"),), wanted=lambda: wanted["a"]),
            Job(NARROW, (source("b"),), wanted=lambda: wanted["b"]),
            Job(NARROW, (source("c"),), wanted=lambda: wanted["c"]),
        ],
    )
    work.released.set()
    assert [texts_of(future) for future in together] == [["B"], ["C"]]
    with pytest.raises(StoppedError):
        alone.result(60)
    batcher.close()


def test_closing_finishes_what_was_accepted(work: Work) -> None:
    batcher = busy_batcher(work)
    futures = submit(batcher, [job(str(number), options=(NARROW, WIDE)[number % 2]) for number in range(10)])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    work.released.set()
    closing.join(60)
    assert not closing.is_alive()
    assert [texts_of(future) for future in futures] == [[str(number)] for number in range(10)]
    with pytest.raises(QueueFullError):
        batcher.submit(job("late"))


def test_a_batch_may_have_no_texts(work: Work) -> None:
    work.released.set()
    batcher = Batcher(work, threads=1, capacity=1)
    [future] = submit(batcher, [job()])
    assert texts_of(future) == []
    batcher.close()
