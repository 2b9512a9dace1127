"""What people type: the same text with other capitals, signs, spaces, quotes or a slip of the finger.

A function here takes texts and a random generator and changes nothing of what is said. Noise is for the source alone:
the target stays as it should be written. What changes the text itself (its final sign) changes both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # of the keyboard: a finger slips to a neighbour in the same row
NEIGHBOURS = {key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in ROWS for at, key in enumerate(row)}
END = re.compile(r"[.!]$")
QUOTED = re.compile(r'"([^"]+)"')
QUOTES = dict.fromkeys(("de", "cs"), "„“") | dict.fromkeys(("fr", "es", "it", "ru", "uk"), "«»")
QUOTES |= {"pl": "„”"} | dict.fromkeys(("sv", "fi"), "””")
ENGLISH_QUOTES = "“”"


def punctuation(source: str, target: str, random: Random) -> tuple[str, str]:
    """Both sides without their final sign; instead of a full stop, perhaps with an exclamation mark or an ellipsis."""
    if END.search(source) and END.search(target):
        sign = random.choice(("", "", "", "!", "...", "…"))
        return END.sub(sign, source), END.sub(sign, target)
    if source.endswith("?") and target.endswith("?"):
        return source[:-1].rstrip(), target[:-1].rstrip()
    return source, target


def other_case(text: str, random: Random) -> str:
    """A lower-case start, lower case throughout, or Capitals At Every Word."""
    return random.choice((_lower_start, _lower_start, str.lower, _capital_start, _title))(text)


def typo(text: str, random: Random) -> str:
    """One slip in a word of at least four letters: a neighbouring key, a letter lost, doubled, or two exchanged."""
    places = [at for word in re.finditer(r"[^\W\d_]{4,}", text) for at in range(word.start(), word.end() - 1)]
    if not places:
        return text
    at = random.choice(places)
    letter, following = text[at], text[at + 1]
    near = NEIGHBOURS.get(letter.lower())
    slipped = random.choice(near) if near else letter
    slipped = slipped.upper() if letter.isupper() else slipped
    slips = (slipped + following, following, letter * 2 + following, following + letter)
    return text[:at] + random.choice(slips) + text[at + 2 :]


def spaces(text: str, random: Random) -> str:
    """A space that is doubled, or lost after a comma or between two words; or a sign that stands off by a space."""
    places = [at for at, character in enumerate(text) if character == " "]
    if not places:
        return text
    at = random.choice(places)
    if random.random() < 0.25:
        return re.sub(r"([,;:!?])", r" \1", text, count=1)
    return text[:at] + random.choice(("", "  ", "  ")) + text[at + 1 :]


def quotes(source: str, target: str, languages: tuple[str, str]) -> tuple[str, str]:
    """The typographic quotes and apostrophes of each language."""
    return _typographic(source, languages[0]), _typographic(target, languages[1])


def sharp_s(text: str) -> str:
    """ss for ß, as it is written in Switzerland and on foreign keyboards."""
    return text.replace("ß", "ss")


NOISE: dict[str, Callable[[str, Random], str]] = {"case": other_case, "typos": typo, "spaces": spaces}
"""The kinds that change the source alone, whatever its language."""


def _typographic(text: str, language: str) -> str:
    marks = QUOTES.get(language, ENGLISH_QUOTES)
    return QUOTED.sub(rf"{marks[0]}\1{marks[1]}", text).replace("'", "’")


def _lower_start(text: str) -> str:
    return text[:1].lower() + text[1:]


def _capital_start(text: str) -> str:
    return text[:1].upper() + text[1:]


def _title(text: str) -> str:
    return re.sub(r"(?<![\w'’])[^\W\d_]", lambda first: first.group().upper(), text)
