"""What is no language, or is written by rule: numbers, prices, times, dates, codes, addresses, placeholders, emoji.

`value` draws one as two languages write it (by Unicode's CLDR, which Babel carries); `code` draws what every language
writes alike; `name` invents a name that nobody has heard.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from datetime import date, time
from functools import cache
from random import Random
from typing import Literal

CURRENCIES = ("EUR", "USD", "GBP", "CHF")
UNITS = ("kilometer", "kilogram", "meter", "liter", "percent", "celsius", "minute", "hour", "day", "year", "mile")
EMOJI = ((0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F900, 0x1F9FF))
PLAIN_EMOJI = "❤☀☕✅⚠✈✨⭐❌❓➡♻☎⚡"
# fmt: off
ONSETS = (
    "b", "br", "c", "ch", "d", "dr", "f", "fr", "g", "gr", "h", "j", "k", "kl", "kr", "l", "m", "n", "p", "pr", "qu",
    "r", "s", "sch", "sh", "sl", "st", "t", "th", "tr", "v", "w", "y", "z",
)
VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "ee", "ei", "ia", "ie", "io", "oo", "ou", "y")
CODAS = ("", "", "", "l", "m", "n", "r", "s", "t", "ck", "ll", "nd", "ng", "ns", "rd", "rt", "ss", "tz", "x")
# fmt: on
DOMAINS = ("com", "org", "net", "de", "eu", "io", "info", "co.uk")
FILE_ENDINGS = ("pdf", "txt", "docx", "png", "csv", "zip", "py")


def value(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    """A number, price, percentage, measure, date or time, the same in both languages."""
    write = random.choice((_number, _price, _price, _percent, _measure, _date, _date, _time))
    source, target = write(languages, random)
    return _plain_spaces(source), _plain_spaces(target)


def code(random: Random) -> str:
    """A web or mail address, a placeholder, a code, a version, a file name or a telephone number."""
    return random.choice((_url, _mail, _placeholder, _placeholder, _serial, _version, _file, _phone))(random)


def emoji(random: Random) -> str:
    if random.random() < 0.2:
        return random.choice(PLAIN_EMOJI) + random.choice(("", "\ufe0f"))
    low, high = random.choice(EMOJI)
    return chr(random.randint(low, high)) * random.choice((1, 1, 1, 2, 3))


def name(random: Random) -> str:
    """A capitalised word of two or three invented syllables."""
    syllables = [random.choice(ONSETS) + random.choice(VOWELS) for _ in range(random.choice((2, 2, 3)))]
    return ("".join(syllables) + random.choice(CODAS)).capitalize()


def _number(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.numbers import format_decimal

    small, large, fraction = random.randint(2, 9999), random.randint(1000, 9_999_999), round(random.uniform(0, 1000), 2)
    number = random.choice((small % 100 + 2, small, large, fraction))
    return _both(lambda locale: format_decimal(number, locale=locale), languages)


def _price(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.numbers import format_currency

    currency = random.choice(CURRENCIES)
    if random.random() < 0.4:
        whole = random.randint(2, 999)
        return _both(
            lambda locale: format_currency(whole, currency, _whole(locale), locale, currency_digits=False), languages
        )
    amount = round(random.uniform(1, 10 ** random.randint(1, 4)), 2)
    return _both(lambda locale: format_currency(amount, currency, locale=locale), languages)


def _percent(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.numbers import format_decimal

    share = random.choice((random.randint(2, 100), round(random.uniform(0, 100), 1)))
    sign = [" %" if language.startswith(("de", "fr", "es", "sv")) else "%" for language in languages]
    source, target = _both(lambda locale: format_decimal(share, locale=locale), languages)
    return source + sign[0], target + sign[1]


def _measure(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.units import format_unit

    amount, unit = random.choice((random.randint(2, 500), round(random.uniform(1, 100), 1))), random.choice(UNITS)
    length: Literal["long", "short"] = random.choice(("long", "short"))
    return _both(lambda locale: str(format_unit(amount, _unit(unit), length, locale=locale)), languages)


def _date(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.dates import format_date

    day = date.fromordinal(random.randint(date(1800, 1, 1).toordinal(), date(2099, 12, 31).toordinal()))
    style = random.choice(("full", "long", "long", "medium"))
    return _both(lambda locale: format_date(day, style, locale=locale), languages)


def _time(languages: tuple[str, str], random: Random) -> tuple[str, str]:
    from babel.dates import format_time

    at = time(random.randrange(24), random.randrange(60))
    if random.random() < 0.5:
        return _both(lambda locale: format_time(at, "HH:mm", locale=locale), languages)
    return _both(lambda locale: format_time(at, "short", locale=locale), languages)


def _both(write: Callable[[str], str], languages: tuple[str, str]) -> tuple[str, str]:
    return write(languages[0].replace("-", "_")), write(languages[1].replace("-", "_"))


@cache
def _whole(locale: str) -> str:
    """The currency pattern of a locale without a fraction."""
    from babel import Locale

    pattern: str = Locale.parse(locale).currency_formats["standard"].pattern
    return pattern.replace("0.00", "0")


def _unit(name: str) -> str:
    groups = {"percent": "concentr-percent", "celsius": "temperature-celsius"}
    groups |= dict.fromkeys(("minute", "hour", "day", "year"), "duration-") | {"liter": "volume-", "kilogram": "mass-"}
    group = groups.get(name, "length-")
    return group + name if group.endswith("-") else group


def _plain_spaces(text: str) -> str:
    """CLDR separates some units by spaces that do not break or are narrow, which hardly anybody types."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def _letters(random: Random, count: int, alphabet: str = string.ascii_lowercase) -> str:
    return "".join(random.choice(alphabet) for _ in range(count))


def _word(random: Random) -> str:
    return name(random).lower()


def _url(random: Random) -> str:
    host = f"{random.choice(('www.', '', 'shop.'))}{_word(random)}.{random.choice(DOMAINS)}"
    path = "".join(f"/{_word(random)}" for _ in range(random.randrange(3)))
    return random.choice(("https://", "http://", "", "")) + host + path


def _mail(random: Random) -> str:
    more = random.choice(("", f".{_word(random)}", str(random.randrange(100))))
    return f"{_word(random)}{more}@{_word(random)}.{random.choice(DOMAINS)}"


def _placeholder(random: Random) -> str:
    word = random.choice((_word(random), "name", "count", "user", "file", "date", "0", "1"))
    shapes = ("{%s}", "{{%s}}", "%%(%s)s", "${%s}", "[%s]", "<%s>")
    return random.choice(("%s", "%d", "%1$s", *(shape % word for shape in shapes)))


def _serial(random: Random) -> str:
    upper = _letters(random, random.randint(1, 4), string.ascii_uppercase)
    digits = _letters(random, random.randint(1, 6), string.digits)
    sign, last = random.choice(("-", "", " ", "/", "_")), random.choice(("", "", upper[0]))
    return upper + sign + digits + last


def _version(random: Random) -> str:
    return random.choice(("v", "")) + ".".join(str(random.randrange(20)) for _ in range(3))


def _file(random: Random) -> str:
    number = random.choice(("", f"{random.choice('_-')}{random.randrange(1000)}"))
    return f"{_word(random)}{number}.{random.choice(FILE_ENDINGS)}"


def _phone(random: Random) -> str:
    return f"+{random.randint(1, 99)} {random.randint(10, 999)} {random.randint(10_000, 9_999_999)}"
