from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from pellucid.serve.prometheus import ServiceMetrics

LABELS = {
    "pellucid_requests_total": {"endpoint", "status"},
    "pellucid_request_seconds_bucket": {"le"},
    "pellucid_request_seconds_sum": set(),
    "pellucid_request_seconds_count": set(),
    "pellucid_texts_total": set(),
    "pellucid_characters_total": set(),
    "pellucid_tokens_total": set(),
    "pellucid_batch_jobs_bucket": {"le"},
    "pellucid_batch_jobs_sum": set(),
    "pellucid_batch_jobs_count": set(),
    "pellucid_unfinished_jobs": set(),
}


@pytest.fixture
def metrics() -> ServiceMetrics:
    return ServiceMetrics(lambda: 7)


def families(metrics: ServiceMetrics) -> Iterable[Metric]:
    return text_string_to_metric_families(metrics.text().decode())


def value(metrics: ServiceMetrics, name: str, **labels: str) -> float:
    [found] = [s.value for each in families(metrics) for s in each.samples if (s.name, s.labels) == (name, labels)]
    return found


def test_names_and_labels(metrics: ServiceMetrics) -> None:
    metrics.requests.labels("/translate", "200").inc()
    samples = [sample for family in families(metrics) for sample in family.samples]
    own = {sample.name: set(sample.labels) for sample in samples if sample.name.startswith("pellucid_")}
    assert own == LABELS
    assert not any(sample.name.endswith("_created") for sample in samples)
    assert value(metrics, "pellucid_unfinished_jobs") == 7


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not report the memory of a process")
def test_memory_is_reported(metrics: ServiceMetrics) -> None:
    assert value(metrics, "process_resident_memory_bytes") > 1 << 20


def test_counters_add_up_and_keep_every_digit(metrics: ServiceMetrics) -> None:
    metrics.requests.labels("/detect", "400").inc()
    metrics.requests.labels("/detect", "400").inc()
    metrics.requests.labels("/detect", "200").inc()
    assert value(metrics, "pellucid_requests_total", endpoint="/detect", status="400") == 2
    metrics.characters.inc(123_456_789)
    metrics.characters.inc(1)
    assert value(metrics, "pellucid_characters_total") == 123_456_790


def test_buckets_are_cumulative_and_include_their_bound(metrics: ServiceMetrics) -> None:
    for size in (1, 2, 3, 100):
        metrics.batches.observe(size)
    bounds = ("1.0", "2.0", "4.0", "8.0", "16.0", "32.0", "64.0", "+Inf")
    counts = [value(metrics, "pellucid_batch_jobs_bucket", le=bound) for bound in bounds]
    assert counts == [1, 2, 3, 3, 3, 3, 3, 4]
    assert value(metrics, "pellucid_batch_jobs_sum") == 106
    metrics.seconds.observe(0.005)
    assert value(metrics, "pellucid_request_seconds_bucket", le="0.005") == 1


def test_each_service_counts_for_itself(metrics: ServiceMetrics) -> None:
    metrics.texts.inc(3)
    assert value(ServiceMetrics(lambda: 0), "pellucid_texts_total") == 0
