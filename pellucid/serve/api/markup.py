"""HTML: the text between tags is translated, everything else is kept unchanged, character by character."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape, unescape
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any

# Elements whose content is not translated, like that of any element with translate="no".
UNTRANSLATED = {"script", "style", "code", "kbd", "samp", "var", "math"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Plain:
    """A text without markup."""

    def __init__(self, source: str) -> None:
        self.texts = (source,)

    def write(self, texts: Sequence[str]) -> str:
        return texts[0]


class Page:
    """HTML, split into pieces that are text or markup. The pieces joined are the source."""

    def __init__(self, source: str) -> None:
        starts = _Reader(source).starts
        ends = [start for start, _ in starts[1:]] + [len(source)]
        pieces = [(source[start:end], is_text) for (start, is_text), end in zip(starts, ends, strict=True)]
        self._pieces = [(piece, is_text and not unescape(piece).isspace()) for piece, is_text in pieces if piece]
        self.texts = tuple(unescape(piece) for piece, is_text in self._pieces if is_text)

    def write(self, texts: Sequence[str]) -> str:
        """The source with other texts, which are escaped, so that they never become markup."""
        following = iter(zip(self.texts, texts, strict=True))
        return "".join(_escaped(piece, *next(following)) if is_text else piece for piece, is_text in self._pieces)


def _escaped(piece: str, before: str, after: str) -> str:
    return piece if before == after else escape(after, quote=False)


class _Reader(HTMLParser):
    """Records where text and markup begin. The pieces are cut from the source, as the parser changes what it reads."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self.starts: list[tuple[int, bool]] = [(0, False)]
        # The offset of each line; like the parser, this counts \n alone.
        self._lines = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))
        self._element = ""  # the open element whose content is not translated,
        self._depth = 0  # and how many of its name are nested
        self.feed(source)
        # In the rest, an incomplete tag is markup and an incomplete entity is text. `HTMLParser.close` would parse it
        # repeatedly, in a time quadratic in its length.
        self._record(not source.startswith("<", self._offset()))

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _record(self, is_text: bool) -> None:
        is_text = is_text and not self._depth
        if is_text != self.starts[-1][1]:  # an entity is handled separately, but belongs to the text around it
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
