"""`pellucid lab`: list the labs; `pellucid lab xor`: run one of them, with an option for each of its settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.options import AsJson, Fields, Given, options
from pellucid.cli.standard_io import lab_progress, printing, write_file
from pellucid.errors import UserError
from pellucid.labs import NAMES, Result, committed
from pellucid.labs import lab as lab_called

Quick = Annotated[bool, typer.Option("--quick", help="the same measurement in seconds: smaller, fewer seeds")]
Show = Annotated[
    bool, typer.Option("--show", help="the result that comes with Pellucid, without a run; needs no torch")
]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="write the data, NAME.json, and a page with the figures, NAME.html")
]

lab = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@lab.callback()
@printing()
def overview(
    context: typer.Context,
    *,
    every: Annotated[bool, typer.Option("--all", help="run every lab, one after the other")] = False,
    quick: Quick = False,
    show: Show = False,
    seed: Annotated[int, typer.Option(help="seed of the first repetition")] = 1,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Measure a claim about the Transformer. The verdict follows a criterion that was fixed before the run.

    Without a name, the labs are listed. pellucid lab xor runs one; pellucid lab xor --help has its settings.
    """
    if context.invoked_subcommand is not None:
        if every or show or quick or as_json or out is not None:
            raise UserError("options before the name of a lab", "", "write them after it: pellucid lab xor --quick")
        return
    if not every:
        if quick or show or out is not None:
            raise UserError("no lab is named", "", "name one, or --all")
        _list(as_json)
        return
    results = []
    for name in NAMES:
        results.append(_result(name, show, quick, {"seed": seed}))
        if out is not None:
            _write(results[-1], out)
        if not as_json:
            _print(results[-1])
    if as_json:
        typer.echo(json.dumps({"labs": [_plain(result) for result in results]}, indent=2))


def _command(name: str) -> Callable[..., None]:
    """The verb of one lab."""
    declared = lab_called(name)

    def run(
        *, settings: Given, quick: bool = False, show: bool = False, out: Path | None = None, as_json: bool = False
    ) -> None:
        if show and (settings or quick):
            raise UserError("shows the result of the full run", "--show", "leave out --quick and the settings")
        result = _result(name, show, quick, settings)
        if out is not None:
            _write(result, out)
        if as_json:
            typer.echo(json.dumps(_plain(result), indent=2))
        else:
            _print(result)

    settings = Annotated[Given, Fields(declared.settings)]
    run.__annotations__ |= {"settings": settings, "quick": Quick, "show": Show, "out": Out, "as_json": AsJson}
    broken = f"With --broken: {declared.broken[0].lower()}{declared.broken[1:]}"
    run.__doc__ = f"{declared.claims}: {declared.question}\n\n{broken}"
    return printing()(options(run))


for _name in NAMES:
    lab.command(_name)(_command(_name))


def _result(name: str, show: bool, quick: bool, settings: dict[str, Any]) -> Result:
    if show:
        return committed(name)
    found = lab_called(name)
    steps = found.steps(found.configure(quick, **settings))
    with lab_progress(name) as advance:
        for step in steps:
            if isinstance(step, Result):
                return step
            advance(step.done)
    raise AssertionError("a lab ends with its result")


def _plain(result: Result) -> dict[str, Any]:
    return {**result.plain(), **result.to_dict()}


def _print(result: Result) -> None:
    from rich.console import Console

    from pellucid.terminal.lab import print_result

    print_result(result, Console(highlight=False))


def _list(as_json: bool) -> None:
    results = [committed(name) for name in NAMES]
    if as_json:
        words = ("name", "claims", "title", "question")
        rows = [
            {**{word: getattr(result.lab, word) for word in words}, "verdict": result.verdict._asdict()}
            for result in results
        ]
        typer.echo(json.dumps({"labs": rows}, indent=2))
        return
    from rich.console import Console

    from pellucid.terminal.lab import print_list

    print_list(results, Console(highlight=False))


def _write(result: Result, directory: Path) -> None:
    from pellucid.labs.page import page

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot be made: {error.strerror}", str(directory), "name another folder") from None
    write_file(directory / f"{result.lab.name}.json", json.dumps(result.to_dict(), indent=1) + "\n")
    write_file(directory / f"{result.lab.name}.html", page([result]))
