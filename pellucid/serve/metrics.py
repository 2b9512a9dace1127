"""Numbers about the service in Prometheus' text format. None of them has a text, an address or a key in it."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Counter:
    """A sum that only grows, one for each set of labels."""

    def __init__(self, name: str, doc: str, labels: tuple[str, ...] = ()) -> None:
        self.name, self.doc, self.labels = name, doc, labels
        self._values: dict[tuple[str, ...], int] = {} if labels else {(): 0}
        self._lock = threading.Lock()

    def add(self, amount: int, *values: str) -> None:
        with self._lock:
            self._values[values] = self._values.get(values, 0) + amount

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.doc, "counter")
        for values, amount in sorted(self._values.copy().items()):
            yield f"{self.name}{_labels(self.labels, values)} {amount}"


class Histogram:
    """How many observations lie at or below each bound."""

    def __init__(self, name: str, doc: str, bounds: tuple[float, ...]) -> None:
        self.name, self.doc, self.bounds = name, doc, bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float) -> None:
        with self._lock:
            self._counts[bisect_left(self.bounds, value)] += 1
            self._sum += value

    def lines(self) -> Iterator[str]:
        with self._lock:
            counts, total = list(self._counts), self._sum
        yield from _head(self.name, self.doc, "histogram")
        below = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), counts, strict=True):
            below += count
            yield f"{self.name}_bucket{_labels(('le',), (bound,))} {below}"
        yield f"{self.name}_sum {total:.6f}"
        yield f"{self.name}_count {below}"


class Metrics:
    def __init__(self, unfinished: Callable[[], int]) -> None:
        self._unfinished = unfinished
        self.requests = Counter("pellucid_requests_total", "Requests answered.", ("endpoint", "status"))
        self.seconds = Histogram("pellucid_request_seconds", "Time until a request was answered.", SECONDS)
        self.texts = Counter("pellucid_texts_total", "Texts translated.")
        self.characters = Counter("pellucid_characters_total", "Characters of the texts translated.")
        self.tokens = Counter("pellucid_tokens_total", "Tokens of the translations.")
        self.batches = Histogram("pellucid_batch_jobs", "Jobs that went through the engine together.", SIZES)

    def text(self) -> str:
        lines = [
            line
            for each in (self.requests, self.seconds, self.texts, self.characters, self.tokens, self.batches)
            for line in each.lines()
        ]
        lines += [*_head("pellucid_unfinished_jobs", "Jobs that wait or are worked on.", "gauge")]
        lines += [f"pellucid_unfinished_jobs {self._unfinished()}"]
        memory = _resident_bytes()
        if memory is not None:
            lines += [*_head("process_resident_memory_bytes", "Memory in use.", "gauge")]
            lines += [f"process_resident_memory_bytes {memory}"]
        return "\n".join(lines) + "\n"


def _head(name: str, doc: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {doc}"
    yield f"# TYPE {name} {kind}"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Label values come from the program alone (routes, status codes), and need no escaping."""
    pairs = ",".join(f'{name}="{value}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _resident_bytes() -> int | None:
    """Memory of this process; None where the system does not tell it this way."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
