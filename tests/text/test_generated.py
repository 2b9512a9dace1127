"""Generated corpora: every answer right, no style ambiguous, parts disjoint, the seed decides everything."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from pellucid.text.generated import CORPORA, Split, dates, reports
from pellucid.text.generated.splits import split_of

PARTS: tuple[Split, ...] = ("train", "valid", "test")


@pytest.mark.parametrize("name", sorted(CORPORA))
def test_a_corpus_is_a_function_of_its_seed(name: str) -> None:
    make = CORPORA[name]
    assert make(50, 1, "train") == make(50, 1, "train")
    assert make(50, 1, "train") == make(80, 1, "train")[:50]
    assert make(50, 1, "train") != make(50, 2, "train")
    assert [len(make(count, 1, "valid")) for count in (0, 1, 7)] == [0, 1, 7]


@pytest.mark.parametrize("name", sorted(CORPORA))
def test_parts_share_no_example_whatever_the_seeds(name: str) -> None:
    def answers(part: Split, seed: int) -> set[str]:
        pairs = CORPORA[name](2000, seed, part)
        return {pair.source if pair.source_language == "summary" else pair.target for pair in pairs}

    train, valid, test = (answers(part, seed) for seed, part in enumerate(PARTS))
    assert not train & valid
    assert not train & test
    assert not valid & test
    assert min(len(train), len(valid), len(test)) > 1000  # various, too


def test_parts_have_their_shares() -> None:
    parts = [split_of(str(number)) for number in range(20_000)]
    assert [round(parts.count(part) / len(parts), 2) for part in PARTS] == [0.9, 0.05, 0.05]


@pytest.mark.parametrize(
    "text",
    [
        "Tuesday, May 3, 2022",
        "May 3, 2022",
        "Tue, May 3, 2022",
        "May 3 2022",
        "Tuesday, 3 May 2022",
        "Dienstag, 3. Mai 2022",
        "Dienstag, den 3. Mai 2022",
        "03.05.2022",
        "3.5.2022",
        "mardi 3 mai 2022",
        "le 3 mai 2022",
        "martes, 3 de mayo de 2022",
        "martedì 3 maggio 2022",
        "terça-feira, 3 de maio de 2022",
        "dinsdag 3 mei 2022",
        "tisdag 3 maj 2022",
        "May 3rd, 2022",
        "3rd of May 2022",
        "Tuesday the 3rd of May, 2022",
        "the third of May 2022",
        "May the third, 2022",
        "the third of May, twenty twenty-two",
        "Tuesday, May third, twenty twenty-two",
    ],
)
def test_the_styles_say_what_people_say(text: str) -> None:
    assert text in {style(date(2022, 5, 3)) for style in dates._styles()}


@pytest.mark.parametrize("years", [(1905, 2024), pytest.param(range(1900, 2100), marks=pytest.mark.proof)])
def test_no_text_means_two_dates(years: Sequence[int]) -> None:
    """All dates of a year in all styles and casings: no two look alike. (Years differ in every style.)"""
    styles = dates._styles()
    for year in years:
        meaning: dict[str, date] = {}
        day = date(year, 1, 1)
        while day.year == year:
            for style in styles:
                text = style(day)
                for cased in (text, text.lower(), text.upper()):
                    assert meaning.setdefault(cased, day) == day, cased
            day += timedelta(days=1)


def test_dates_read_another_way() -> None:
    """Day and year stand in the text as numbers or words, the weekday is right, no numbers with slashes or dashes."""
    weekdays = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    german = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
    checked = 0
    for pair in dates.pairs(5000, 3, "test"):
        day = date.fromisoformat(pair.target)
        text = pair.source.lower()
        assert date(1900, 1, 1) <= day <= date(2099, 12, 31)
        assert not re.search(r"\d[/-]\d", text)
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        assert set(numbers) <= {day.day, day.month, day.year}
        assert str(day.year) in text or dates.year_in_words(day.year) in text
        for names in (weekdays, german):
            for number, name in enumerate(names):
                if re.search(rf"\b{name}\b", text):
                    assert number == day.weekday()
                    checked += 1
    assert checked > 500


@pytest.mark.parametrize(
    ("year", "words"),
    [
        (1900, "nineteen hundred"),
        (1905, "nineteen oh five"),
        (1913, "nineteen thirteen"),
        (1984, "nineteen eighty-four"),
        (1990, "nineteen ninety"),
        (2000, "two thousand"),
        (2007, "two thousand seven"),
        (2010, "twenty ten"),
        (2099, "twenty ninety-nine"),
    ],
)
def test_years_in_words(year: int, words: str) -> None:
    assert dates.year_in_words(year) == words


def test_years_in_words_all_differ() -> None:
    assert len({dates.year_in_words(year) for year in range(1900, 2100)}) == 200


def test_days_in_words() -> None:
    ordinals = " ".join(dates.ordinal(day) for day in (1, 2, 3, 4, 11, 12, 13, 20, 21, 22, 23, 30, 31))
    assert ordinals == "1st 2nd 3rd 4th 11th 12th 13th 20th 21st 22nd 23rd 30th 31st"
    assert [dates.day_in_words(day) for day in (1, 12, 20, 21, 30, 31)] == [
        "first",
        "twelfth",
        "twentieth",
        "twenty-first",
        "thirtieth",
        "thirty-first",
    ]
    assert len({dates.day_in_words(day) for day in range(1, 32)}) == 31


def test_dates_are_various() -> None:
    pairs = dates.pairs(5000, 1)
    assert len({pair.target[5:] for pair in pairs}) >= 365  # days of the year
    assert len({pair.target[:4] for pair in pairs}) == 200
    assert {pair[2:4] for pair in pairs} == {(None, None)}
    casings = [sum(cased(pair.source) == pair.source for pair in pairs) for cased in (str.lower, str.upper)]
    assert all(300 < count < 3500 for count in casings)


SUMMARY = re.compile(
    r"(?P<city>\w+), (?P<day>\w+): (?P<morning>\w+)(, then (?P<afternoon>\w+))?, "
    r"(?P<low>\d+) to (?P<high>\d+) degrees, (?P<strength>light|fresh|strong) wind from the (?P<wind>[\w-]+)\."
)


def test_reports_hold_every_fact_of_their_summary() -> None:
    """The summary, taken apart again, agrees with what the report says in other words."""
    pairs = reports.pairs(3000, 2, "valid")
    assert [pair[2:4] for pair in pairs[:2]] == [("report", "summary"), ("summary", "report")]
    for index, pair in enumerate(pairs):
        report, summary = (pair.source, pair.target) if index % 2 == 0 else (pair.target, pair.source)
        facts = SUMMARY.fullmatch(summary)
        assert facts, summary
        assert facts["city"] in report
        assert facts["day"] in report
        assert re.search(rf"\bthe {facts['wind']}[ .]", report)
        numbers = set(map(int, re.findall(r"\d+", report))) - {1911}
        low, high = int(facts["low"]), int(facts["high"])
        assert {low, high} <= numbers
        assert low < high
        (speed,) = (int(number) for number in re.findall(r"(\d+) km/h", report))
        assert facts["strength"] == ("light" if speed < 20 else "fresh" if speed < 50 else "strong")
        for part in ("morning", "afternoon"):
            found = [
                sky
                for sky, wordings in reports.SKIES.items()
                if any(
                    wording.format(part=f"the {part}", during=f"in the {part}") in report.lower()
                    for wording in wordings
                )
            ]
            assert found == [facts[part] or facts["morning"]]
        assert 5 <= report.count(".") <= 8


def test_reports_word_the_same_facts_differently() -> None:
    draw = random.Random(1)
    weather = reports.draw_weather(draw)
    drawn = {reports.draw_report(weather, draw) for _ in range(200)}
    assert len(drawn) > 190
    assert len({part for report in drawn for part in report.split(". ")}) > 20
