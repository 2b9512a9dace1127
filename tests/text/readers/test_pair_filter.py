"""Each rule alone, at its edge; and the report adds up."""

from __future__ import annotations

import json
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.config import FilterConfig
from pellucid.errors import UserError
from pellucid.text.pair import Pair
from pellucid.text.readers.pair_filter import HashSet, PairFilter, Report


def reason(source: str, target: str, rules: FilterConfig | None = None) -> str | None:
    return PairFilter(rules or FilterConfig()).reason(Pair(source, target))


def test_empty() -> None:
    assert reason("", "eins") == reason("one", "") == reason("", "") == "empty"
    assert reason("", "eins", FilterConfig(drop_empty=False)) is None


def test_long() -> None:
    assert reason("a" * 4000, "b" * 4000) is None
    assert reason("a" * 4000, "b" * 4001) == reason("a" * 4001, "b" * 4000) == "long"
    assert reason("a" * 4001, "b" * 4001, FilterConfig(max_characters=0)) is None
    assert reason("abc", "ab", FilterConfig(max_characters=2)) == "long"


def test_ratio() -> None:
    assert reason("a", "b" * 106) is None  # (106 + 20) / (1 + 20) = 6
    assert reason("a", "b" * 107) == reason("b" * 107, "a") == "ratio"
    assert reason("語" * 100, "b" * 1900) is None  # three bytes a character: (1900 + 20) / (300 + 20) = 6
    assert reason("語" * 100, "b" * 1901) == "ratio"
    assert reason("a", "b" * 107, FilterConfig(max_ratio=0)) is None


def test_identical() -> None:
    assert reason("New York City", "New York City") is None
    assert reason("This was not translated.", "This was not translated.") == "identical"
    assert reason("This was not translated.", "this was not translated.") is None
    assert reason("This was not translated.", "This was not translated.", FilterConfig(identical_words=0)) is None
    assert reason("OK", "OK", FilterConfig(identical_words=1)) == "identical"


def test_duplicates() -> None:
    pair_filter = PairFilter(FilterConfig())
    pairs = [
        Pair("a", "b"),
        Pair("a", "c"),
        Pair("ab", ""),
        Pair("b", "a"),
        Pair("a", "b", "en", "de"),
    ]  # one may name what another leaves out
    assert [pair_filter.reason(pair) for pair in pairs] == [None, None, "empty", None, "duplicate"]
    lenient = PairFilter(FilterConfig(drop_duplicates=False))
    assert [lenient.reason(pair) for pair in pairs if pair.target] == [None] * 4


def test_a_wrong_rule_is_told() -> None:
    with pytest.raises(UserError, match="did you mean 'max_ratio'"):
        FilterConfig(max_ration=3)  # type: ignore[call-arg]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 8) | st.integers(2**64 - 8, 2**64 - 1)))
def test_hash_set_is_a_set(numbers: list[int]) -> None:
    ours, python = HashSet(), set[int]()
    for number in numbers:
        assert ours.add(number) == (number not in python)
        python.add(number)


def test_hash_set_takes_few_bytes() -> None:
    draw = random.Random(1)
    count = 100_000
    tracemalloc.start()
    try:
        numbers = HashSet()
        for _ in range(count):
            numbers.add(draw.getrandbits(64))
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert size < 16 * count


def test_report_adds_up_and_shows_examples() -> None:
    pair_filter, report = PairFilter(FilterConfig()), Report()
    pairs = [
        *(Pair(f"n {n}", "", "en", "de", f"a.tsv:{n}") for n in range(5)),
        Pair("one", "eins", "en", "de", "a.tsv:6"),
        Pair("one", "eins", "en", "de", "a.tsv:7"),
        Pair("x\x1b[2J\n" + "y" * 4000, "z" * 4000, "en", "de", "a.tsv:8"),
    ]
    for pair in pairs:
        report.count(pair, pair_filter.reason(pair))
    assert report.read == 8 == report.used + report.left_out.total()
    assert report.to_dict() == json.loads(json.dumps(report.to_dict()))
    assert report.to_dict()["left_out"] == {"empty": 5, "long": 1, "ratio": 0, "identical": 0, "duplicate": 1}
    assert report.to_dict()["directions"] == [{"source": "en", "target": "de", "pairs": 1}]
    table = str(report).splitlines()
    assert [line.split() for line in table[:5]] == [
        ["pairs", "read", "8"],
        ["used", "1"],
        ["en", "→", "de", "1"],
        ["left", "out", "7"],
        ["empty", "side", "5"],
    ]
    assert [line.strip() for line in table[5:8]] == ["a.tsv:0: n 0 |", "a.tsv:1: n 1 |", "a.tsv:2: n 2 |"]
    assert max(map(len, table)) < 110
    assert all(character.isprintable() for line in table for character in line)  # no control of the terminal
