"""Protected spans: addresses, and `{name}` and `%s`, which must come out as they went in.

A model often copies them by itself. Where it does not, the text is translated again with numbers in their place, which
models copy more readily. Where a number is lost too, the text between them is translated piece by piece.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from pellucid.decode.markup.tags import Edit, Tag, edited
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
    r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);"  # entities
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

    def stand_ins(self, text: str) -> list[Edit]:
        """A number for each span, if there are not hundreds: the pieces between those are translated."""
        numbers = (str(number) for number in range(9001, 10_000) if str(number) not in text)
        return [
            (*match.span(), number) for match, number in zip(re.finditer(self.pattern, text), numbers, strict=False)
        ]

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """The text cut at the spans and the punctuation that touches them: each piece, and whether to translate it."""
        found: list[tuple[str, bool]] = []
        end = 0
        touching = re.compile(rf"(?:(?<![{OPENING}])[{OPENING}]++)?(?:{self.pattern})[{CLOSING}]*+")
        for match in touching.finditer(text):
            found += [(text[end : match.start()], True), (match.group(), False)]
            end = match.end()
        return [(piece, translate) for piece, translate in [*found, (text[end:], True)] if piece]

    def remove(self, translation: Translation) -> tuple[str, tuple[Tag, ...]]:
        """The text of a translation without any such span, and its tags."""
        edits = [(*match.span(), "") for match in re.finditer(self.pattern, translation.text)]
        return edited(translation.text, translation.tags, edits)


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
    stand_ins = [spans.stand_ins(sources[place].text) for place in lost]
    again = translate([mask(sources[place], edits) for place, edits in zip(lost, stand_ins, strict=True)])
    for place, translation, edits in zip(lost, again, stand_ins, strict=True):
        restored = unmask(translation, {number: sources[place].text[start:end] for start, end, number in edits})
        if not spans.all_in(sources[place].text, restored.text):
            restored = _translate_pieces(translate, spans, sources[place])
        translations[place] = restored
    return translations


def mask(source: SourceText, stand_ins: Sequence[Edit]) -> SourceText:
    """The text with a number in place of each span."""
    text, tags = edited(source.text, source.tags, stand_ins)
    return source._replace(text=text, tags=tags)


def unmask(translation: Translation, spans: dict[str, str]) -> Translation:
    """The translation with the spans in place of their numbers."""
    found = re.finditer("|".join(spans), translation.text) if spans else ()
    edits = [(*match.span(), spans[match.group()]) for match in found]
    text, tags = edited(translation.text, translation.tags, edits)
    return replace(translation, text=text, tags=tags, alternatives=())


def _translate_pieces(translate: Translate, spans: ProtectedSpans, source: SourceText) -> Translation:
    """Translate the text between protected spans piece by piece; the prefix begins the first piece."""
    pieces = spans.pieces(source.text)
    prefix, parts, start = source.prefix, [], 0
    following_tags = deque(source.tags)
    for piece, is_text in pieces:
        end = start + len(piece)
        tags = []
        while following_tags and following_tags[0].place < end:
            tag = following_tags.popleft()
            tags.append(tag._replace(place=tag.place - start))
        parts.append(SourceText(piece, source.direction, prefix if is_text else "", tuple(tags)))
        prefix, start = "" if is_text else prefix, end
    translations = translate([part for part, (_, is_text) in zip(parts, pieces, strict=True) if is_text])
    following = iter(translations)
    # A model may make such a span up; the translation of a piece must not have one.
    made = [
        spans.remove(next(following)) if is_text else (part.text, part.tags)
        for part, (_, is_text) in zip(parts, pieces, strict=True)
    ]
    between = ""
    if not spans.all_in(source.text, "".join(text for text, _ in made)):
        between = " "  # an address may seem to go on where no space is after it
    whole = between.join(text for text, _ in made)
    starts = accumulate((len(text) + len(between) for text, _ in made), initial=0)
    places = [start + tag.place for start, (_, tags) in zip(starts, made, strict=False) for tag in tags]
    places += [len(whole)] * (len(source.tags) - len(places))
    # In the order of the source, so that they stay nested: elements may begin in one piece and end in another.
    placed = tuple([tag._replace(place=place) for tag, place in zip(source.tags, sorted(places), strict=True)])
    notes = tuple([note for each in translations for note in each.notes])
    return replace(join(whole, translations, source.direction, notes=notes), tags=placed)


def may_have_address(text: str) -> bool:
    """Nearly every text has none, and is recognised at once."""
    return ("://" in text or "www." in text or "@" in text) and bool(ADDRESSES.found(text))
