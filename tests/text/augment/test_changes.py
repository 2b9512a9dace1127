"""Each kind of change by itself: what it does to a text, and that both sides still say the same."""

from __future__ import annotations

import re
from datetime import date
from random import Random

import pytest
from babel.dates import format_date
from babel.numbers import format_decimal, parse_decimal
from hypothesis import given
from hypothesis import strategies as st

from pellucid.text.augment import insertions, noise, numbers, values

DE = ("en", "de")


@given(st.integers(2, 99), st.floats(10, 99_999).map(lambda x: round(x, 2)), st.integers(0, 1000))
def test_exchanged_numbers_have_the_same_value_in_both_formats(count: int, price: float, seed: int) -> None:
    """Babel, which wrote them, reads them back: equal values before and after."""
    source = f"We sold {count} for {format_decimal(price, locale='en')}, OK?"
    target = f"Wir haben {count} für {format_decimal(price, locale='de')} verkauft, OK?"
    changed = numbers.exchange_numbers(source, target, DE, Random(seed))
    read = [
        [parse_decimal(number, locale=language) for number in re.findall(r"\d[\d.,]*\d|\d", text)]
        for text, language in zip(changed, DE, strict=True)
    ]
    assert read[0] == read[1]
    assert len(read[0]) == 2
    words = [re.sub(r"\d[\d.,]*\d|\d", "#", text) for text in (source, target, *changed)]
    assert words[:2] == words[2:]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I have 1 apple.", "Ich habe 1 Apfel."),  # words around a 1 depend on it
        ("The 14th day", "Der 14. Tag"),  # on one side it is part of a word
        ("I paid 20.", "Ich bezahlte 30."),  # they differ
        ("Two of 5", "2 von 5"),  # one more on one side
        ("Version 1.2.3 and 7", "Version 1.2.3 und 7"),  # no number is 1.2.3
        ("None", "Keine"),
    ],
)
def test_numbers_that_must_stay(source: str, target: str) -> None:
    assert all(numbers.exchange_numbers(source, target, DE, Random(n)) == (source, target) for n in range(20))


def test_times_stay_times_and_years_years() -> None:
    for seed in range(100):
        text, same = numbers.exchange_numbers("At 10:45 in 1987", "Um 10:45 in 1987", DE, Random(seed))
        time, year = re.fullmatch(r"At (\S+) in (\d+)", text).groups()  # type: ignore[union-attr]
        hour, minute = map(int, time.split(":"))
        assert (hour < 24, minute < 60, year[:2] in ("18", "19", "20")) == (True, True, True)
        assert same == f"Um {time} in {year}"


def test_the_same_number_twice_becomes_the_same_number_twice() -> None:
    source, target = numbers.exchange_numbers("5 and 5 is 10", "5 und 5 ist 10", DE, Random(4))
    first, second, _ = re.findall(r"\d+", source)
    assert first == second
    assert re.findall(r"\d+", target) == re.findall(r"\d+", source)


def test_values_are_written_by_rule_in_both_languages() -> None:
    """Every date that `value` draws is one that Babel writes; numbers have the same digits on both sides."""
    random = Random(1)
    drawn = [values.value(DE, random) for _ in range(400)]
    assert not any(space in text for pair in drawn for text in pair for space in "\u00a0\u202f")
    months = {format_date(date(2000, n, 1), "MMMM", locale="de") for n in range(1, 13)}
    dates = [pair for pair in drawn if any(month in pair[1] for month in months)]
    assert len(dates) > 40
    assert all(sorted(re.findall(r"\d+", a)) == sorted(re.findall(r"\d+", b)) for a, b in dates)
    percents = [pair for pair in drawn if "%" in pair[0]]
    assert all(
        b.endswith(" %") and parse_decimal(a.strip("%")) == parse_decimal(b.strip(" %"), "de") for a, b in percents
    )


@given(st.integers(0, 10_000))
def test_what_is_put_in_is_there_once_on_both_sides_and_all_else_stays(seed: int) -> None:
    source, target = "Tom has a red house.", "Tom hat ein rotes Haus."
    changed = insertions.insert(source, target, ("en", "en"), {"house": "Haus"}, Random(seed))
    missing, added = [], []
    for text, before in zip(changed, (source, target), strict=True):
        was = re.findall(r"\w+", before)
        missing.append([word for word in was if word not in text])
        added.append(re.sub("|".join(rf"\b{word}\b" for word in was), "#", text).replace(" ", ""))
    assert missing in ([[], []], [["house"], ["Haus"]], [["Tom"], ["Tom"]])  # at most one word, and its counterpart
    assert added[0].replace("#", "") == added[1].replace("#", "") != "."


def test_names_are_exchanged_on_both_sides_and_words_are_not() -> None:
    source, target = "Does Mary know where Boston is?", "Weiß Mary, wo Boston ist?"
    assert insertions.names(source, target) == ["Mary", "Boston"]
    assert insertions.names("Toms hat", "Toms Hut und Toms Schuh") == []  # twice on one side
    for seed in range(30):
        changed = insertions.exchange_names(source, target, ["Anna"], Random(seed))
        new = re.fullmatch(r"Does (\w+) know where (\w+) is\?", changed[0]).groups()  # type: ignore[union-attr]
        assert changed[1] == f"Weiß {new[0]}, wo {new[1]} ist?"


@given(st.text(), st.integers(0, 100))
def test_noise_never_fails_and_leaves_the_letters_of_spaces_alone(text: str, seed: int) -> None:
    for change in noise.NOISE.values():
        assert isinstance(change(text, Random(seed)), str)
    assert noise.spaces(text, Random(seed)).replace(" ", "") == text.replace(" ", "")
    assert noise.other_case(text, Random(seed)).casefold() == text.casefold() or not text.isascii()


def test_a_typo_is_one_slip() -> None:
    """Every result is among all words that are one slip away, and every kind of slip occurs."""
    word = "hyena"
    near = {"h": "gj", "y": "tu", "e": "wr", "n": "bm", "a": "s"}
    places = range(len(word) - 1)
    slips = {
        "another key": {word[:at] + key + word[at + 1 :] for at in places for key in near[word[at]]},
        "lost": {word[:at] + word[at + 1 :] for at in places},
        "doubled": {word[: at + 1] + word[at:] for at in places},
        "exchanged": {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in places},
    }
    found = {noise.typo(word, Random(seed)) for seed in range(2000)}
    assert found == set().union(*slips.values())
    assert noise.typo("a to we", Random(1)) == "a to we"  # no word is long enough


def test_final_signs_change_on_both_sides_alike() -> None:
    seen = {noise.punctuation("Come here.", "Komm her.", Random(seed)) for seed in range(60)}
    assert seen == {(f"Come here{sign}", f"Komm her{sign}") for sign in ("", "!", "...", "…")}
    assert noise.punctuation("Who is it?", "Wer ist das?", Random(1)) == ("Who is it", "Wer ist das")
    assert noise.punctuation("Come here.", "Komm her", Random(1)) == ("Come here.", "Komm her")


def test_quotes_are_those_of_each_language() -> None:
    changed = noise.quotes('"It\'s" said "he"', '"Es" sagte "er"', DE)
    assert changed == ("“It’s” said “he”", "„Es“ sagte „er“")
    assert noise.quotes('He said "no"', 'Il a dit "non"', ("en", "fr"))[1] == "Il a dit «non»"


def test_ss_for_sharp_s() -> None:
    assert noise.sharp_s("Straße") == "Strasse"
