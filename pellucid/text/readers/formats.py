"""The line formats pairs come in, one function each: path(s) in, pairs out, in the order of the file.

Texts lose the white space around them and are otherwise as they came. What cannot be read stops with file and line:
skipping it in silence could shift one side against the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pellucid.errors import UserError, counted
from pellucid.text.languages import Direction, Languages, is_language, same_language, two_letter_codes
from pellucid.text.pair import Pair
from pellucid.text.readers.files import lines, plain_name

UNKNOWN: Languages = (None, None)


def aligned(source: Path, target: Path, asked: Direction | None = None) -> Iterator[Pair]:
    """Two files: line n of one is the translation of line n of the other.

    Languages that are not asked for are the files' endings, if both read as languages: train.en.gz, train.de.gz.
    """
    endings = _endings(source, target)
    languages = asked or endings
    if asked and endings != UNKNOWN and _same_direction(asked, endings[::-1]):
        raise UserError(f"the source is asked for in {asked[0]}", str(source), "swap the files or the languages")
    both = zip_longest(lines(source), lines(target))
    for done, (source_line, target_line) in enumerate(both):
        if source_line is None or target_line is None:
            longer = done + 1 + sum(1 for _ in both)
            counts = (done, longer) if source_line is None else (longer, done)
            what = f"{counts[0]:,} lines, but {target} has {counts[1]:,}"
            raise UserError(what, str(source), "aligned files have one line for each line of the other")
        yield Pair(source_line[1].strip(), target_line[1].strip(), *languages, source_line[0])


def _endings(source: Path, target: Path) -> Languages:
    endings = plain_name(source).suffix[1:], plain_name(target).suffix[1:]
    return endings if endings[0] != endings[1] and all(map(is_language, endings)) else UNKNOWN


def tsv(path: Path, asked: Direction | None = None) -> Iterator[Pair]:
    """Two columns with a tab between them; quotes are text.

    The first line may be a header: `source` and `target`, or two languages. Under such a header there may be more
    columns, and the sides are found by name: a file of en, de can be asked for as de, en. Any line with another
    number of columns is an error, except a blank one, which is a pair of empty sides.
    """
    columns, width = (0, 1), 2
    languages: Languages = asked or UNKNOWN
    for number, (place, line) in enumerate(lines(path)):
        cells = [cell.strip() for cell in line.split("\t")]
        header = _header(cells, asked, place) if number == 0 else None
        if header:
            columns, width = header, len(cells)
            named = cells[columns[0]], cells[columns[1]]
            languages = asked or (named if all(map(is_language, named)) else UNKNOWN)
            continue
        if len(cells) == 1 and not cells[0]:
            cells = [""] * width
        if len(cells) != width:
            remedy = "keep two columns, or name them in a header: source and target, or two languages"
            raise UserError(f"{counted(len(cells), 'column')}, not {width}", place, remedy)
        yield Pair(cells[columns[0]], cells[columns[1]], *languages, place)


def _header(cells: list[str], asked: Direction | None, place: str) -> tuple[int, int] | None:
    """Which columns hold source and target, if the first line is a header."""
    names = [cell.lower() for cell in cells]
    if "source" in names and "target" in names:
        return names.index("source"), names.index("target")
    if asked and all(any(same_language(side, name) for name in names) for side in asked):
        source, target = (next(i for i, name in enumerate(names) if same_language(side, name)) for side in asked)
        return source, target
    # Only codes of two letters: "the", "der" in the first line would be words.
    two_codes = len(set(cells)) == len(cells) == 2 and two_letter_codes().issuperset(cells)
    if two_codes and asked and any(same_language(side, name) for side in asked for name in names):
        remedy = "ask for these languages, or name the columns source and target"
        raise UserError(f"the columns are {' and '.join(cells)}, not {' and '.join(asked)}", place, remedy)
    return (0, 1) if two_codes and not asked else None


def jsonl(path: Path, asked: Direction | None = None) -> Iterator[Pair]:
    """One JSON object per line, in any of these shapes:

        {"source": "Hello.", "target": "Hallo."}
        {"source": "Hello.", "target": "Hallo.", "source_language": "en", "target_language": "de"}
        {"en": "Hello.", "de": "Hallo."}
        {"translation": {"en": "Hello.", "de": "Hallo."}}

    Other keys are left alone. Named sides are found by the languages asked for, else by the only two there are, in
    the order of the first such line. A side that a line lacks is empty, as is null.
    """
    order: Direction | None = None
    for place, line in lines(path):
        record = _record(line, place) if line.strip() else {"source": "", "target": ""}
        if "source" in record and "target" in record:
            yield _unnamed(record, asked, place)
        else:
            codes = [name for name in record if is_language(name) and name[:2].islower()]  # ID and Key are none
            sides = {name: record[name] for name in codes if _is_side(record[name])}
            order = asked or order or _only_two(sides, place)
            texts = (next((sides[name] for name in sides if same_language(side, name)), None) for side in order)
            source, target = (_text(text, place) for text in texts)
            yield Pair(source, target, *order, place)


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"invalid JSON: {error}", place, "write one JSON object per line") from error
    if isinstance(record, dict) and isinstance(record.get("translation"), dict):
        record = record["translation"]
    if not isinstance(record, dict):
        raise UserError("not a JSON object", place, 'for instance {"source": "Hello.", "target": "Hallo."}')
    return record


def _unnamed(record: dict[str, Any], asked: Direction | None, place: str) -> Pair:
    source, target = (_text(record[side], place) for side in ("source", "target"))
    named: Languages = record.get("source_language"), record.get("target_language")
    if not all(isinstance(name, str) and name for name in named):
        named = asked or UNKNOWN
    if asked is None:
        return Pair(source, target, *named, place)
    if _same_direction(asked, named):
        return Pair(source, target, *asked, place)
    if _same_direction(asked, (named[1], named[0])):
        return Pair(target, source, *asked, place)
    raise UserError(f"languages {named[0]} and {named[1]}, not {asked[0]} and {asked[1]}", place, "ask for these two")


def _same_direction(asked: Direction, found: Any) -> bool:
    return same_language(asked[0], found[0]) and same_language(asked[1], found[1])


def _is_side(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _only_two(sides: dict[str, Any], place: str) -> Direction:
    if len(sides) != 2:
        remedy = "give --from and --to, or name the texts source and target"
        raise UserError(f"two languages are needed; found: {', '.join(sides) or 'none'}", place, remedy)
    first, second = sides
    return first, second


def _text(value: Any, place: str) -> str:
    if not _is_side(value):
        raise UserError(f"{value!r} is not text", place, "give a string")
    text = value or ""
    if "\0" in text:
        raise UserError("a NUL character", place, "remove it")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UserError("an unpaired surrogate, which is not a character", place, "write the character itself")
    return text.strip()
