"""Keeping `{name}`, `%s` and `<b>` whole: what a program fills in later must come out as it went in.

A model may copy a placeholder by itself. Where it does not, numbers stand in, which models copy more readily. Where a
number is lost too, the text between the placeholders is translated piece by piece, and nothing can be lost.
"""

from __future__ import annotations

import re
from collections import Counter

PLACEHOLDER = re.compile(
    r"</?[A-Za-z][^<>]*>"  # tags
    r"|&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);"  # entities
    r"|\$\{[^{}\s]*\}|\{\{[^{}]*\}\}|\{[^{}\s]*\}"  # ${x}, {{ x }}, {x}
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]*+\d*+(?:\.\d+)?[sdifgxXuc@](?![A-Za-z])"  # %s, %(x)s, %1$s
)


def placeholders(text: str) -> list[str]:
    return [match.group() for match in PLACEHOLDER.finditer(text)]


def kept(text: str, translation: str) -> bool:
    """Whether every placeholder came through, as often as it went in, and none was made up."""
    return Counter(placeholders(text)) == Counter(placeholders(translation))


def mask(text: str) -> tuple[str, dict[str, str]]:
    """The text with numbers for placeholders, and which number stands for which."""
    numbers = (str(number) for number in range(9001, 10_000) if str(number) not in text)
    stand_ins: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        number = next(numbers, None)
        if number is None:  # hundreds of placeholders: the pieces between them will do
            return match.group()
        stand_ins[number] = match.group()
        return number

    return PLACEHOLDER.sub(stand_in, text), stand_ins


def unmask(translation: str, stand_ins: dict[str, str]) -> str:
    for number, placeholder in stand_ins.items():
        translation = translation.replace(number, placeholder)
    return translation


def pieces(text: str) -> list[tuple[str, bool]]:
    """The text cut at its placeholders: each piece with whether it is to be translated."""
    found: list[tuple[str, bool]] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        found += [(text[end : match.start()], True), (match.group(), False)]
        end = match.end()
    return [(piece, wanted) for piece, wanted in [*found, (text[end:], True)] if piece]


def remove(text: str) -> str:
    """The text without placeholders."""
    return PLACEHOLDER.sub("", text)
