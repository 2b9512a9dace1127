from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pellucid.decode.engines.ctranslate2.workers import LONG_ENOUGH, Workers


def test_results_come_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    workers = Workers(4, tmp_path / "workers.json")
    assert list(workers.map(lambda job: job * job, range(50))) == [job * job for job in range(50)]
    assert list(workers.map(str, [])) == []


def test_a_single_job_starts_no_thread(tmp_path: Path) -> None:
    workers = Workers(4, tmp_path / "workers.json")
    [thread] = workers.map(lambda _: threading.current_thread(), [1])
    assert thread is threading.current_thread()


@pytest.mark.parametrize(("count", "threads"), [(3, 4), (2, 2)])
def test_one_more_waits_only_where_the_engine_takes_no_more_at_once(count: int, threads: int, tmp_path: Path) -> None:
    record = tmp_path / "workers.json"
    record.write_text(f'{{"3": {count}}}')
    together = threading.Barrier(threads)  # passed by that many at once, or not at all
    list(Workers(3, record).map(lambda _: together.wait(30), range(threads)))
    too_many = threading.Barrier(threads + 1)
    with pytest.raises(threading.BrokenBarrierError):
        list(Workers(3, record).map(lambda _: too_many.wait(1), range(threads + 1)))


def test_short_work_measures_nothing(tmp_path: Path) -> None:
    workers = Workers(2, tmp_path / "workers.json")
    list(workers.map(str, range(4)))
    assert not (tmp_path / "workers.json").exists()


def test_long_work_measures_once_and_remembers(tmp_path: Path) -> None:
    record = tmp_path / "kept" / "workers.json"
    workers = Workers(2, record)
    jobs = range(LONG_ENOUGH * 4 + 8)
    assert list(workers.map(str, jobs)) == list(map(str, jobs))
    assert record.exists()
    assert Workers(2, record).count == workers.count
    record.write_text('{"2": 1}')
    assert Workers(2, record).count == 1
    assert Workers(8, record).count == 8  # another machine
    record.write_text("no JSON")
    assert Workers(2, record).count == 2


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        ({4: 1.0, 2: 0.9}, 4),  # a little faster may be chance
        ({4: 1.0, 2: 0.5, 1: 0.45}, 2),
        ({4: 1.0, 2: 0.5, 1: 0.3}, 1),
        ({4: 1.0, 2: 2.0}, 4),
    ],
)
def test_fewer_workers_must_be_clearly_faster(
    seconds: dict[int, float], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "_seconds", lambda _self, _run, _trial, workers: seconds[workers])
    workers = Workers(4, tmp_path / "workers.json")
    list(workers.map(str, range(LONG_ENOUGH * 8)))
    assert workers.count == count
