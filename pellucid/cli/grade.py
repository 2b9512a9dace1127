"""`pellucid grade`: the sheets of a class against one key."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.options import AsJson
from pellucid.cli.standard_io import write_file


def grade(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="folder with one TOML sheet per student")],
    key: Annotated[str, typer.Option("--key", metavar="SHEET", help="sheet with the inputs and steps that were set")],
    as_csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="write the table as CSV")] = None,
    pages: Annotated[Path | None, typer.Option("--pages", metavar="FOLDER", help="write one page per student")] = None,
    hide_answers: Annotated[bool, typer.Option("--hide-answers", help="pages with hints instead of answers")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the sheets of a class against a key, and print a table: scores, mistakes and their likely causes. Only what
    a student states is read; inputs and expressions are those of the key. Exit code 1: a sheet cannot be read.
    """
    from pellucid.worked import read
    from pellucid.worked.classroom.grade import grade as grade_class
    from pellucid.worked.classroom.hints import without_answers
    from pellucid.worked.page import page

    graded = grade_class(folder, read(key), [Path(key), *filter(None, (as_csv, pages))])
    rows = [each.row() for each in graded]
    if as_csv is not None:
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
        write_file(as_csv, text.getvalue())
    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        for each in graded:
            if each.checked is not None:
                checked = without_answers(each.checked, 2) if hide_answers else each.checked
                write_file(pages / f"{each.student}.html", page([checked], each.student))
    if as_json:
        typer.echo(json.dumps({"students": rows}, indent=2))
    else:
        from rich.console import Console

        from pellucid.terminal.worked import print_grades

        print_grades(rows, Console())
    if any(each.checked is None for each in graded):
        raise typer.Exit(1)


def _safe(value: object) -> object:
    """A spreadsheet takes a text that begins like this for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
