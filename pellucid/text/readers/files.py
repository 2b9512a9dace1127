"""Text files, plain or compressed, as numbered lines. Errors name the file and the line."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from pellucid.errors import Problem, UserError, nearest

COMPRESSED = (".gz", ".xz")
GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"  # how such files begin
LONGEST_LINE = 1 << 24  # bytes: no line of text is longer, and a file without line ends must not fill the memory


def plain_name(path: Path) -> Path:
    """The path without the ending of a compression: train.en.gz -> train.en."""
    return path.with_suffix("") if path.suffix in COMPRESSED else path


def problems(paths: Iterable[Path]) -> list[Problem]:
    """What keeps these files from being read, all of them at once, before any is."""
    return [problem for path in dict.fromkeys(paths) if (problem := _problem(path))]


def _problem(path: Path) -> Problem | None:
    try:
        if path.is_dir():
            return Problem("is a directory", str(path), "give the files in it")
        if not path.exists():
            return Problem("no such file", str(path), _similar(path))
        if not path.is_file():
            return Problem("not a regular file", str(path), "pairs are read more than once: save them to a file first")
        path.open("rb").close()
    except OSError as error:
        return Problem(f"cannot be read: {error.strerror}", str(path), "check its permissions")
    return None


def _similar(path: Path) -> str:
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    remedy = nearest(path.name, siblings)
    return remedy if remedy.startswith("did you mean") else "check the name"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed according to its content: its name may be wrong after a download."""
    try:
        with path.open("rb") as raw:
            head = raw.peek(6)
            gzipped = head.startswith(GZIP) or head == GZIP[:1]  # a file cut after its first byte is still no text
            reader: Any = gzip.open if gzipped else lzma.open if head.startswith(XZ) else nullcontext
            with reader(raw) as file:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        what = f"the compressed data is cut short or damaged ({error})"
        raise UserError(what, str(path), "fetch or compress the file again") from error
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", str(path), "check the file") from error


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line's place (`file:12`) and text.

    A line ends at "\\n" and nowhere else: U+2028, U+0085, a form feed or a lone "\\r" inside a line are part of its
    text, so that aligned files stay aligned. A byte order mark at the start is removed. An empty file is an error.
    """
    number = 0
    with opened(path) as file:
        while raw := file.readline(LONGEST_LINE):
            number += 1
            place = f"{path}:{number}"
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
                if b"\r" in raw.strip() and not raw.endswith(b"\n"):
                    raise UserError("lines end in CR alone", place, "convert the line ends to LF or CRLF")
            if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                remedy = "put one sentence or text on each line"
                raise UserError(f"a line of more than {LONGEST_LINE:,} bytes", place, remedy)
            yield place, _decoded(raw, place)
    if number == 0:
        raise UserError("the file is empty", str(path), "leave it out or give the right one")


def _decoded(raw: bytes, place: str) -> str:
    if b"\0" in raw or raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError("a NUL byte, or UTF-16", place, "save the file as plain text in UTF-8")
    try:
        return raw.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        what = f"invalid UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1} of the line"
        raise UserError(what, place, "convert the file to UTF-8") from error
