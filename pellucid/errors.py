"""Errors a person can act on: what is wrong, where, and what to do. All problems of a request come in one error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `what`, `where` it was found (a field, file:line) and the `remedy`."""

    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line} ({self.remedy})" if self.remedy else line


class UserError(Exception):
    """The request cannot be met as it stands. The command line prints it without a stack trace and exits with 2."""

    def __init__(self, what: str | Problem | Iterable[Problem], where: str = "", remedy: str = "") -> None:
        if isinstance(what, str):
            what = Problem(what, where, remedy)
        self.problems: list[Problem] = [what] if isinstance(what, Problem) else list(what)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: 1 file, 2,000 files."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def nearest(name: str, names: Iterable[str]) -> str:
    """The remedy for an unknown name: the nearest right one if there is one, else all of them, as far as one reads."""
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    rest = f", and {len(names) - 40} more" if len(names) > 40 else ""
    return f"known: {', '.join(names[:40])}{rest}"
