from __future__ import annotations

import threading
from pathlib import Path

from pellucid.decode.engines.workers import LONG_ENOUGH, Workers


def test_results_come_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    workers = Workers(4, tmp_path / "workers.json")
    assert list(workers.map(lambda job: job * job, range(50))) == [job * job for job in range(50)]
    assert list(workers.map(str, [])) == []


def test_a_single_job_starts_no_thread(tmp_path: Path) -> None:
    workers = Workers(4, tmp_path / "workers.json")
    [thread] = workers.map(lambda _: threading.current_thread(), [1])
    assert thread is threading.current_thread()


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
