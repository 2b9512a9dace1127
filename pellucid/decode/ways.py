"""From which language into which."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.errors import Problem, UserError, nearest
from pellucid.text.languages import LanguageIdentifier

Way = tuple[str | None, str | None]
"""Source and target language; None where a model has no codes."""


def find_way(known: LanguageIdentifier, text: str, source: str | None = None, target: str | None = None) -> Way:
    """As asked; what is left out (source="auto" too) is the only possibility, else the source is what the text looks
    like. Everything else is an error that says what the model can do."""
    return find_ways(known, [text], source, target)[0]


def find_ways(
    known: LanguageIdentifier, texts: Sequence[str], source: str | None = None, target: str | None = None
) -> list[Way]:
    """The way of each text."""
    possible = _possible(known, None if source == "auto" else _own_code(known, source), _own_code(known, target))
    return [_likeliest(known, possible, text) for text in texts]


def _own_code(known: LanguageIdentifier, asked: str | None) -> str | None:
    """The model's code for the language that is asked for: its `de` serves those who ask for DE or de-AT."""
    if asked is None or asked in known.languages:
        return asked
    plain = asked.lower().replace("_", "-")
    codes = {code.lower(): code for code in known.languages}
    return codes.get(plain) or codes.get(plain.split("-")[0]) or asked


def _possible(known: LanguageIdentifier, source: str | None, target: str | None) -> list[Way]:
    """The ways of a model that are as asked."""
    asked = [(place, code) for place, code in (("source", source), ("target", target)) if code is not None]
    if not known.directions:
        if asked:
            remedy = "leave it out"
            raise UserError(Problem("the model knows no language codes", place, remedy) for place, _ in asked)
        return [(None, None)]
    unknown = [(place, code) for place, code in asked if code not in known.languages]
    if unknown:
        raise UserError(
            Problem(f"the model does not know the language {code!r}", place, nearest(code, known.languages))
            for place, code in unknown
        )
    possible: list[Way] = [way for way in known.directions if source in (None, way[0]) and target in (None, way[1])]
    if not possible:
        what = f"the model does not translate {source or 'anything'} into {target or 'anything'}"
        raise UserError(what, "target", _offer(known))
    return possible


def _likeliest(known: LanguageIdentifier, possible: list[Way], text: str) -> Way:
    """The only way, else the one from the language that the text looks like."""
    sources = {way[0] for way in possible}
    if len(sources) > 1:
        likeliest = next(code for code, _ in known.detect(text) if code in sources)
        possible = [way for way in possible if way[0] == likeliest]
    if len(possible) > 1:
        raise UserError("the language to translate into is not given", "target", _offer(known))
    return possible[0]


def _offer(known: LanguageIdentifier) -> str:
    return "it translates " + ", ".join(" → ".join(way) for way in known.directions)
