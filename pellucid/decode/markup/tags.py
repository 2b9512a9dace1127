"""Tags that are taken out of a text before it is translated, and put into the translation afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

TAG = r"</?[A-Za-z][^<>]*>"
NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
# Elements of HTML that end a sentence. All others stand within one.
BREAKING = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "col", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame",
    "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link",
    "main", "map", "menu", "meta", "nav", "noscript", "ol", "optgroup", "option", "p", "picture", "pre", "script",
    "section", "select", "source", "style", "summary", "table", "tbody", "td", "template", "textarea", "tfoot", "th",
    "thead", "title", "tr", "track", "ul", "video",
})  # fmt: skip

VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
})  # fmt: skip


class Tag(NamedTuple):
    """A tag and its place: how many characters of the text are before it. One that shows something, such as a picture
    or an element that is kept whole, stands apart from the words where spaces did."""

    text: str
    place: int
    space_before: bool = False
    space_after: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is an element with its content."""
        return self.text.count("<") > 1

    @property
    def shows(self) -> bool:
        """Whether a reader sees something in its place."""
        return self.is_whole or name_of(self.text) in VOID

    @property
    def depth(self) -> int:
        """By how much what follows lies deeper: 1 after an opening tag, -1 after a closing one."""
        found = NAME.match(self.text)
        if found is None or self.shows or self.text.endswith("/>") or not self.text.endswith(">"):
            return 0
        return -1 if found[1] else 1


Edit = tuple[int, int, str]
"""Start and end of a stretch of text, and what takes its place."""


def tag_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces, each with whether it is a tag."""
    end = 0
    for match in re.finditer(TAG, text):
        yield text[end : match.start()], False
        yield match.group(), True
        end = match.end()
    yield text[end:], False


def take_out(pieces: Iterable[tuple[str, bool]]) -> tuple[str, tuple[Tag, ...]]:
    """Pieces, each with whether it is a tag -> the text without the tags, and the tags. Where a tag that ends a
    sentence, or an element that is kept whole, was all that was between two words, a space is there now; where two
    spaces meet, one is left."""
    parts: list[str] = []
    length, last = 0, ""  # of the text so far: its length and its last character
    tags: list[Tag] = []
    apart = ""  # what the text needs before it goes on, because of a tag
    for piece, is_tag in pieces:
        if is_tag:
            tag = Tag(piece, length)
            tags.append(tag._replace(space_before=tag.shows and last.isspace()))
            apart = " " if tag.is_whole or name_of(piece) in BREAKING else apart
        elif piece:
            if tags and tags[-1].place == length and tags[-1].shows:
                tags[-1] = tags[-1]._replace(space_after=piece[0].isspace())
            between = apart if last and not (last.isspace() or piece[0].isspace()) else ""
            drop = bool(tags) and tags[-1].place == length and last == piece[0] == " "
            parts.append(between + piece[drop:])
            length, last = length + len(parts[-1]), parts[-1][-1:] or last
            apart = ""
    return "".join(parts), tuple(tags)


def put_back(text: str, tags: Sequence[Tag], write: Callable[[str], str] = str) -> str:
    """The text with its tags; `write` is how the text between them is written."""
    places = [0, *(tag.place for tag in tags), len(text)]
    between = [write(text[start:end]) for start, end in pairwise(places)]
    return between[0] + "".join(_apart(text, tag) + after for tag, after in zip(tags, between[1:], strict=True))


def _apart(text: str, tag: Tag) -> str:
    """The tag, apart from the words beside it if it was so."""
    before = " " if tag.space_before and text[tag.place - 1 : tag.place].isalnum() else ""
    after = " " if tag.space_after and text[tag.place : tag.place + 1].isalnum() else ""
    return before + tag.text + after


def name_of(tag: str) -> str:
    found = NAME.match(tag)
    return found[2].lower() if found else ""


def edited(text: str, tags: Sequence[Tag], edits: Iterable[Edit]) -> tuple[str, tuple[Tag, ...]]:
    """The text with other stretches in the place of some, which come in order, and the tags where they belong then."""
    parts, moved, end, shift = [], list(tags), 0, 0
    following = 0  # the first tag that has not been moved yet
    for start, stop, new in edits:
        while following < len(moved) and moved[following].place < stop:
            place = min(moved[following].place, start) + shift
            moved[following] = moved[following]._replace(place=place)
            following += 1
        parts += [text[end:start], new]
        end, shift = stop, shift + len(new) - (stop - start)
    rest = [tag._replace(place=tag.place + shift) for tag in moved[following:]]
    return "".join([*parts, text[end:]]), (*moved[:following], *rest)


@dataclass(eq=False)
class Node:
    """An element with its tags and what is inside, or (without an end) a tag that stands alone."""

    start: Tag
    end: Tag | None = None
    inside: list[Node] = field(default_factory=list)


def nested(tags: Sequence[Tag], deepest: int) -> list[Node] | None:
    """The tags as elements, each in the one around it. A tag without its partner stands alone. None, if more elements
    than `deepest` are open at once."""
    top: list[Node] = []
    still_open: list[Node] = []
    places: dict[str, list[int]] = {}  # name -> where in `still_open` elements of that name are
    for tag in tags:
        name = name_of(tag.text)
        if tag.depth < 0 and places.get(name):
            place = places[name].pop()
            for left in still_open[place + 1 :]:
                places[name_of(left.start.text)].pop()
            still_open[place].end = tag
            _never_closed(still_open[place + 1 :], still_open[place].inside)
            del still_open[place:]
            continue
        node = Node(tag)
        (still_open[-1].inside if still_open else top).append(node)
        if tag.depth > 0:
            places.setdefault(name, []).append(len(still_open))
            still_open.append(node)
            if len(still_open) > deepest:
                return None
    _never_closed(still_open, top)
    return top


def _never_closed(nodes: Sequence[Node], siblings: list[Node]) -> None:
    """What seemed to be inside of them stands beside them."""
    for node in nodes:
        siblings += node.inside
        node.inside = []
