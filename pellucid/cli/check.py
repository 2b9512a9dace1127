"""`pellucid check`: recompute worked examples and say which of their numbers are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.streams import write_file
from pellucid.errors import Problem, UserError, nearest


def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="TOML files, W1 to W15, or - for the standard input.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Check the worked examples that come with Pellucid.")] = False,
    new: Annotated[
        str | None,
        typer.Option(
            "--new",
            metavar="KIND",
            help="Print a file to start your own working from: attention, masked, positions, layer-norm, "
            "feed-forward, softmax or greedy.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the working as a page.")] = None,
) -> None:
    """Recompute every step of worked examples and tell wrong numbers from carried ones. Exit 1 if anything is wrong."""
    from pellucid.worked import check as recompute
    from pellucid.worked import read, shipped

    if new is not None:
        if files or every or as_json or html:
            raise UserError("stands alone", "--new", "check the file once it is written")
        typer.echo(_template(new), nl=False)
        return
    if not files and not every:
        raise UserError(
            "there is nothing to check", "", "give a file, --all, or --new softmax for a file to start from"
        )
    if files and every:
        raise UserError("stands alone", "--all", "leave out the files, or --all")
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


def _template(kind: str) -> str:
    from pellucid.worked import templates

    known = templates()
    if kind not in known:
        raise UserError(f"unknown kind {kind!r}", "--new", nearest(kind, known))
    return known[kind].read_text(encoding="utf-8")
