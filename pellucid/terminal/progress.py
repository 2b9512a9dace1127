"""A progress bar on standard error while a file is read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def progress(stream: BinaryIO) -> Iterator[Callable[[int], None]]:
    """A function that moves the bar by a number of bytes. There is no bar where standard error is not a terminal, nor
    where the text itself comes from or goes to one."""
    if stream.isatty() or sys.stdout.isatty() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    status = os.fstat(stream.fileno())
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("translating", total=status.st_size if stat.S_ISREG(status.st_mode) else None)
        yield lambda size: bar.update(task, advance=size)
