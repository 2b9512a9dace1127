"""pellucid train: from pairs of text to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Files = list[Path] | None


def train(
    source: Annotated[Files, typer.Option(help="Texts, one a line (also .gz, .xz); may be repeated.")] = None,
    target: Annotated[Files, typer.Option(help="Their translations, line by line.")] = None,
    pairs: Annotated[Files, typer.Option(help="Files of pairs: .tsv, .jsonl, .tmx (also .gz, .xz).")] = None,
    corpus: Annotated[str | None, typer.Option(help="A corpus that is generated: dates or reports.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory to make.")] = None,
    valid_source: Annotated[Files, typer.Option(help="Texts to validate on; else 1% is held out.")] = None,
    valid_target: Annotated[Files, typer.Option(help="Their translations.")] = None,
    valid_pairs: Annotated[Files, typer.Option(help="Files of pairs to validate on.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Code of the source language.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Code of the target language.")] = None,
    both_ways: Annotated[bool, typer.Option("--both-ways", help="One model for both directions.")] = False,
    preset: Annotated[str | None, typer.Option(help="tiny (the default), small, base or big.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with the tables data, model, train; flags win over it.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="key=value, any setting; may be repeated.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Train this long at most; 30 where nothing sets a limit.")
    ] = None,
    start_from: Annotated[Path | None, typer.Option(help="A model to fine-tune: its name or directory.")] = None,
    resume: Annotated[Path | None, typer.Option(help="A run directory to go on with.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen, and stop.")] = False,
) -> None:
    """Train a model on your own pairs of text.

    pellucid train --source train.en --target train.de --out runs/mine --minutes 60
    """
    from pellucid.errors import UserError
    from pellucid.fields import parse_settings
    from pellucid.training.loop import resume_run, start_run
    from pellucid.training.run import Run, Settings
    from pellucid.training.run.settings import gather

    files = {
        "source": source,
        "target": target,
        "pairs": pairs,
        "valid_source": valid_source,
        "valid_target": valid_target,
        "valid_pairs": valid_pairs,
    }
    words = {
        "corpus": corpus,
        "source_language": from_,
        "target_language": to,
        "start_from": start_from and str(start_from),
    }
    data: dict[str, Any] = {name: [str(path) for path in paths] for name, paths in files.items() if paths}
    data |= {name: word for name, word in words.items() if word} | ({"both_ways": True} if both_ways else {})
    flags = {"data": data, "train": {} if minutes is None else {"minutes": minutes}}
    if resume is not None:
        if data or out or preset or config or dry_run:
            raise UserError(
                "takes nothing but --minutes, and --set of [train] keys", "--resume", "a run keeps its settings"
            )
        resume_run(Run(resume), flags["train"] | parse_settings(set_ or []))
        return
    settings = Settings.of(gather(config, preset, flags, set_ or []))
    if dry_run:
        from pellucid.cli.plan import show_plan

        if out is not None:
            Run(out).check_new()
        show_plan(settings)
    elif out is None:
        raise UserError("no run directory given", "--out", "add --out runs/NAME")
    else:
        start_run(Run(out), settings)
