"""The command line. Each verb parses its options, calls one function and prints the result.

Exit codes: 0: done; 1: the answer is no (a check failed); 2: the request was wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any

import typer

from pellucid.cli.standard_io import printing
from pellucid.errors import UserError

EXTRAS = {"torch": "train", "matplotlib": "plot"}  # modules that an extra installs
VERBS = (
    "train",
    "translate",
    "evaluate",
    "score",
    "explain",
    "verify",
    "serve",
    "describe",
    "check",
    "grade",
    "lab",
    "models",
)

TRACING = (("explain",), ("serve",))  # what is asked for when numbers are traced


def application(verbs: tuple[str, ...]) -> typer.Typer:
    """The command with some of its verbs. The module of each is imported, so that leaving out a verb saves time."""
    app = typer.Typer(
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain text: boxes leave help texts a third of 80 columns, and swallow [model]
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    @app.callback()
    def pellucid(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="print the version and exit")] = False,
    ) -> None:
        """The Transformer, clear all the way through: train, translate, and see every number inside."""
        if version:
            from importlib.metadata import version as installed

            typer.echo(f"pellucid {installed('pellucid')}")
        elif context.invoked_subcommand is None:
            typer.echo(context.get_help())
            raise typer.Exit(2)

    for verb in verbs:
        run = getattr(import_module(f"pellucid.cli.{verb}"), verb)
        if isinstance(run, typer.Typer):  # a verb with verbs of its own
            app.add_typer(run, name=verb)
        else:
            app.command(verb)(printing()(run))
    return app


def _flags(verbs: tuple[str, ...]) -> dict[str, str]:
    """Setting -> the option of these verbs that sets it."""
    options = [
        each for each in _parameters(typer.main.get_command(application(verbs))) if each.opts[0].startswith("--")
    ]
    return {option.name: option.opts[0] for option in options}


def _parameters(command: Any) -> Iterator[Any]:
    """Those of a command and of the commands within it."""
    for inner in getattr(command, "commands", {}).values():
        yield from inner.params
        yield from _parameters(inner)


def main() -> None:
    """Run the command of `sys.argv`."""
    asked = tuple(verb for verb in VERBS if sys.argv[1:2] == [verb])
    if asked in TRACING:
        # The matrices of a trace are small. Threads that wait for each other on busy cores took 2.5 s of CPU time where
        # one takes 0.2 s. NumPy reads this when it is imported; whoever has set it decides.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if asked:
        # Every verb needs it. Inside typer's calls it takes 25 ms more: Python 3.11 may map memory at every call there.
        import numpy  # noqa: F401
    try:
        application(asked or VERBS)()
    except UserError as error:
        flags = _flags(asked)
        for problem in error.problems:
            print(f"pellucid: {replace(problem, where=flags.get(problem.where, problem.where))}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        print(f"pellucid: this needs {missing} (pip install 'pellucid[{EXTRAS[missing]}]')", file=sys.stderr)
        sys.exit(2)
