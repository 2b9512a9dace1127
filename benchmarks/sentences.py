"""300 sentences written by hand for this project, and the verdicts of a reader on what a model makes of them.

`sentences.tsv` has them: id, kind, direction, source, references (separated by " | "). None is from a corpus.
`benchmarks.robustness --model X` writes what model X makes of them. A verdict is on one such output: id, output, and
whether it is acceptable (yes or no), collected in `sentences-verdicts.tsv`. It counts for every model that gives the
same output. An output that equals a reference needs no verdict.

    python -m benchmarks.sentences OUTPUTS.tsv

prints the outputs without a verdict, then, on the error stream, the share of acceptable ones by kind. A judge reads the
printed lines, replaces the last column by yes or no and appends id, output and verdict to the file of verdicts.

Acceptable: a native speaker understands the same as from the source, with nothing left out, added or wrong that
matters, and would not be embarrassed to show it. Small slips of style or punctuation are acceptable.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import Problem, UserError, counted

SENTENCES = Path(__file__).with_name("sentences.tsv")
VERDICTS = Path(__file__).with_name("sentences-verdicts.tsv")
JUDGED = {"yes": True, "no": False}
Verdicts = Mapping[tuple[str, str], bool]
"""Of the id of a sentence and an output: whether it is acceptable."""


@dataclass(frozen=True)
class HandWritten:
    id: str
    kind: str
    direction: tuple[str, str]
    source: str
    references: tuple[str, ...]


def hand_written(path: Path = SENTENCES) -> list[HandWritten]:
    return [
        HandWritten(number, kind, _direction(direction), source, tuple(references.split(" | ")))
        for number, kind, direction, source, references in rows(path, 5)
    ]


def _direction(text: str) -> tuple[str, str]:
    source, _, target = text.partition("-")
    return source, target


def rows(path: Path, columns: int) -> list[list[str]]:
    """The lines of a table without its head. Quotes are text."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
    except FileNotFoundError:
        raise UserError("there is no such file", str(path), "benchmarks.robustness writes outputs") from None
    found = [line.split("\t") for line in lines]
    wrong = [number for number, row in enumerate(found, 2) if len(row) != columns]
    if wrong:
        raise UserError(
            Problem(f"not {counted(columns, 'column')}", f"{path}:{number}", "separate them by tabs")
            for number in wrong[:10]
        )
    return found


def write_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """What a model made of each sentence: id, output."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{number}\t{_one_line(output)}\n" for number, output in outputs.items()]
    path.write_text("id\toutput\n" + "".join(lines), encoding="utf-8")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_verdicts(path: Path = VERDICTS) -> dict[tuple[str, str], bool]:
    """All verdicts, or none if there is no file yet; every line that cannot be one is reported."""
    known = {sentence.id for sentence in hand_written()}
    verdicts: dict[tuple[str, str], bool] = {}
    problems = []
    for line, (number, output, word) in enumerate(rows(path, 3) if path.exists() else [], 2):
        where = f"{path.name}:{line}"
        if number not in known:
            problems.append(Problem(f"there is no sentence {number!r}", where, f"ids are those of {SENTENCES.name}"))
        if word not in JUDGED:
            problems.append(Problem(f"{word!r} is no verdict", where, "write yes or no"))
        elif verdicts.setdefault((number, output), JUDGED[word]) != JUDGED[word]:
            problems.append(Problem("contradicts an earlier verdict on the same output", where, "delete one of them"))
    if problems:
        raise UserError(problems)
    return verdicts


def acceptable(sentence: HandWritten, output: str, verdicts: Verdicts) -> bool | None:
    """None: there is no verdict on it yet."""
    return True if output in sentence.references else verdicts.get((sentence.id, _one_line(output)))


def by_kind(
    sentences: Sequence[HandWritten], outputs: Mapping[str, str], verdicts: Verdicts
) -> dict[str, list[bool | None]]:
    found: dict[str, list[bool | None]] = {}
    for sentence in sentences:
        if sentence.id in outputs:
            judged = acceptable(sentence, outputs[sentence.id], verdicts)
            found.setdefault(sentence.kind, []).append(judged)
    return found


def summary(kinds: Mapping[str, Sequence[bool | None]]) -> list[str]:
    """A line for each kind, and one for all."""
    every = [verdict for verdicts in kinds.values() for verdict in verdicts]
    return [
        f"{kind:<12} {verdicts.count(True):>3} of {len(verdicts)} acceptable, {verdicts.count(None)} without a verdict"
        for kind, verdicts in [*kinds.items(), ("all", every)]
    ]


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    try:
        outputs = dict(rows(Path(sys.argv[1]), 2))
        verdicts = read_verdicts()
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    sentences = hand_written()
    for sentence in sentences:
        output = outputs.get(sentence.id)
        if output is not None and acceptable(sentence, output, verdicts) is None:
            print(sentence.id, sentence.source, sentence.references[0], output, "?", sep="\t")
    kinds = by_kind(sentences, outputs, verdicts)
    print("\n".join(summary(kinds)), file=sys.stderr)
    return 1 if any(None in judged for judged in kinds.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
