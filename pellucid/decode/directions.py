"""From which language into which: as requested, else the only possibility, else by detecting the source language."""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.errors import Problem, UserError, nearest
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.languages import Languages


def find_directions(
    known: LanguageIdentifier, texts: Sequence[str], source: str | None = None, target: str | None = None
) -> list[Languages]:
    """The direction of each text. A language that is not given (source="auto" too) is the only one possible, else the
    source is detected; anything else is an error that says what the model can do."""
    possible = _possible(known, None if source == "auto" else _own_code(known, source), _own_code(known, target))
    return [_likeliest(known, possible, text) for text in texts]


def _own_code(known: LanguageIdentifier, asked: str | None) -> str | None:
    """The model's code for a requested language: its `de` serves requests for DE and de-AT."""
    if asked is None or asked in known.languages:
        return asked
    plain = asked.lower().replace("_", "-")
    codes = {code.lower(): code for code in known.languages}
    return codes.get(plain) or codes.get(plain.split("-")[0]) or asked


def _possible(known: LanguageIdentifier, source: str | None, target: str | None) -> list[Languages]:
    """The directions of the model that fit the request."""
    asked = [(place, code) for place, code in (("source", source), ("target", target)) if code is not None]
    if not known.directions:
        if asked:
            remedy = "leave it out"
            raise UserError(Problem("the model has no language codes", place, remedy) for place, _ in asked)
        return [(None, None)]
    unknown = [(place, code) for place, code in asked if code not in known.languages]
    if unknown:
        raise UserError(
            Problem(f"the model does not know the language {code!r}", place, nearest(code, known.languages))
            for place, code in unknown
        )
    possible: list[Languages] = [d for d in known.directions if source in (None, d[0]) and target in (None, d[1])]
    if not possible:
        what = f"the model does not translate {source or 'anything'} into {target or 'anything'}"
        raise UserError(what, "target", _offer(known))
    return possible


def _likeliest(known: LanguageIdentifier, possible: list[Languages], text: str) -> Languages:
    """The only direction, else the one from the most probable language of the text."""
    sources = {source for source, _ in possible}
    if len(sources) > 1:
        likeliest = next(code for code, _ in known.detect(text) if code in sources)
        possible = [direction for direction in possible if direction[0] == likeliest]
    if len(possible) > 1:
        raise UserError("the language to translate into is not given", "target", _offer(known))
    return possible[0]


def _offer(known: LanguageIdentifier) -> str:
    return "it translates " + ", ".join(" → ".join(direction) for direction in known.directions)
