"""Language codes: `en`, `pt-BR`, `deu`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

Direction = tuple[str, str]
"""Source language, target language."""
Languages = tuple[str | None, str | None]
"""The same, where they may be unknown: a model of one direction needs no codes."""

CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*")
NOT_LANGUAGES = frozenset({"src", "tgt", "trg", "ref", "txt", "url"})  # three letters too, and common in file names


@cache
def language_names() -> dict[str, str]:
    """Code -> English name, of every language in Unicode's CLDR."""
    from babel import Locale  # takes 25 ms, which a translation need not wait for

    return dict(Locale("en").languages)


def two_letter_codes() -> set[str]:
    """The codes of ISO 639-1."""
    return {code for code in language_names() if len(code) == 2}


def is_code(name: str | None) -> bool:
    """Whether `name` has the shape of a language code, unlike the names of other directions (`report`, `summary`)."""
    return name is not None and CODE.fullmatch(name.lower()) is not None


def is_language(name: str) -> bool:
    """Whether `name`, such as the ending of a file, is the code of a language: en, EN, pt-BR, deu."""
    primary = primary_languages([name])[0]
    return is_code(name) and (primary in two_letter_codes() if len(primary) == 2 else primary not in NOT_LANGUAGES)


@cache  # a training asks for every pair
def known_direction(languages: Languages) -> Direction | None:
    """The languages of a pair if both are known and are languages, unlike report and summary."""
    source, target = languages
    return (source, target) if source and target and is_language(source) and is_language(target) else None


def same_language(asked: str, found: str) -> bool:
    """Whether text labelled `found` serves a request for `asked`: en takes en-US, en-US takes only itself."""
    asked, found = asked.lower().replace("_", "-"), found.lower().replace("_", "-")
    return found == asked or found.startswith(asked + "-")


def primary_languages(names: Iterable[str]) -> list[str]:
    """The languages without their regions, each once, in order: en-US, de, en-GB -> en, de."""
    return list(dict.fromkeys(re.split("[-_]", name)[0].lower() for name in names))
