"""Keeping whole what must come out as it went in: addresses, and `{name}`, `%s` and `<b>`, which a program fills in.

A model may copy them by itself. Where it does not, numbers stand in, which models copy more readily. Where a number is
lost too, the text between them is translated piece by piece, and nothing can be lost.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

# A hostile text must not cost the square of its length: what repeats ends in one way, is bounded, or is taken whole.
# An address of a page ends before what ends the sentence, before other placeholders and before scripts without spaces.
NO_PAGE = r"\s<>()\"{}`„“”‘’«»…\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
ADDRESS = (
    rf"(?:https?://|www\.)(?:[^{NO_PAGE}]|\([^{NO_PAGE}]*\))+(?<![.,;:!?\]'])"
    r"|(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"  # of mail
)
PLACEHOLDER = (
    r"</?[A-Za-z][^<>]*>"  # tags
    r"|&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);"  # entities
    r"|\$\{[^{}\s]*\}|\{\{[^{}]*\}\}|\{[^{}\s]*\}"  # ${x}, {{ x }}, {x}
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]*+\d*+(?:\.\d+)?[sdifgxXuc@](?![A-Za-z])"  # %s, %(x)s, %1$s
)


OPENING, CLOSING = r"(\[\"'„“«", r")\]}\"'”“».,;:!?…"


class Kept(NamedTuple):
    """What is kept whole in a text."""

    pattern: re.Pattern[str]

    def found(self, text: str) -> list[str]:
        return [match.group() for match in self.pattern.finditer(text)]

    def came_through(self, text: str, translation: str) -> bool:
        """Whether all of it did, as often as it went in, and none was made up."""
        return Counter(self.found(text)) == Counter(self.found(translation))

    def mask(self, text: str) -> tuple[str, dict[str, str]]:
        """The text with numbers instead, and which number stands for what."""
        numbers = (str(number) for number in range(9001, 10_000) if str(number) not in text)
        stand_ins: dict[str, str] = {}

        def stand_in(match: re.Match[str]) -> str:
            number = next(numbers, None)
            if number is None:  # hundreds of them: the pieces between them will do
                return match.group()
            stand_ins[number] = match.group()
            return number

        return self.pattern.sub(stand_in, text), stand_ins

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """The text cut at what is kept (and the signs that touch it): each piece, and whether to translate it."""
        found: list[tuple[str, bool]] = []
        end = 0
        touching = re.compile(rf"(?:(?<![{OPENING}])[{OPENING}]++)?(?:{self.pattern.pattern})[{CLOSING}]*+")
        for match in touching.finditer(text):
            found += [(text[end : match.start()], True), (match.group(), False)]
            end = match.end()
        return [(piece, wanted) for piece, wanted in [*found, (text[end:], True)] if piece]

    def without(self, text: str) -> str:
        """The text, and nothing of the kind that is kept."""
        return self.pattern.sub("", text)


ADDRESSES = Kept(re.compile(ADDRESS))
ADDRESSES_AND_PLACEHOLDERS = Kept(re.compile(f"{ADDRESS}|{PLACEHOLDER}"))


def has_address(text: str) -> bool:
    """Nearly every text has none, and is told so at once."""
    return ("://" in text or "www." in text or "@" in text) and bool(ADDRESSES.found(text))


def unmask(translation: str, stand_ins: dict[str, str]) -> str:
    for number, kept in stand_ins.items():
        translation = translation.replace(number, kept)
    return translation
