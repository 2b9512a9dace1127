from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Stop, StoppedError
from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation
from pellucid.serve.work.batcher import MAX_JOBS, MAX_TOKENS, Batcher, Job, Options, QueueFullError
from pellucid.serve.work.cpu_meter import CpuMeter

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


def test_batches_are_bounded(work: Work) -> None:
    batcher = busy_batcher(work)
    many = submit(batcher, [job(str(number)) for number in range(MAX_JOBS + 1)])
    wide = submit(batcher, [job(text, options=WIDE)._replace(tokens=MAX_TOKENS // 2) for text in "abc"])
    work.released.set()
    for future in (*many, *wide):
        future.result(60)
    assert [len(texts) for _, texts in work.batches] == [1, MAX_JOBS, 1, 2, 1]
    batcher.close()


def test_clients_take_turns(work: Work) -> None:
    """However much one client has queued, another waits for one batch at most."""
    batcher = busy_batcher(work)
    greedy = [job(f"a{n}")._replace(client="ann", tokens=MAX_TOKENS // 2) for n in range(6)]
    futures = submit(batcher, greedy)
    futures += submit(batcher, [job("b")._replace(client="bob"), job("c", options=WIDE)._replace(client="cleo")])
    work.released.set()
    for future in futures:
        future.result(60)
    assert [texts for _, texts in work.batches] == [["first"], ["a0", "b"], ["c"], ["a1", "a2"], ["a3", "a4"], ["a5"]]
    batcher.close()


def test_one_thread_is_kept_free_of_large_jobs() -> None:
    """Two large jobs never run at once on two threads: a small one that comes later is done before the second."""
    entered, released = threading.Semaphore(0), threading.Event()
    done: list[str] = []

    def translate(_: Options, sources: list[SourceText], __: Stop) -> list[Translation]:
        if sources[0].text.startswith("large"):
            entered.release()
            assert released.wait(60)
        done.extend(source.text for source in sources)
        return [Translation(source.text, 0.0, ()) for source in sources]

    batcher = Batcher(translate, threads=2, capacity=10)
    large = submit(batcher, [job(name)._replace(tokens=MAX_TOKENS + 1) for name in ("large one", "large two")])
    assert entered.acquire(timeout=60)
    assert texts_of(batcher.submit(job("small"))) == ["small"]
    assert done == ["small"]
    released.set()
    for future in large:
        future.result(60)
    assert done == ["small", "large one", "large two"]
    batcher.close()


def test_a_full_queue_makes_room_for_a_client_who_has_less_in_it(work: Work) -> None:
    batcher = busy_batcher(work, capacity=4)
    mine = submit(batcher, [job(text)._replace(client="ann") for text in "abc"])
    hers = batcher.submit(job("d")._replace(client="bob"))
    with pytest.raises(QueueFullError):
        mine[-1].result(60)
    with pytest.raises(QueueFullError):  # now bob would have as many as ann
        batcher.submit(job("e")._replace(client="bob"))
    work.released.set()
    assert [texts_of(future) for future in (*mine[:2], hers)] == [["A"], ["B"], ["D"]]
    batcher.close()
    assert batcher.unfinished == 0


def test_closing_waits_no_longer_than_it_is_told(work: Work) -> None:
    batcher = busy_batcher(work)
    batcher.close(0.05)  # while the work goes on: this would wait for a minute
    assert not work.released.is_set()


def test_every_job_is_charged_its_share_of_the_cpu_time(work: Work) -> None:
    """The clock shows CPU seconds that are made up: 8 pass while a batch of three jobs is in progress."""
    now = [0.0]
    charged: dict[str, float] = {}

    def translate(_: Options, sources: list[SourceText], __: Stop) -> list[Translation]:
        work(NARROW, sources, lambda: False)
        now[0] += 8
        return [Translation(source.text, 0.0, ()) for source in sources]

    batcher = Batcher(translate, threads=1, capacity=10, meter=CpuMeter(lambda: now[0]))
    first = batcher.submit(job("first"))
    assert work.entered.acquire(timeout=60)
    shares = {"a": 10, "b": 20, "c": 50}
    futures = submit(batcher, [
        Job(NARROW, (source(name),), tokens=tokens, charge=partial(charged.__setitem__, name))
        for name, tokens in shares.items()
    ])  # fmt: skip
    work.released.set()
    for future in (first, *futures):
        future.result(60)
    assert charged == pytest.approx({"a": 1.0, "b": 2.0, "c": 5.0})
    batcher.close()


def test_cpu_time_is_divided_among_what_is_in_progress() -> None:
    now = [0.0]
    meter = CpuMeter(lambda: now[0])
    now[0] = 100.0  # nothing was in progress: nobody pays
    with meter.measure(3) as long:
        now[0] += 1  # alone
        with meter.measure(1) as short:
            now[0] += 4  # together, 3 to 1
        now[0] += 2
    assert (long.seconds, short.seconds) == (1 + 3 + 2, 1)


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
