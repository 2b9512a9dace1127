"""HTML: the text between tags is translated, everything else stays as it came, character by character."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape, unescape
from html.parser import HTMLParser

# Not prose: what stands in these is left alone, as in anything marked translate="no".
KEPT = {"script", "style", "code", "kbd", "samp", "var", "math"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Plain:
    """A text without markup."""

    def __init__(self, source: str) -> None:
        self.texts = (source,)

    def write(self, texts: Sequence[str]) -> str:
        return texts[0]


class Page:
    """A page, or a part of one: pieces of its source, some of which are text. All joined are the source."""

    def __init__(self, source: str) -> None:
        self._pieces = _pieces(source)
        self.texts = tuple(unescape(piece) for piece, is_text in self._pieces if is_text)

    def write(self, texts: Sequence[str]) -> str:
        """The source with other texts. Whatever characters they have, they stay text."""
        following = iter(zip(self.texts, texts, strict=True))
        return "".join(_written(piece, *next(following)) if is_text else piece for piece, is_text in self._pieces)


def _written(piece: str, before: str, after: str) -> str:
    return piece if before == after else escape(after, quote=False)


def _pieces(source: str) -> list[tuple[str, bool]]:
    reader = _Reader(source)
    reader.feed(source)
    reader.finish(source)
    ends = [start for start, _ in reader.starts[1:]] + [len(source)]
    pieces = [(source[start:end], is_text) for (start, is_text), end in zip(reader.starts, ends, strict=True)]
    return [(piece, is_text and not unescape(piece).isspace()) for piece, is_text in pieces if piece]


class _Reader(HTMLParser):
    """Notes where text begins and where markup does. The pieces are then cut from the source itself, so
    that nothing is lost in what the parser makes of them."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self.starts: list[tuple[int, bool]] = [(0, False)]
        self._lines = [0]  # where each begins; the parser counts no other line ends
        for line in source.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._kept = ""  # the element whose content is left alone,
        self._depth = 0  # and how many of its name are open

    def finish(self, source: str) -> None:
        """What the parser is left with is half a tag, which stays as it is, or half an entity, which is text. `close`
        would try it again and again, in a time that grows with the square of its length."""
        is_tag = source.startswith("<", self._place())
        self._note(not is_tag)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _note(self, is_text: bool) -> None:
        is_text = is_text and not self._depth
        if is_text != self.starts[-1][1]:  # an entity comes alone, and belongs to the text around it
            self.starts.append((self._place(), is_text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(False)
        if self._depth:
            self._depth += tag == self._kept
        elif tag in KEPT or (tag not in VOID and ("translate", "no") in attrs):
            self._kept, self._depth = tag, 1

    def handle_endtag(self, tag: str) -> None:
        self._note(False)
        self._depth -= bool(self._depth) and tag == self._kept

    def handle_startendtag(self, _tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self._note(False)

    def handle_data(self, _data: str) -> None:
        self._note(True)

    def handle_entityref(self, _name: str) -> None:
        self._note(True)

    def handle_charref(self, _name: str) -> None:
        self._note(True)

    def handle_comment(self, _data: str) -> None:
        self._note(False)

    def handle_decl(self, _decl: str) -> None:
        self._note(False)

    def handle_pi(self, _data: str) -> None:
        self._note(False)

    def unknown_decl(self, _data: str) -> None:
        self._note(False)
