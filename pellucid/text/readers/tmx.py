"""TMX, the exchange format of translation memories, read as a stream: memory use does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from pellucid.errors import UserError
from pellucid.text.languages import Direction, primary_languages, same_language
from pellucid.text.pair import Pair
from pellucid.text.readers.files import opened

READ_BYTES = 1 << 16
# Bounds, so that no file can fill the memory, whatever it was compressed to.
MOST_CHARACTERS = 1_000_000  # of one text
MOST_TEXTS = 200  # of one unit, in all its languages; each of one side is paired with each of the other
MOST_LANGUAGES = 1_000
MOST_BYTES = 1 << 20  # of one tag
MOST_NESTED = 1_000  # elements
# Elements of a <seg> that hold codes of the original document, not words. <hi> holds words and is kept.
CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})


@dataclass
class Unit:
    """A <tu>: the same text in several languages, some perhaps more than once."""

    line: int
    texts: list[tuple[str, str]] = field(default_factory=list)


def tmx(path: Path, asked: Direction | None = None) -> Iterator[Pair]:
    """The pairs of a translation memory, plain or compressed, UTF-8 or UTF-16.

    Languages that are not asked for are the only two of the file, the header's `srclang` first. "en" takes "en-US". A
    unit that lacks a language gives a pair with an empty side; one that has several variants of a side gives a pair
    for each. Codes inside a text (<bpt>, <ept>, <it>, <ph>, <ut>) are left out, the words around them kept.
    """
    source, target = languages = _choose(path, asked)
    for unit in _Reader(path).units():
        sides = [[text for found, text in unit.texts if same_language(side, found)] for side in (source, target)]
        for pair in product(sides[0] or [""], sides[1] or [""]):
            yield Pair(*pair, *languages, f"{path}:{unit.line}")


def _choose(path: Path, asked: Direction | None) -> Direction:
    """The two languages to read, known before the first pair is: a third one may wait at the end of the file."""
    survey = _Reader(path)
    for _ in survey.units():
        pass
    found = list(survey.languages)
    listed = ", ".join(found) or "none"
    if asked:
        missing = [side for side in asked if not any(same_language(side, name) for name in found)]
        if missing:
            raise UserError(f"no text in {' or '.join(missing)}", str(path), f"its languages: {listed}")
        return asked
    primary = primary_languages(found)
    names = primary if len(primary) > 1 else found  # pt-BR and pt-PT differ only by region
    if len(names) != 2:
        raise UserError(f"two languages are needed; found: {listed}", str(path), "give --from and --to")
    if same_language(names[1], survey.source_language):
        names.reverse()
    return names[0], names[1]


class _Reader:
    """One pass over a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.languages: dict[str, None] = {}  # in the order they come
        self.source_language = ""
        self._done: list[Unit] = []
        self._unit: Unit | None = None
        self._language = ""
        self._text: list[str] | None = None  # of the open <seg>
        self._characters_read = 0  # in it
        self._depth = 0  # open elements
        self._codes = 0  # open elements of CODES
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_entity

    def units(self) -> Iterator[Unit]:
        read = 0
        with opened(self.path) as file:
            while chunk := file.read(READ_BYTES):
                yield from self._parsed(chunk, last=False)
                read += len(chunk)
                if read - self._parser.CurrentByteIndex > MOST_BYTES:
                    self._refuse(f"a tag of more than {MOST_BYTES:,} bytes")
        if not read:
            raise UserError("the file is empty", str(self.path), "leave it out or give the right one")
        yield from self._parsed(b"", last=True)

    def _parsed(self, chunk: bytes, last: bool) -> list[Unit]:
        try:
            self._parser.Parse(chunk, last)
        except expat.ExpatError as error:
            place = f"{self.path}:{error.lineno}"
            raise UserError(f"invalid XML: {expat.ErrorString(error.code)}", place, "check the file") from error
        except (ValueError, LookupError) as error:  # of several bytes a character, or unknown
            remedy = "convert it to UTF-8 with iconv, and declare that in its first line"
            raise UserError(f"its encoding is not read: {error}", str(self.path), remedy) from None
        done, self._done = self._done, []
        return done

    @property
    def _place(self) -> str:
        return f"{self.path}:{self._parser.CurrentLineNumber}"

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._refuse(f"elements nested more than {MOST_NESTED:,} deep")
        if name in CODES:
            self._codes += 1
        elif name == "tu":
            self._unit = Unit(self._parser.CurrentLineNumber)
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang", "")
            if not self._language:
                raise UserError("a <tuv> without xml:lang", self._place, "give each text its language")
            self.languages[self._language] = None
            if len(self.languages) > MOST_LANGUAGES:
                self._refuse(f"more than {MOST_LANGUAGES:,} languages")
        elif name == "seg":
            self._text, self._characters_read = [], 0
            if self._unit and len(self._unit.texts) >= MOST_TEXTS:
                self._refuse(f"a unit of more than {MOST_TEXTS:,} texts")
        elif name == "header":
            self.source_language = attributes.get("srclang", "")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name in CODES:
            self._codes -= 1
        elif name == "seg" and self._unit and self._text is not None:
            self._unit.texts.append((self._language, "".join(self._text).strip()))
            self._text = None
        elif name == "tu" and self._unit:
            self._done.append(self._unit)
            self._unit = None

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._text.append(text)
            self._characters_read += len(text)
            if self._characters_read > MOST_CHARACTERS:
                self._refuse(f"a text of more than {MOST_CHARACTERS:,} characters")

    def _refuse(self, what: str) -> NoReturn:
        raise UserError(what, self._place, "no translation memory needs that: check the file")

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        """An entity of its own can blow a small file up to gigabytes; one that is never declared would lose text."""
        raise UserError(f"the entity {name!r} is not read", self._place, "write the characters themselves")
