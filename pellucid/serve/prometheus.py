"""The metrics of the service, for Prometheus. None of them contains a text, an address or a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class ServiceMetrics:
    """The metrics of one service, in a registry of their own: a process may hold several services."""

    def __init__(self, unfinished: Callable[[], float]) -> None:
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "pellucid", "registry": self._registry}
        self.requests = Counter("requests_total", "Requests answered.", ("endpoint", "status"), **own)
        self.seconds = Histogram("request_seconds", "Time until a request was answered.", buckets=SECONDS, **own)
        self.texts = Counter("texts_total", "Texts translated.", **own)
        self.characters = Counter("characters_total", "Characters of the texts translated.", **own)
        self.tokens = Counter("tokens_total", "Tokens of the translations.", **own)
        self.batches = Histogram("batch_jobs", "Jobs per batch.", buckets=SIZES, **own)
        Gauge("unfinished_jobs", "Jobs queued or in progress.", **own).set_function(unfinished)
        ProcessCollector(registry=self._registry)

    def collect(self) -> Iterator[Metric]:
        """Every metric, without the times of creation, which the library can leave out only for the whole process."""
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self)
