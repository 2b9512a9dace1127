"""`pellucid check`: recompute worked examples and find the wrong numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.options import AsJson
from pellucid.cli.standard_io import write_file
from pellucid.errors import Problem, UserError, nearest


def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="TOML files, W1 to W15, or - for the standard input")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="check the worked examples that come with Pellucid")] = False,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="KIND",
            help="print a file to start a worked example of your own from: attention, masked, positions, layer-norm, "
            "feed-forward, softmax or greedy",
        ),
    ] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write the result as a page")] = None,
) -> None:
    """Recompute every step of worked examples. A number is right, rounded, carried (it follows from an earlier mistake)
    or wrong. Exit code 1: a number is wrong.
    """
    from pellucid.worked import check as recompute
    from pellucid.worked import read, shipped, templates

    if new is not None:
        if files or every or as_json or html:
            raise UserError("cannot be combined with others", "--new", "write the file first, then check it")
        known = templates()
        if new not in known:
            raise UserError(f"unknown kind {new!r}", "--new", nearest(new, known))
        typer.echo(known[new].read_text(encoding="utf-8"), nl=False)
        return
    if bool(files) == every:
        what = "files and --all are given" if every else "nothing to check"
        raise UserError(what, "", "give files, or --all; --new softmax prints a file to start from")
    checked = []
    problems: list[Problem] = []
    for name in files or map(str, shipped()):
        try:
            checked.append(recompute(read(name)))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)

    if html is not None:
        from pellucid.worked.page import page

        write_file(html, page(checked))
    if as_json:
        typer.echo(json.dumps({"examples": [example.to_dict() for example in checked]}, indent=2))
    else:
        from rich.console import Console

        from pellucid.terminal.worked import print_examples

        print_examples(checked, Console())
    if any(example.wrong for example in checked):
        raise typer.Exit(1)
