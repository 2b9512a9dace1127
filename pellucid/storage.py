"""Files and directories that are written whole or not at all, the cache, and locks.

Whatever is written appears under its name only when all of its bytes are on disk: it is written under a temporary name
in the same folder, flushed with fsync, and renamed. A fault leaves what was there before. So does a crash; only one in
the moment in which a directory takes the place of an older one may leave the older one as `.name.*/older`.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pellucid.errors import UserError

END_BYTES = 64 * 1024  # read at the beginning and the end of a file for its fingerprint
CACHE_REMEDY = "free some space there, or name another place in PELLUCID_CACHE"


class StorageError(UserError):
    """The disk is full, or the place is not writable."""


def write_file(path: Path, content: bytes | str, remedy: str = "free some space, or choose another place") -> None:
    """Write a file whole, in place of an older one."""
    draft = path.with_name(f".{path.name}.draft")  # one left by a crash is overwritten
    try:
        with draft.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StorageError(f"cannot be written: {error.strerror}", str(path), remedy) from error


@contextmanager
def new_directory(
    path: Path, keep: Callable[[Path, Path], bool] = lambda _existing, _draft: True, remedy: str = CACHE_REMEDY
) -> Iterator[Path]:
    """A draft directory to fill, which becomes `path` at the end of the block; after an error nothing is left of it.

    If there is a directory at `path` by then, `keep(existing, draft)` decides which of the two stays. By default it is
    the existing one: another process was faster and may be reading it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory("", f".{path.name}.", path.parent, ignore_cleanup_errors=True) as temporary:
            draft = Path(temporary) / "draft"  # made with the user's permissions; `temporary` is for its owner alone
            draft.mkdir()
            yield draft
            for written in [*draft.rglob("*"), draft]:
                sync(written)
            _move(draft, path, keep)
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror or error}", str(path), remedy) from error


def _move(draft: Path, path: Path, keep: Callable[[Path, Path], bool]) -> None:
    """Rename the draft to `path`. An older directory is moved aside before, because half of one must not be found under
    its name. It is deleted with the temporary directory, and moved back if the draft cannot take its place."""
    older = draft.with_name("older")
    while True:
        try:
            draft.rename(path)
            return sync(path.parent)
        except BaseException as error:  # also Ctrl-C
            if not (isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)):
                if older.exists():
                    older.rename(path)
                raise
        if keep(path, draft):
            return None
        shutil.rmtree(older, ignore_errors=True)
        with suppress(FileNotFoundError):  # another process was faster
            path.rename(older)


def sync(path: Path) -> None:
    """Flush a file or a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def lock(path: Path, busy: UserError, remedy: str = "ask its owner") -> Iterator[None]:
    """Hold the lock file `path`; raises `busy` if another process does. The system frees it if the process dies."""
    try:
        opened = path.open("w")
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", str(path.parent), remedy) from None
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        yield


def cache_directory() -> Path:
    """$PELLUCID_CACHE, else $XDG_CACHE_HOME/pellucid, else ~/.cache/pellucid. It may not exist yet."""
    if own := os.environ.get("PELLUCID_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "pellucid"
    return Path.home() / ".cache" / "pellucid"


def fingerprint(paths: Iterable[Path], settings: Mapping[str, Any]) -> str:
    """The cache key of what is made from these files with these settings (anything that JSON can hold).

    A file is identified by its path, size, modification time and both ends: reading it whole would take as long as the
    work that the cache saves.
    """
    facts = {"files": [_file_facts(path) for path in paths], "settings": settings}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _file_facts(path: Path) -> list[str | int]:
    status = path.stat()
    with path.open("rb") as file:
        ends = hashlib.sha256(file.read(END_BYTES))
        file.seek(max(0, status.st_size - END_BYTES))
        ends.update(file.read(END_BYTES))
    return [str(path.resolve()), status.st_size, status.st_mtime_ns, ends.hexdigest()]


def content_hash(paths: Iterable[Path]) -> str:
    """A hash of the whole content of files, whatever their names."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
