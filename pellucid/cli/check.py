"""`pellucid check`: recompute worked examples and find the wrong numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.options import AsJson
from pellucid.cli.standard_io import write_file
from pellucid.errors import Problem, UserError, nearest

if TYPE_CHECKING:
    from pellucid.worked import CheckedExample


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="TOML files, W1 to W15, or - for the standard input; or Python files of your own"
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="check the worked examples that come with Pellucid")] = False,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="KIND",
            help="print a file to start a worked example of your own from: attention, masked, softmax, …; a wrong name "
            "lists them",
        ),
    ] = None,
    hide_answers: Annotated[
        bool,
        typer.Option(
            "--hide-answers", help="verdicts and hints, but no value that is not stated; with --new: nothing filled in"
        ),
    ] = False,
    hints: Annotated[
        int, typer.Option("--hints", min=0, max=2, help="with --hide-answers: 1 where to look, 2 also the likely cause")
    ] = 1,
    claims: Annotated[
        bool, typer.Option("--claims", help="print the claims of the study notes: verdicts, and what shows them")
    ] = False,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write the result as a page")] = None,
) -> None:
    """Recompute every step of worked examples. A number is right, rounded, carried (it follows from an earlier mistake)
    or wrong; "?" is open. Exit code 1: a number is wrong or open.
    """
    if files and any(name.endswith(".py") for name in files):
        if every or new or html or not all(name.endswith(".py") for name in files):
            raise UserError(
                "Python files are checked by themselves", "", "leave out other files, --all, --new and --html"
            )
        _check_code(files, as_json)
        return
    from pellucid.worked import shipped

    if new is not None:
        if files or every or as_json or html or claims:
            raise UserError("cannot be combined with others", "--new", "write the file first, then check it")
        _print_new(new, hide_answers)
        return
    if claims:
        _print_claims(as_json)
        return
    if bool(files) == every:
        what = "files and --all are given" if every else "nothing to check"
        raise UserError(what, "", "give files, or --all; --new softmax prints a file to start from")
    checked = _recomputed(files or map(str, shipped()))
    finished = not any(example.wrong or example.open for example in checked)
    if hide_answers:
        from pellucid.worked.classroom.hints import without_answers

        checked = [without_answers(example, hints) for example in checked]
    if html is not None:
        from pellucid.worked.page import page

        write_file(html, page(checked))
    if as_json:
        typer.echo(json.dumps({"examples": [example.to_dict() for example in checked]}, indent=2))
    else:
        from rich.console import Console

        from pellucid.terminal.worked import print_examples

        print_examples(checked, Console())
    if not finished:
        raise typer.Exit(1)


def _print_new(kind: str, hide_answers: bool) -> None:
    from pellucid.worked import read, templates
    from pellucid.worked.classroom.hints import empty

    known = templates()
    if kind not in known:
        raise UserError(f"unknown kind {kind!r}", "--new", nearest(kind, known))
    typer.echo(empty(read(str(known[kind]))) if hide_answers else known[kind].read_text(encoding="utf-8"), nl=False)


def _recomputed(names: Iterable[str]) -> list[CheckedExample]:
    """The examples of these names, recomputed; all that cannot be read is reported at once."""
    from pellucid.worked import check, read

    checked = []
    problems: list[Problem] = []
    for name in names:
        try:
            checked.append(check(read(name)))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return checked


def _check_code(files: list[str], as_json: bool) -> None:
    """Checks Python files: their softmax, attention and so on. Exit code 1: a property fails."""
    from pellucid.worked.code import check_code

    checked = [check_code(name) for name in files]
    if as_json:
        typer.echo(json.dumps({"files": [code.to_dict() for code in checked]}, indent=2))
    else:
        from rich.console import Console

        from pellucid.terminal.code import print_code

        for code in checked:
            print_code(code, Console())
    if not all(code.right for code in checked):
        raise typer.Exit(1)


def _print_claims(as_json: bool) -> None:
    from dataclasses import asdict

    from pellucid.worked.notes import claims as all_claims

    if as_json:
        typer.echo(json.dumps({"claims": [asdict(claim) for claim in all_claims()]}, indent=2))
        return
    from rich.console import Console

    from pellucid.terminal.worked import print_claims

    print_claims(all_claims(), Console())
