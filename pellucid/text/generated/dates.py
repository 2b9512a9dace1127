"""Dates as people write them, in several languages, to ISO 8601: "Dienstag, 3. Mai 2022" -> "2022-05-03".

No style is ambiguous: dates of numbers alone are written with dots, the day first, never as 03/04/2022.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date

from pellucid.text.generated.splits import Split, split_of
from pellucid.text.pair import Pair

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)

# Styles and letters of CLDR, whose data Babel carries: EEEE is Tuesday, EEE Tue, MMMM October, MMM Oct.
PATTERNS = {
    "en_US": ("full", "long", "medium", "EEE, MMM d, y", "MMMM d y"),
    "en_GB": ("full", "long", "EEE d MMM y", "d MMMM, y"),
    "de": ("full", "long", "medium", "EEEE, 'den' d. MMMM y", "d. MMM y", "d.M.y"),
    "fr": ("full", "long", "medium", "'le' d MMMM y"),
    "es": ("full", "long", "medium", "d MMMM y"),
    "it": ("full", "long", "medium", "EEE d MMM y"),
    "pt": ("full", "long", "medium", "d MMMM y"),
    "nl": ("full", "long", "medium", "EEE d MMM y"),
    "sv": ("full", "long", "medium", "'den' d MMMM y"),
    "da": ("full", "long", "medium", "'den' d. MMMM y"),
}

# fmt: off
ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)
# fmt: on


def number_in_words(number: int) -> str:
    """0 to 99."""
    if number < 20:
        return ONES[number]
    tens, ones = divmod(number, 10)
    return f"{TENS[tens]}-{ONES[ones]}" if ones else TENS[tens]


def year_in_words(year: int) -> str:
    """As it is read out: nineteen hundred, nineteen oh five, two thousand seven, twenty twenty-two."""
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return f"two thousand {ONES[rest]}" if rest else "two thousand"
    if rest < 10:
        return f"{number_in_words(century)} {f'oh {ONES[rest]}' if rest else 'hundred'}"
    return f"{number_in_words(century)} {number_in_words(rest)}"


def day_in_words(day: int) -> str:
    """first to thirty-first."""
    if day <= 20:
        return ORDINALS[day - 1]
    tens, ones = divmod(day, 10)
    return f"{TENS[tens]}-{ORDINALS[ones - 1]}" if ones else "thirtieth"


def ordinal(day: int) -> str:
    """1st, 2nd, 3rd, 4th ... 11th ... 31st."""
    ending = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _styles() -> list[Callable[[date], str]]:
    from babel.dates import format_date, get_day_names, get_month_names

    months, weekdays = get_month_names(locale="en"), get_day_names(locale="en")
    with_words: list[Callable[[date], str]] = [
        lambda d: f"{months[d.month]} {ordinal(d.day)}, {d.year}",
        lambda d: f"{ordinal(d.day)} of {months[d.month]} {d.year}",
        lambda d: f"{weekdays[d.weekday()]} the {ordinal(d.day)} of {months[d.month]}, {d.year}",
        lambda d: f"the {day_in_words(d.day)} of {months[d.month]} {d.year}",
        lambda d: f"{months[d.month]} the {day_in_words(d.day)}, {d.year}",
        lambda d: f"the {day_in_words(d.day)} of {months[d.month]}, {year_in_words(d.year)}",
        lambda d: f"{weekdays[d.weekday()]}, {months[d.month]} {day_in_words(d.day)}, {year_in_words(d.year)}",
    ]
    from_patterns: list[Callable[[date], str]] = [
        lambda d, locale=locale, pattern=pattern: format_date(d, pattern, locale)  # type: ignore[misc]
        for locale, patterns in PATTERNS.items()
        for pattern in patterns
    ]
    return with_words + from_patterns


def pairs(count: int, seed: int, split: Split = "train") -> list[Pair]:
    """Dates of one split, each in a style drawn for it. A date of one split occurs in no other, in any style."""
    draw = random.Random(f"dates {split} {seed}")
    styles = _styles()
    made: list[Pair] = []
    while len(made) < count:
        day = date.fromordinal(draw.randint(FIRST.toordinal(), LAST.toordinal()))
        if split_of(day.isoformat()) == split:
            text = draw.choice(styles)(day)
            casing = draw.choices((str, str.lower, str.upper), (8, 1, 1))[0]
            made.append(Pair(casing(text), day.isoformat(), place=f"dates:{split}:{len(made) + 1}"))
    return made
