"""Numbers that stand on both sides of a pair, exchanged for others, each written as its language writes it.

2,350.50 in English is 2.350,50 in German; 10:45 and 1987 are the same in both. A number is exchanged only where each
side has the same numbers, so that nothing is said on one side alone. 0 and 1 stay, because the words around them depend
on them ("1 apple"), and so does what is part of a word ("14th").
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from random import Random

NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,:]\d+)*(?![\w])(?![.,:]\d)")
TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def exchange_numbers(source: str, target: str, languages: tuple[str, str], random: Random) -> tuple[str, str]:
    """Other numbers in the places of those that both sides have; the pair as it is where the numbers differ."""
    found = [_value(number, languages[0]) for number in NUMBER.findall(source)]
    in_target = [_value(number, languages[1]) for number in NUMBER.findall(target)]
    if not found or None in found or Counter(found) != Counter(in_target):
        return source, target
    others = {value: _another(value, random) for value in sorted({*map(str, found)})}
    return _rewritten(source, others, languages[0]), _rewritten(target, others, languages[1])


def written(value: str, language: str, grouped: bool) -> str:
    """A plain value (2350.5) as the language writes it (2.350,5)."""
    group, point = separators(language)
    whole, _, rest = value.partition(".")
    if grouped and len(whole) > 3:
        whole = f"{int(whole):,}".replace(",", group)
    return whole + (point + rest if rest else "")


@cache
def separators(language: str) -> tuple[str, str]:
    """The group separator and the decimal point of a language; a narrow space as group is not looked for."""
    from babel import Locale, UnknownLocaleError

    try:
        symbols = Locale.parse(language, sep="-" if "-" in language else "_").number_symbols["latn"]
    except (UnknownLocaleError, ValueError, KeyError):
        return ",", "."
    return symbols["group"], symbols["decimal"]


def _value(number: str, language: str) -> str | None:
    """The plain value of a number as the language writes it; None where it cannot be one (1.2.3)."""
    if TIME.fullmatch(number) or number.isdigit():
        return number
    group, point = separators(language)
    plain = re.fullmatch(rf"(\d{{1,3}}(?:{re.escape(group)}\d{{3}})+|\d+)(?:{re.escape(point)}(\d+))?", number)
    if plain is None:
        return None
    return plain[1].replace(group, "") + (f".{plain[2]}" if plain[2] else "")


def _another(value: str, random: Random) -> str:
    """A number of the same kind: a time, or as many digits before and after the point."""
    if time := TIME.fullmatch(value):
        hour = random.randrange(24)
        return f"{hour:0{len(time[1])}d}:{random.randrange(60):02d}"
    whole, _, rest = value.partition(".")
    if not rest and value in ("0", "1"):
        return value
    first = str(random.randint(2, 9)) if len(whole) == 1 else str(random.randint(1, 9))
    if len(whole) == 4 and whole[:2] in ("18", "19", "20"):  # a year
        first, whole = random.choice(("18", "19", "20")), whole[1:]
    drawn = first + "".join(str(random.randrange(10)) for _ in whole[1:])
    return drawn + ("." + "".join(str(random.randrange(10)) for _ in rest) if rest else "")


def _rewritten(text: str, others: dict[str, str], language: str) -> str:
    """The text with each number exchanged for the other one of its value, grouped as it was."""
    group = separators(language)[0]

    def rewrite(found: re.Match[str]) -> str:
        number = found.group()
        return written(others[str(_value(number, language))], language, grouped=group in number)

    return NUMBER.sub(rewrite, text)
