from __future__ import annotations

from pellucid.serve.metrics import Counter, Histogram, Metrics


def test_a_counter() -> None:
    counter = Counter("things_total", "Things.", ("kind", "size"))
    counter.add(2, "b", "1")
    counter.add(1, "a", "2")
    counter.add(3, "b", "1")
    assert list(counter.lines()) == [
        "# HELP things_total Things.",
        "# TYPE things_total counter",
        'things_total{kind="a",size="2"} 1',
        'things_total{kind="b",size="1"} 5',
    ]


def test_large_numbers_keep_their_digits() -> None:
    counter = Counter("things_total", "Things.")
    counter.add(123_456_789)
    counter.add(1)
    assert list(counter.lines())[-1] == "things_total 123456790"


def test_the_bounds_of_a_histogram_are_inclusive_and_cumulative() -> None:
    histogram = Histogram("seconds", "Time.", (0.5, 1, 2))
    for value in (0.5, 0.6, 1, 3):
        histogram.observe(value)
    assert list(histogram.lines())[2:] == [
        'seconds_bucket{le="0.5"} 1',
        'seconds_bucket{le="1"} 3',
        'seconds_bucket{le="2"} 3',
        'seconds_bucket{le="+Inf"} 4',
        "seconds_sum 5.100000",
        "seconds_count 4",
    ]


def test_every_line_is_a_comment_or_a_name_and_a_number() -> None:
    text = Metrics(lambda: 7).text()
    assert text.endswith("\n")
    for line in text.splitlines():
        if not line.startswith("# "):
            float(line.rsplit(" ", 1)[1])
    assert "pellucid_unfinished_jobs 7\n" in text
