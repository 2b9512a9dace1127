"""Files in, pairs out: every pair in the files is either used or left out for a reason that the report counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pellucid.config import FilterConfig
from pellucid.errors import Problem, UserError
from pellucid.text.languages import Direction
from pellucid.text.pair import Pair
from pellucid.text.readers import files
from pellucid.text.readers.formats import aligned, jsonl, tsv
from pellucid.text.readers.pair_filter import PairFilter, Report
from pellucid.text.readers.tmx import tmx

__all__ = ["Aligned", "Pair", "Pairs", "Report"]

FORMATS = {".tsv": tsv, ".jsonl": jsonl, ".tmx": tmx}


class Aligned(NamedTuple):
    """Two files: line n of one is the translation of line n of the other."""

    source: Path
    target: Path


class Pairs:
    """The pairs of some files, in order. Each iteration reads the files anew and gives the same pairs.

    `inputs` are TSV, JSONL or TMX files and `Aligned` ones, each plain or compressed (.gz, .xz). `languages` (source,
    target) are the ones to read from files that name theirs, and the names of the sides of files that do not. That all
    files are there is checked at once.
    """

    def __init__(
        self, inputs: Sequence[Path | Aligned], languages: Direction | None = None, rules: FilterConfig | None = None
    ) -> None:
        self.inputs = [given if isinstance(given, Aligned) else Path(given) for given in inputs]
        self.languages = languages
        self.rules = rules or FilterConfig()
        problems = files.problems(self.paths)
        problems += [problem for given in self.inputs if (problem := _unknown_format(given))]
        if not self.inputs:
            problems.append(Problem("no files of pairs", remedy="give two aligned files, or TSV, JSONL or TMX files"))
        if problems:
            raise UserError(problems)

    @property
    def paths(self) -> list[Path]:
        """Every file that is read."""
        return [Path(path) for given in self.inputs for path in (given if isinstance(given, Aligned) else (given,))]

    def __iter__(self) -> Iterator[Pair]:
        return self.read(Report())

    def read(self, report: Report) -> Iterator[Pair]:
        """The pairs that pass the rules; the report counts all of them as they come."""
        pair_filter = PairFilter(self.rules)
        for given in self.inputs:
            for pair in self._unfiltered(given):
                reason = pair_filter.reason(pair)
                report.count(pair, reason)
                if reason is None:
                    yield pair
        if not report.used:
            raise UserError(f"no pair is left to use\n{report}", remedy="each of these rules can be changed")

    def _unfiltered(self, given: Path | Aligned) -> Iterator[Pair]:
        if isinstance(given, Aligned):
            return aligned(Path(given.source), Path(given.target), self.languages)
        return FORMATS[_ending(given)](given, self.languages)


def _ending(path: Path) -> str:
    return files.plain_name(path).suffix.lower()


def _unknown_format(given: Path | Aligned) -> Problem | None:
    if isinstance(given, Aligned) or _ending(given) in FORMATS:
        return None
    remedy = f"known: {', '.join(FORMATS)}, each also with .gz or .xz; two aligned files are given as source and target"
    return Problem(f"unknown format {_ending(given) or 'without an ending'}", str(given), remedy)
