"""Checksums of the files of a directory, in the form of `sha256sum`: a flipped bit is noticed before it is used.

A directory that has no `SHA256SUMS` is not checked: it was written by an older version, or by another program. The
card may be edited, so it has no line. `sha256sum -c SHA256SUMS` checks all files without this project.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path

from pellucid.errors import Problem, UserError

FILE, CARD = "SHA256SUMS", "README.md"
UNLISTED = {FILE, CARD}


def update_checksums(directory: Path, *names: str) -> None:
    """The lines of these files, which were written anew, where the directory has checksums."""
    known = _read(directory / FILE)
    if known is not None:
        known |= {name: _digest(directory / name) for name in names}
        _write(directory, known)


def write_checksums(directory: Path) -> None:
    """One line for each file of the directory itself, its card and its folders left out."""
    _write(directory, {name: _digest(directory / name) for name in _files(directory, "*")})


def _write(directory: Path, checksums: Mapping[str, str]) -> None:
    lines = [f"{digest}  {name}\n" for name, digest in sorted(checksums.items())]
    (directory / FILE).write_text("".join(lines), encoding="utf-8")


class Checksums:
    """The checksums of a directory; nothing is checked if it has none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known = _read(directory / FILE)

    def verify(self, *names: str) -> None:
        """Raise an error for each of these files that is not what its checksum says. `names` may hold a `*`."""
        if self._known is None:
            return
        found = {file for name in names for file in _files(self._directory, name)}
        listed = {known for name in names for known in self._known if Path(known).match(name)}
        remedy = f"copy the model again, whole; if you changed the file yourself, delete {self._directory / FILE}"
        problems = []
        for path in sorted(self._directory / name for name in found | listed):
            if path.name not in found:
                problems.append(Problem("missing", str(path), remedy))
            elif path.name not in self._known:
                problems.append(Problem(f"is not in {FILE}", str(path), remedy))
            elif _digest(path) != self._known[path.name]:
                problems.append(Problem(f"is damaged: its content is not that of {FILE}", str(path), remedy))
        if problems:
            raise UserError(problems)


def intact(directory: Path) -> bool:
    """Whether all files of a directory are there and as its checksums say; not without checksums."""
    try:
        Checksums(directory).verify("*")
    except UserError:
        return False
    return (directory / FILE).exists()


def _files(directory: Path, pattern: str) -> list[str]:
    return [path.name for path in directory.glob(pattern) if path.is_file() and path.name not in UNLISTED]


def _read(path: Path) -> dict[str, str] | None:
    """Name -> checksum; None without the file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be used: {error}", str(path), "copy the model again, whole") from None


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", str(path), "copy the model again, whole") from None
