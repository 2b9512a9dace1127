"""Protected spans: addresses, and `{name}`, `%s` and `<b>`, which must come out as they went in.

A model often copies them by itself. Where it does not, the text is translated again with numbers in their place, which
models copy more readily. Where a number is lost too, the text between them is translated piece by piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pellucid.decode.sentences import SourceText
from pellucid.decode.translation import Translation, join
from pellucid.text.languages import is_code

# A hostile text must not cost the square of its length: repetitions are bounded, possessive, or end unambiguously.
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


class ProtectedSpans(NamedTuple):
    """The spans of a text that match a pattern, which `re` compiles when it is first used: 5 ms."""

    pattern: str

    def found(self, text: str) -> list[str]:
        return [match.group() for match in re.finditer(self.pattern, text)]

    def all_in(self, text: str, translation: str) -> bool:
        """Whether the translation has the same spans as the text, each as often, and no other."""
        return Counter(self.found(text)) == Counter(self.found(translation))

    def mask(self, text: str) -> tuple[str, dict[str, str]]:
        """The text with a number in place of each span, and number -> span."""
        numbers = (str(number) for number in range(9001, 10_000) if str(number) not in text)
        stand_ins: dict[str, str] = {}

        def stand_in(match: re.Match[str]) -> str:
            number = next(numbers, None)
            if number is None:  # hundreds of them: the pieces between them are translated
                return match.group()
            stand_ins[number] = match.group()
            return number

        return re.sub(self.pattern, stand_in, text), stand_ins

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """The text cut at the spans and the punctuation that touches them: each piece, and whether to translate it."""
        found: list[tuple[str, bool]] = []
        end = 0
        touching = re.compile(rf"(?:(?<![{OPENING}])[{OPENING}]++)?(?:{self.pattern})[{CLOSING}]*+")
        for match in touching.finditer(text):
            found += [(text[end : match.start()], True), (match.group(), False)]
            end = match.end()
        return [(piece, translate) for piece, translate in [*found, (text[end:], True)] if piece]

    def remove(self, text: str) -> str:
        """The text without any such span."""
        return re.sub(self.pattern, "", text)


ADDRESSES = ProtectedSpans(ADDRESS)
ADDRESSES_AND_PLACEHOLDERS = ProtectedSpans(f"{ADDRESS}|{PLACEHOLDER}")

Translate = Callable[[Sequence[SourceText]], list[Translation]]


def translate_protected(translate: Translate, sources: Sequence[SourceText], protect: bool) -> list[Translation]:
    """Translate, then translate again those texts in which a protected span was lost. With `protect` these are
    addresses and placeholders; else addresses, in texts of a language."""
    spans = ADDRESSES_AND_PLACEHOLDERS if protect else ADDRESSES
    translations = translate(sources)
    lost = [
        place
        for place, (source, translation) in enumerate(zip(sources, translations, strict=True))
        if (protect or (is_code(source.direction[0]) and may_have_address(source.text)))
        and not spans.all_in(source.text, translation.text)
    ]
    if not lost:
        return translations
    masked = [spans.mask(sources[place].text) for place in lost]
    again = translate([sources[place]._replace(text=text) for place, (text, _) in zip(lost, masked, strict=True)])
    for place, translation, (_, stand_ins) in zip(lost, again, masked, strict=True):
        restored = replace(translation, text=unmask(translation.text, stand_ins), alternatives=())
        if not spans.all_in(sources[place].text, restored.text):
            restored = _translate_pieces(translate, spans, sources[place])
        translations[place] = restored
    return translations


def _translate_pieces(translate: Translate, spans: ProtectedSpans, source: SourceText) -> Translation:
    """Translate the text between protected spans piece by piece; the prefix begins the first piece."""
    pieces = spans.pieces(source.text)
    texts = [piece for piece, is_text in pieces if is_text]
    prefixes = [source.prefix, *[""] * len(texts)][: len(texts)]
    translations = translate(
        [SourceText(text, source.direction, prefix) for text, prefix in zip(texts, prefixes, strict=True)]
    )
    following = iter(translations)
    # A model may make such a span up; the translation of a piece must not have one.
    made = [spans.remove(next(following).text) if is_text else piece for piece, is_text in pieces]
    whole = "".join(made)
    if not spans.all_in(source.text, whole):  # an address may seem to go on where no space is after it
        whole = " ".join(made)
    notes = tuple([note for each in translations for note in each.notes])
    return join(whole, translations, source.direction, notes=notes)


def may_have_address(text: str) -> bool:
    """Nearly every text has none, and is recognised at once."""
    return ("://" in text or "www." in text or "@" in text) and bool(ADDRESSES.found(text))


def unmask(translation: str, stand_ins: dict[str, str]) -> str:
    for number, span in stand_ins.items():
        translation = translation.replace(number, span)
    return translation
