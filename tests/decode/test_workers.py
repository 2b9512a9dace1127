from __future__ import annotations

import threading

import pytest

from pellucid.decode.engines.ctranslate2.engine import map_in_threads


def test_results_come_in_the_order_of_the_jobs() -> None:
    assert list(map_in_threads(lambda job: job * job, range(50), workers=4)) == [job * job for job in range(50)]
    assert list(map_in_threads(str, [], workers=4)) == []


@pytest.mark.parametrize(("jobs", "workers"), [(1, 4), (3, 1)])
def test_a_single_job_or_a_single_worker_starts_no_thread(jobs: int, workers: int) -> None:
    threads = set(map_in_threads(lambda _: threading.current_thread(), range(jobs), workers))
    assert threads == {threading.current_thread()}


def test_one_more_job_than_there_are_workers_runs_at_once() -> None:
    """A barrier is passed by that many at once, or not at all."""
    workers = 3
    barrier = threading.Barrier(workers + 1)
    assert len(list(map_in_threads(lambda _: barrier.wait(30), range(workers + 1), workers))) == workers + 1
    too_many = threading.Barrier(workers + 2)
    with pytest.raises(threading.BrokenBarrierError):
        list(map_in_threads(lambda _: too_many.wait(1), range(workers + 2), workers))
