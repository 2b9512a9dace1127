"""The languages of a model as clients see them. A model without language codes has two stand-ins: source and target."""

from __future__ import annotations

from typing import TypedDict

from pellucid.decode.translator import Translator
from pellucid.errors import Problem, UserError
from pellucid.text.languages import Languages as Direction
from pellucid.text.languages import language_names

SOURCE, TARGET = "source", "target"  # stand-ins for codes, which LibreTranslate's API requires


class Language(TypedDict):
    code: str
    name: str
    targets: list[str]


class Detection(TypedDict):
    confidence: float  # percent
    language: str


def language_name(code: str) -> str:
    """The English name of a language, such as German for `de`; the code itself where CLDR has no name."""
    return code.capitalize() if code in (SOURCE, TARGET) else language_names().get(code.replace("-", "_"), code)


class Languages:
    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._known = translator.languages
        self._directions = self._known.directions or ((SOURCE, TARGET),)

    def all(self) -> list[Language]:
        """Every language with those it can be translated into, in the order of the model."""
        targets: dict[str, list[str]] = {code: [] for code in self._known.languages}
        for source, target in self._directions:
            targets.setdefault(source, []).append(target)
            targets.setdefault(target, [])
        return [{"code": code, "name": language_name(code), "targets": sorted(targets[code])} for code in targets]

    def direction(self, text: str, source: str | None, target: str | None) -> Direction:
        """The source and target language of a translation, in the codes of the model."""
        if self._known.directions:
            return self._translator.direction(text, source, target)
        given = (("source", source, (None, "auto", SOURCE)), ("target", target, (None, TARGET)))
        wrong = [(place, code) for place, code, allowed in given if code not in allowed]
        if wrong:
            remedy = f"the model has no language codes: translate from {SOURCE!r} into {TARGET!r}"
            raise UserError(Problem(f"{code!r} is not supported", place, remedy) for place, code in wrong)
        return None, None

    def detect(self, text: str) -> list[Detection]:
        """The languages that the text may be in, the most probable first."""
        if len(self._known.languages) < 2:
            return [{"confidence": 100.0, "language": next(iter(self._known.languages), SOURCE)}]
        found = [_detection(code, probability) for code, probability in self._known.detect(text)]
        return [each for each in found if each["confidence"] > 0]

    def detection(self, text: str, source: str | None) -> Detection:
        """The language that was taken as the source of a text, with its confidence."""
        if source is None or len(self._known.languages) < 2:
            return {"confidence": 100.0, "language": source or SOURCE}
        return _detection(source, dict(self._known.detect(text))[source])


def _detection(code: str, probability: float) -> Detection:
    return {"confidence": round(100 * probability, 1), "language": code}
