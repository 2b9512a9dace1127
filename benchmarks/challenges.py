"""Generated sentences with something that a translation must carry over unharmed: a number, a name, an address.

Each set is drawn from frames written for it and a seeded generator; nothing here comes from a corpus, nor from the
augmentation that a model may have been trained with. What is right is decided by the text of a translation
alone: it has what it must have, in one of the ways in which its language writes it, and no digits beside.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

Direction = tuple[str, str]
EN_DE, DE_EN = ("en", "de"), ("de", "en")

FRAMES: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Set -> language -> sentences with a gap."""
WORDS = FRAMES.pop("words")  # parts of invented names, emoji, months
LONG = 60  # words
CURRENCIES = {  # what is written before or after an amount, and what a translation may write
    "€": ("€", "Euro", "euro", "EUR"),
    "$": ("$", "Dollar", "dollar", "USD"),
    "£": ("£", "Pfund", "pound", "GBP"),
}
CURRENCY_WORDS = {"en": {"€": "euros", "$": "dollars", "£": "pounds"}, "de": {"€": "Euro", "$": "Dollar", "£": "Pfund"}}
PARTS_OF_THE_DAY = {  # before noon and after
    "en": (("am", "a.m", "AM", "morning", "night"), ("pm", "p.m", "PM", "afternoon", "evening", "night", "noon")),
    "de": (
        ("morgens", "früh", "Morgen", "vormittags", "nachts", "Nacht", "AM"),
        ("nachmittags", "Nachmittag", "abends", "Abend", "nachts", "mittags", "PM"),
    ),
}
HOSTS = ("example.com", "www.example.org", "my-shop.example.net", "blog.example.de", "docs.example.io")


Parts = tuple[tuple[str, ...], ...]
"""What a translation must have: one of the writings of each part."""


@dataclass(frozen=True)
class Challenge:
    """A sentence; its translation must have all parts of one of the answers, and beside them nothing of `never`."""

    source: str
    answers: tuple[Parts, ...]
    never: str = ""  # a regular expression

    def met(self, translation: str) -> bool:
        return any(self._met(parts, translation) for parts in self.answers)

    def _met(self, parts: Parts, translation: str) -> bool:
        rest = translation
        for writings in parts:
            found = next((place for writing in writings if (place := _find(writing, rest))), None)
            if found is None:
                return False
            rest = rest[: found[0]] + " " + rest[found[1] :]
        return not (self.never and re.search(self.never, rest))


def _find(writing: str, text: str) -> tuple[int, int] | None:
    """Where it stands as a whole, not within a longer number or word; an s may follow a word."""
    before = r"(?<!\w)(?<!\d[.,:])" if writing[0].isalnum() else ""
    after = r"(?!\w)(?![.,:]\d)" if writing[-1].isdigit() else r"s?(?!\w)" if writing[-1].isalpha() else ""
    found = re.search(before + re.escape(writing) + after, text)
    return found.span() if found else None


Draw = Callable[[Direction, Random], Challenge]


def challenges(draw: Draw, direction: Direction, count: int, seed: int = 1) -> list[Challenge]:
    """So many different sentences of a set."""
    random = Random(f"{seed} {draw.__name__} {direction}")
    drawn: dict[str, Challenge] = {}
    while len(drawn) < count:
        challenge = draw(direction, random)
        drawn[challenge.source] = challenge
    return list(drawn.values())


def digits(direction: Direction, random: Random) -> Challenge:
    """A whole number of two to six digits, or one with a fraction."""
    source, target = direction
    if random.random() < 0.2:
        whole, fraction = random.randint(2, 99), random.choice(("5", "75", "3", "12", "08", "64", "9"))
        fractions = [((f"{whole}{_point(target)}{fraction}",),)]
        return _framed(FRAMES["fractions"][source], f"{whole}{_point(source)}{fraction}", random, fractions, r"\d")
    number = random.choice((random.randint(11, 99), random.randint(100, 9999), random.randint(10_000, 999_999)))
    text, writings = _grouped(number, source) if number > 9999 else str(number), _whole(number, target)
    return _framed(FRAMES["digits"][source], text, random, [(writings,)], r"\d")


def times(direction: Direction, random: Random) -> Challenge:
    """10:45; in English half of them with am and pm. With such a word, 12 hours may become 24, and 24 hours 12."""
    source, target = direction
    hour, minute = random.randrange(24), random.randrange(1, 60)
    half = f"{(hour - 1) % 12 + 1}:{minute:02d}"
    clocks = (f"{hour}:{minute:02d}", f"{hour:02d}:{minute:02d}", f"{hour}.{minute:02d}", f"{hour:02d}.{minute:02d}")
    text = clocks[0]
    if source == "en" and random.random() < 0.5:
        text = f"{half} {'pm' if hour >= 12 else 'am'}"
    said = [(clocks,), ((half,), PARTS_OF_THE_DAY[target][hour >= 12])]
    return _framed(FRAMES["times"][source], text, random, said, r"\d")


def prices(direction: Direction, random: Random) -> Challenge:
    """An amount with a sign or a word for its currency."""
    source, target = direction
    sign = random.choice(tuple(CURRENCIES))
    if random.random() < 0.5:
        whole, cents = random.randint(2, 999), random.randint(10, 99)
        text = f"{whole}{_point(source)}{cents}"
        amounts: tuple[str, ...] = (f"{whole}{_point(target)}{cents}",)
    else:
        whole = random.choice((random.randint(11, 999), random.randint(1000, 99_999)))
        text, amounts = _grouped(whole, source), _whole(whole, target)
    if random.random() < 0.5:
        text = f"{text} {CURRENCY_WORDS[source][sign]}"
    else:
        text = f"{sign}{text}" if source == "en" else f"{text} {sign}"
    return _framed(FRAMES["prices"][source], text, random, [(amounts, CURRENCIES[sign])], r"\d")


def dates(direction: Direction, random: Random) -> Challenge:
    """A day with the name of its month, in German also in digits, which may be in the order of either language."""
    source, target = direction
    day, month, year = random.randint(1, 28), random.randint(1, 12), random.randint(1850, 2049)
    name = WORDS[f"months_{source}"][month - 1]
    shapes = {
        "en": (f"{day} {name} {year}", f"{name} {day}, {year}"),
        "de": (f"{day}. {name} {year}", f"{day}. {name} {year}", f"{day:02d}.{month:02d}.{year}"),
    }
    days = tuple(f"{day}{ending}" for ending in ("st", "nd", "rd", "th", "")) if target == "en" else (str(day),)
    named = (days, (WORDS[f"months_{target}"][month - 1],), (str(year),))
    orders = [f"{first}{sign}{second}{sign}{year}" for sign in "./-" for first, second in _two(day, month)]
    if target == "en":
        orders += [f"{first}/{second}/{year}" for first, second in _two(month, day)]
    return _framed(FRAMES["dates"][source], random.choice(shapes[source]), random, [named, (tuple(orders),)], r"\d")


def names(direction: Direction, random: Random) -> Challenge:
    """An invented name of two to four syllables."""
    between = "".join(random.choice(WORDS["middles"]) for _ in range(random.choice((0, 1, 1, 2))))
    name = random.choice(WORDS["beginnings"]) + between + random.choice(WORDS["endings"])
    return _copied(FRAMES["names"][direction[0]], name, random)


def emoji(direction: Direction, random: Random) -> Challenge:
    """One emoji, two, or one three times."""
    drawn = random.choice(WORDS["pictures"])
    text = random.choice((drawn, drawn, drawn * 3, drawn + random.choice(WORDS["pictures"])))
    return _copied(FRAMES["emoji"][direction[0]], text, random, "|".join(WORDS["pictures"]))


def addresses(direction: Direction, random: Random) -> Challenge:
    """A web or mail address."""
    word = (
        random.choice(WORDS["beginnings"]) + random.choice(WORDS["middles"]) + random.choice(WORDS["endings"])
    ).lower()
    host, number = random.choice(HOSTS), random.randint(2, 999)
    text = random.choice((host, f"https://{host}/{word}", f"http://{host}/{word}/{number}", f"{word}@example.org"))
    return _copied(FRAMES["addresses"][direction[0]], text, random)


def placeholders(direction: Direction, random: Random) -> Challenge:
    """A placeholder, as programs have them in their texts."""
    word = random.choice(
        ("name", "user", "file", "count", "item_id", "place", random.choice(WORDS["beginnings"]).lower())
    )
    shapes = ("{%s}", "{{%s}}", "${%s}", "%%(%s)s", "[%s]", "<%s/>")
    text = random.choice(("%s", "%d", "%1$s", "{0}", "{1}", *(shape % word for shape in shapes)))
    return _copied(FRAMES["placeholders"][direction[0]], text, random)


def long_sentence(direction: Direction, random: Random) -> str:
    """A single sentence of at least 60 words: clauses after one another."""
    language = direction[0]
    clauses = random.sample(FRAMES["clauses"][language], len(FRAMES["clauses"][language]))
    text = clauses.pop()
    while len(text.split()) < LONG:
        text += random.choice(FRAMES["links"][language]) + clauses.pop()
    return text[0].upper() + text[1:] + "."


def _framed(frames: Sequence[str], text: str, random: Random, answers: Sequence[Parts], never: str) -> Challenge:
    return Challenge(random.choice(frames).replace("{}", text), tuple(answers), never)


def _copied(frames: Sequence[str], text: str, random: Random, never: str = "") -> Challenge:
    return _framed(frames, text, random, [((text,),)], never)


def _two(first: int, second: int) -> list[tuple[str, str]]:
    """Two numbers of a date, with leading zeros and without."""
    return [(f"{first:02d}", f"{second:02d}"), (str(first), str(second))]


def _grouped(number: int, language: str) -> str:
    """1,250 in English, 1.250 in German."""
    return f"{number:,}" if language == "en" else f"{number:,}".replace(",", ".")


def _whole(number: int, language: str) -> tuple[str, ...]:
    """What a whole number may look like: grouped or not."""
    return _grouped(number, language), str(number), f"{number:,}".replace(",", " ")


def _point(language: str) -> str:
    return "." if language == "en" else ","
