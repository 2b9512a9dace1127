"""The command line: each verb parses, calls one function, prints. Exit 0: done; 1: the answer is no; 2: bad request."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import Annotated

import typer

from pellucid.cli.streams import printing
from pellucid.errors import Problem, UserError

EXTRAS = {"torch": "train", "babel": "train", "matplotlib": "plot"}  # what the light package leaves out
VERBS = ("train", "translate", "evaluate", "score", "explain", "verify", "serve", "describe", "check", "models")


def application(verbs: tuple[str, ...]) -> typer.Typer:
    """The command with some of its verbs: a module is imported for each, so one that is not needed is left out."""
    app = typer.Typer(
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def pellucid(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    ) -> None:
        """The Transformer, clear all the way through: train, translate, and see every number inside."""
        if version:
            from importlib.metadata import version as installed

            typer.echo(f"pellucid {installed('pellucid')}")
        elif context.invoked_subcommand is None:
            typer.echo(context.get_help())
            raise typer.Exit(2)

    for verb in verbs:
        app.command(verb)(printing()(getattr(import_module(f"pellucid.cli.{verb}"), verb)))
    return app


def _spelled(problem: Problem, verbs: tuple[str, ...]) -> Problem:
    """The problem with the setting it is found in spelled as the option that sets it."""
    options = {
        name for verb in verbs for name in signature(getattr(import_module(f"pellucid.cli.{verb}"), verb)).parameters
    }
    if verbs != ("train",):
        options -= {"source", "target"}  # files; a translator that speaks of these means languages
    return replace(problem, where=f"--{problem.where.replace('_', '-')}") if problem.where in options else problem


def main() -> None:
    """Run the command of `sys.argv`."""
    asked = tuple(verb for verb in VERBS if sys.argv[1:2] == [verb])
    try:
        application(asked or VERBS)()
    except UserError as error:
        for problem in error.problems:
            print(f"pellucid: {_spelled(problem, asked)}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        print(f"pellucid: this needs {missing} (pip install 'pellucid[{EXTRAS[missing]}]')", file=sys.stderr)
        sys.exit(2)
