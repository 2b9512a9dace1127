"""The standard input and output as they may be: closed, left by their reader, or a file on a full disk."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import typer

from pellucid.errors import UserError


@contextmanager
def printing() -> Iterator[None]:
    """Around a verb: it ends quietly when the reader of its output has seen enough, and says why it cannot write."""
    if sys.stdout is None:
        raise UserError("is closed", "standard output", "leave it open, or send it to a file")
    try:
        yield
    except (BrokenPipeError, SystemExit):  # the second is rich's word for the first
        _drop_the_rest()
        raise typer.Exit() from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _drop_the_rest()
        raise UserError(f"cannot write: {error.strerror}", "", "make room, or write elsewhere") from None


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("is closed", "standard input", "give a text, or a file: < in.txt")
    return sys.stdin.buffer


def one_line(text: str) -> str:
    """A text that has a line of a file for itself."""
    return " ".join(text.splitlines())


def write_file(path: Path, text: str) -> None:
    """Write a file that an option names, and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", str(path), "name a file in a folder there is") from None
    typer.echo(f"wrote {path}", err=True)


def _drop_the_rest() -> None:
    """What is still in the buffer would fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
