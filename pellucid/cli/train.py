"""`pellucid train`: from pairs of text to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pellucid.cli.options import Changes, Fields, Given, options
from pellucid.config import DataConfig, StartConfig, TrainConfig
from pellucid.errors import UserError
from pellucid.fields import parse_settings

FILES = ("source", "target", "pairs", "corpus", "valid_source", "valid_target", "valid_pairs")
LANGUAGES = ("source_language", "target_language", "both_ways")


@options
def train(
    *,
    data: Annotated[Given, Fields(DataConfig, FILES + LANGUAGES)],
    start: Annotated[Given, Fields(StartConfig)],
    limits: Annotated[Given, Fields(TrainConfig, ("minutes",))],
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file with the tables [data], [model] and [train]; flags override it"),
    ] = None,
    set_: Changes = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="run directory to create")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="run directory to continue")] = None,
    auto_resume: Annotated[
        bool, typer.Option("--auto-resume", help="continue the run in --out if there is one, with its own settings")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the plan and exit without training")] = False,
) -> None:
    """Train a model on your own pairs of text. A run without any limit ends after 30 minutes.

    \b
    pellucid train --source train.en --target train.de --out runs/mine --minutes 60
    """
    from pellucid.training.loop import resume_run, start_run
    from pellucid.training.run import Run, Settings
    from pellucid.training.run.settings import gather

    if resume is not None:
        if data or start or out or config or dry_run or auto_resume:
            remedy = "a run keeps its settings"
            raise UserError("takes only --minutes, and --set with keys of [train]", "--resume", remedy)
        resume_run(Run(resume), limits | parse_settings(set_ or []))
        return
    preset = start.pop("preset", None)
    settings = Settings.of(gather(config, preset, {"data": data | start, "train": limits}, set_ or []))
    if dry_run:
        from pellucid.terminal.plan import print_plan

        if out is not None and not auto_resume:
            Run(out).check_new()
        print_plan(settings)
    elif out is None:
        raise UserError("no run directory given", "--out", "add --out runs/NAME")
    else:
        start_run(Run(out), settings, auto_resume=auto_resume)
