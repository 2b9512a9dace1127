"""The languages of a model as clients see them. A model without codes has two: what goes in, and what comes out."""

from __future__ import annotations

from typing import TypedDict

from pellucid.decode.translator import Translator
from pellucid.errors import Problem, UserError
from pellucid.text.languages import Languages as Direction

SOURCE, TARGET = "source", "target"  # stand-ins for codes, as the API cannot do without

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "la": "Latin",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ms": "Malay", "mt": "Maltese", "nb": "Norwegian Bokmål",
    "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese", SOURCE: "Source", TARGET: "Target",
}  # fmt: skip


class Language(TypedDict):
    code: str
    name: str
    targets: list[str]


class Detection(TypedDict):
    confidence: float  # of 100
    language: str


class Languages:
    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._known = translator.languages
        self._directions = self._known.directions or ((SOURCE, TARGET),)

    def all(self) -> list[Language]:
        """Every language with those it can be translated into, in the order of the model."""
        codes = dict.fromkeys([*self._known.languages, *(code for way in self._directions for code in way)])
        return [
            {
                "code": code,
                "name": NAMES.get(code, code),
                "targets": sorted(target for source, target in self._directions if source == code),
            }
            for code in codes
        ]

    def way(self, text: str, source: str | None, target: str | None) -> Direction:
        """From which language into which, as the model knows them."""
        if self._known.directions:
            return self._translator.direction(text, source, target)
        asked = (("source", source, (None, "auto", SOURCE)), ("target", target, (None, TARGET)))
        wrong = [(place, code) for place, code, right in asked if code not in right]
        if wrong:
            remedy = f"the model has no language codes: translate from {SOURCE!r} into {TARGET!r}"
            raise UserError(Problem(f"{code!r} is not supported", place, remedy) for place, code in wrong)
        return None, None

    def detect(self, text: str) -> list[Detection]:
        """The languages the text may be in, the likeliest first."""
        if len(self._known.languages) < 2:
            return [{"confidence": 100.0, "language": next(iter(self._known.languages), SOURCE)}]
        found = [_detection(code, probability) for code, probability in self._known.detect(text)]
        return [each for each in found if each["confidence"] > 0]

    def detected(self, text: str, way: Direction) -> Detection:
        """The language the text was taken for, and how sure that is."""
        if way[0] is None or len(self._known.languages) < 2:
            return {"confidence": 100.0, "language": way[0] or SOURCE}
        return _detection(way[0], dict(self._known.detect(text))[way[0]])


def _detection(code: str, probability: float) -> Detection:
    return {"confidence": round(100 * probability, 1), "language": code}
