"""Standard input and output, and files named by options. Any of them may be closed, or lie on a full disk."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from pellucid.errors import UserError

SIGNATURES = {
    b"PK\x03\x04": "a zip archive, as .docx, .xlsx, .odt and .epub files are",
    b"%PDF-": "a PDF",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an older Office document",
    b"\x1f\x8b": "compressed by gzip",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"(\xb5/\xfd": "compressed by zstd",
    **{b"BZh%d1AY&SY" % level: "compressed by bzip2" for level in range(1, 10)},
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
"""How files that are not text begin, and what they are."""
NULS = 0.01  # of the bytes: more are in no text
READ_BYTES = 1 << 18  # bytes read at a time: sentences for full batches, in constant memory for a file of any size


@contextmanager
def printing() -> Iterator[None]:
    """Around a verb: it exits with 0 when the reader of its output is gone, and reports a full disk."""
    if sys.stdout is None:
        raise UserError("is closed", "standard output", "leave it open, or redirect it to a file")
    try:
        yield
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        _discard_output()
        raise typer.Exit() from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _discard_output()
        raise UserError(f"cannot write: {error.strerror}", "", "make room, or write elsewhere") from None


def _discard_output() -> None:
    """Output that is still in the buffer would fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("is closed", "standard input", "give a text, or a file: < in.txt")
    return sys.stdin.buffer


def check_text(beginning: bytes, where: str) -> None:
    """Raise an error if a file that begins so is not text: whatever came of its bytes would look like a translation."""
    kind = next((kind for signature, kind in SIGNATURES.items() if beginning.startswith(signature)), "")
    if not kind and not beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        kind = "not text: it has zero bytes" if beginning.count(b"\0") > 1 + NULS * len(beginning) else ""
    if kind:
        raise UserError(f"is {kind}", where, "save the text alone, one sentence or paragraph a line, and give that")


def read_lines(stream: BinaryIO) -> Iterator[tuple[list[str], int]]:
    """Lines as they arrive, several at a time, and the number of bytes read. Line-wise input is read line by line."""
    rest, count = b"", 0
    invalid: list[int] = []  # numbers of the lines that are not UTF-8

    def decoded(line: bytes) -> str:
        nonlocal count
        count += 1
        if count == 1:
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise UserError("is UTF-16", "standard input", "save the file as UTF-8, or: iconv -f utf-16 -t utf-8")
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            return line.decode()
        except UnicodeDecodeError:
            invalid.append(count)
            return line.decode(errors="replace")

    read = getattr(stream, "read1", stream.read)
    while data := read(READ_BYTES):
        if not count and not rest:
            check_text(data, "standard input")
        *whole, rest = (rest + data).split(b"\n")
        if whole:
            yield list(map(decoded, whole)), len(data)
    if rest:
        yield [decoded(rest)], len(rest)
    if invalid:
        more = f" and {len(invalid) - 1} more are" if len(invalid) > 1 else " is"
        what = f"line {invalid[0]}{more} not UTF-8: invalid bytes were replaced by U+FFFD"
        print(f"pellucid: {what} (for Latin-1: iconv -f latin1 -t utf-8)", file=sys.stderr)


@contextmanager
def progress(stream: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, and the function that moves it by a number of bytes. There is no bar where
    standard error is not a terminal, nor where the text itself comes from or goes to one."""
    if stream.isatty() or sys.stdout.isatty() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    status = os.fstat(stream.fileno())
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("translating", total=status.st_size if stat.S_ISREG(status.st_mode) else None)
        yield lambda size: bar.update(task, advance=size)


@contextmanager
def lab_progress(name: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error, where that is a terminal, and the function that sets the share that is done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def write(text: str) -> None:
    """Write to standard output and flush: a reader of the pipe receives the text at once."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def one_line(text: str) -> str:
    """A text without line ends."""
    return " ".join(text.splitlines())


def write_file(path: Path, text: str) -> None:
    """Write a file that an option names, and report it."""
    with _writing(path):
        path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {path}", err=True)


def check_writable(path: Path) -> None:
    """Report a file that cannot be written before the work whose result it takes."""
    with _writing(path):
        path.open("ab").close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise UserError(what, str(path), "name a file in a folder that exists") from None
