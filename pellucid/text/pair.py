"""A pair of texts, and how languages are named."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

Direction = tuple[str, str]
"""Source language, target language."""
Languages = tuple[str | None, str | None]
"""The same, where they may be unknown."""


class Pair(NamedTuple):
    """A source text, its target text, their languages where known, and where they were read (`train.tsv:12`)."""

    source: str
    target: str
    source_language: str | None = None
    target_language: str | None = None
    place: str = ""

    def reversed(self) -> Pair:
        """The same pair the other way round."""
        return Pair(self.target, self.source, self.target_language, self.source_language, self.place)


# ISO 639-1: every language that has a code of two letters.
TWO_LETTER_CODES = frozenset(
    """aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd
    ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr
    ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu""".split()  # noqa: SIM905 - as a list it fills a page
)
LANGUAGE = re.compile(r"(?P<primary>[a-z]{2,3})([-_][a-z0-9]{2,8})*")
NO_LANGUAGE = frozenset({"src", "tgt", "trg", "ref", "txt", "url"})  # of three letters too, and common in files


def is_language(name: str) -> bool:
    """Whether `name` reads as a language code: en, EN, pt-BR, deu."""
    code = LANGUAGE.fullmatch(name.lower())
    if code is None:
        return False
    primary = code["primary"]
    return primary in TWO_LETTER_CODES or (len(primary) == 3 and primary not in NO_LANGUAGE)


def same_language(asked: str, found: str) -> bool:
    """Whether text labelled `found` serves someone who asked for `asked`: en takes en-US, en-US takes only itself."""
    asked, found = asked.lower().replace("_", "-"), found.lower().replace("_", "-")
    return found == asked or found.startswith(asked + "-")


def primary_languages(names: Iterable[str]) -> list[str]:
    """The languages without their regions, each once, in order: en-US, de, en-GB -> en, de."""
    return list(dict.fromkeys(re.split("[-_]", name)[0].lower() for name in names))
