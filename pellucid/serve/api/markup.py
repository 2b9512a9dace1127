"""HTML: its texts are translated, with the tags within them; everything else is kept, character by character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import escape, unescape
from html.parser import HTMLParser
from itertools import accumulate, groupby
from typing import Any, NamedTuple, Self

from pellucid.decode.markup.tags import BREAKING, VOID, Tag, name_of, put_back, take_out
from pellucid.decode.translation import Translation

# Elements whose content is not translated, like that of any element with translate="no".
UNTRANSLATED = {"script", "style", "code", "kbd", "samp", "var", "math"}


class Marked(NamedTuple):
    """A text without its tags, and the tags."""

    text: str
    tags: tuple[Tag, ...] = ()

    @classmethod
    def of(cls, translation: Translation) -> Self:
        return cls(translation.text, translation.tags)


class Plain:
    """A text without markup."""

    def __init__(self, source: str) -> None:
        self.text = source
        self.texts = (Marked(source),)

    def write(self, texts: Sequence[Marked]) -> str:
        return texts[0].text


class Page:
    """HTML. A text goes from one tag that ends a sentence, such as `<p>`, to the next; tags within it are its own."""

    def __init__(self, source: str) -> None:
        starts = _Reader(source).starts
        ends = [start for start, _ in starts[1:]] + [len(source)]
        pieces = [
            (source[start:end], is_text) for (start, is_text), end in zip(starts, ends, strict=True) if start < end
        ]
        self._stretches = list(_stretches(pieces))
        self.texts = tuple([text for _, text in self._stretches if text is not None])
        self.text = " ".join(text for text, _ in self.texts)

    def write(self, texts: Sequence[Marked]) -> str:
        """The source with other texts, which are escaped, so that they never become markup."""
        following = iter(texts)
        return "".join(raw if text is None else _written(raw, text, next(following)) for raw, text in self._stretches)


def _stretches(pieces: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, Marked | None]]:
    """Stretches of the source, each with its text, or None if it has none."""
    for breaking, group in groupby(pieces, lambda each: not each[1] and name_of(each[0]) in BREAKING):
        stretch = list(group)
        raw = "".join(piece for piece, _ in stretch)
        has_text = not breaking and any(is_text and not unescape(piece).isspace() for piece, is_text in stretch)
        tagged = [(unescape(piece) if is_text else piece, not is_text) for piece, is_text in stretch]
        yield raw, Marked(*take_out(tagged)) if has_text else None


def _written(raw: str, before: Marked, after: Marked) -> str:
    return raw if before == after else put_back(after.text, after.tags, partial(escape, quote=False))


class _Reader(HTMLParser):
    """Records where text and markup begin. The pieces are cut from the source, as the parser changes what it reads."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self.starts: list[tuple[int, bool]] = [(0, False)]
        # The offset of each line; like the parser, this counts \n alone.
        self._lines = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))
        self._element = ""  # the open element whose content is not translated,
        self._depth = 0  # and how many of its name are nested
        with suppress(AssertionError):  # of a declaration that it cannot read, such as `<![`
            self.feed(source)
        # In the rest, an incomplete tag is markup and an incomplete entity is text. `HTMLParser.close` would parse it
        # repeatedly, in a time quadratic in its length.
        self._record(not source.startswith("<", self._offset()))

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _record(self, is_text: bool) -> None:
        if self._depth or (is_text and self.starts[-1][1]):  # an entity belongs to the text around it
            return
        self.starts.append((self._offset(), is_text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._record(False)
        if self._depth:
            self._depth += tag == self._element
        elif tag in UNTRANSLATED or (tag not in VOID and ("translate", "no") in attrs):
            self._element, self._depth = tag, 1

    def handle_endtag(self, tag: str) -> None:
        self._record(False)
        self._depth -= bool(self._depth) and tag == self._element

    def _text(self, *_content: Any, **_named: Any) -> None:
        self._record(True)

    def _markup(self, *_content: Any, **_named: Any) -> None:
        self._record(False)

    handle_data = handle_entityref = handle_charref = _text
    handle_startendtag = handle_comment = handle_decl = handle_pi = unknown_decl = _markup
