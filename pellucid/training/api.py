"""`train` and `resume`: from settings to a finished run with a model directory in it."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.config import DataConfig, ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError, counted
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.card import model_card
from pellucid.model_directory.find import PREVIOUS_MODEL
from pellucid.nn.threads import threads
from pellucid.text.batch import real_share
from pellucid.text.tokenizer import Tokenizers
from pellucid.training.curves import draw_curves
from pellucid.training.data import Data, prepare
from pellucid.training.device import Device
from pellucid.training.display import SILENT, Display
from pellucid.training.distributed import World, together
from pellucid.training.learned import learn_metadata
from pellucid.training.loop import Training, begin, finish, limits_reached
from pellucid.training.loop import train as run_loop
from pellucid.training.run import Run
from pellucid.training.settings import DEFAULT_PRESET, HOMES, Settings

DEFAULT_MINUTES = 30.0
# Settings that a resumed run may change; any other would make it another run.
CHANGEABLE = (
    "steps",
    "epochs",
    "minutes",
    "patience",
    "device",
    "threads",
    "learning_rate",
    "warmup",
    "cooldown",
    "clip",
    "validate_every",
    "validate_pairs",
    "checkpoint_every",
    "average",
)


def train(
    data: DataConfig | dict[str, Any] | tuple[str | Path, str | Path] | str | Path,
    out: str | Path,
    model: ModelConfig | None = None,
    train: TrainConfig | None = None,
    *,
    start_from: str | Path | None = None,
    display: Display | None = None,
) -> Run:
    """Train a model on pairs of text and leave it in `out`/model.

    `data` is a file of pairs, two aligned files (source, target), or a `DataConfig` (or its fields) for the rest.
    Without `model` it is the preset tiny, or has the shape of the model to start from.
    """
    if isinstance(data, str | Path):
        data = {"pairs": str(data)}
    elif isinstance(data, tuple):
        data = {"source": str(data[0]), "target": str(data[1])}
    elif isinstance(data, DataConfig):
        data = data.to_dict()
    if start_from is not None:
        data = {**data, "start_from": str(start_from)}
    usual = {} if data.get("start_from") else {"preset": DEFAULT_PRESET}
    shape = model.to_dict() if model else usual
    tables = {"data": data, "model": shape, "train": (train or TrainConfig()).to_dict()}
    return start_run(Run(out), Settings.of(tables), display)


def start_run(run: Run, settings: Settings, display: Display | None = None) -> Run:
    """A new run, to its end or until a signal stops it."""
    Device.of(settings.train)  # one that is not there is told before the work
    start = str(Path(settings.start_from).resolve()) if settings.start_from else None
    settings = replace(settings, data=settings.data.absolute(), start_from=start)
    check_budget(settings)
    with together(settings.model, settings.train) as world:
        if world.leads:
            run.check_new()
        with world.first_alone():  # before the directory is made: a wrong file leaves nothing behind
            data = prepare_data(settings)
            earlier = ModelDirectory(start) if start else None
        settings = replace(settings, model=data.model(settings.model))
        if world.leads:
            run.create(settings, data.tokenizers, earlier)
        with _locked(run, world):
            return _train(run, settings, data, display, world)


def resume_run(run: Run, changes: dict[str, Any] | None = None, display: Display | None = None) -> Run:
    """Go on with a run where its last checkpoint stands; `changes` to its TrainConfig may lengthen the budget."""
    settings = run.settings()
    if not run.checkpoints.exists():
        raise UserError("is gone", str(run.checkpoints), "bring it back, or begin a new run with another --out")
    known = [name for names in HOMES.values() for name in names]
    fixed = [name for name in changes or {} if name in known and name not in CHANGEABLE]
    if fixed:
        remedy = f"what may change: {', '.join(CHANGEABLE)}"
        raise UserError(Problem("cannot change in the middle of a run", name, remedy) for name in fixed)
    if changes:
        settings = replace(settings, train=settings.train.changed(**changes))
        check_budget(settings)
    with together(settings.model, settings.train) as world, _locked(run, world):
        with world.first_alone():
            data = prepare_data(settings, run.checkpoints)
        if changes and world.leads:
            run.write(settings)
        if changes and "average" in changes and world.leads:
            _put_aside(run.model)  # another average is another model, of the same training
        return _train(run, settings, data, display, world)


def prepare_data(settings: Settings, tokenizers: Path | None = None) -> Data:
    """The pairs of these settings, with the tokenizers of a directory: a model's to start from, or the run's own."""
    directory = tokenizers or settings.start_from
    known = Tokenizers.load(directory) if directory else None
    return prepare(settings.data, settings.rules, settings.model, settings.train, known)


def _locked(run: Run, world: World) -> AbstractContextManager[None]:
    """The run is locked by the process that writes it."""
    return run.locked() if world.leads else nullcontext()


@threads()  # a run sets them for its shards
def _train(run: Run, settings: Settings, data: Data, display: Display | None, world: World) -> Run:
    settings = with_budget(settings)
    display = display or Display(settings.train, None if world.leads else SILENT)
    training = begin(run, data, settings.model, settings.train, settings.start_from, world)
    if training.progress.finished and run.model.exists():
        reached = ", ".join(f"{name} = {limit:g}" for name, limit in limits_reached(training.progress, settings.train))
        display.note(
            f"{run.directory}: finished at step {training.progress.step:,} with {reached} (raise that to go on); "
            f"the model is in {run.model}"
        )
        return run
    if world.leads:
        _put_aside(run.model)  # of an earlier, shorter budget
    display.note(data.report)
    plan = data.plan(settings.train, epoch=0)
    size = counted(len(plan), "batch", "batches")
    display.note(f"{size} an epoch, {100 * real_share(data.corpus, plan):.1f}% real tokens")
    if training.progress.step:
        display.note(f"goes on from step {training.progress.step:,}")
    with display:
        done = training.progress.finished or run_loop(training, display)
    if not done:
        display.note(f"stopped and saved at step {training.progress.step:,}; go on with --resume {run.directory}")
        return run
    if world.leads:
        finish(training, display)
        _save_model(run, settings, training)
        _draw(run, display)
        display.note(f"the model is in {run.model}")
    return run


def _put_aside(model: Path) -> None:
    """Keep the model that a run had when it was given more time, until the next one takes its place."""
    if model.exists():
        before = model.with_name(PREVIOUS_MODEL)
        shutil.rmtree(before, ignore_errors=True)
        model.rename(before)


def _save_model(run: Run, settings: Settings, training: Training) -> None:
    """The model directory, complete when it appears."""
    earlier = ModelDirectory(run.checkpoints) if settings.start_from else None
    metadata = learn_metadata(settings, training.data.corpus, earlier)
    card = model_card(settings.model, metadata.languages.directions, _card_rows(training))
    ModelDirectory.save(run.model, settings.model, training.model.arrays(), metadata, card)
    shutil.rmtree(run.model.with_name(PREVIOUS_MODEL), ignore_errors=True)


def _card_rows(training: Training) -> list[tuple[str, str]]:
    """The facts of a training for the model card."""
    progress = training.progress
    rows = [
        ("training pairs", f"{len(training.data.train_pairs):,}"),
        ("updates, epochs, minutes", f"{progress.step:,}, {progress.epoch}, {progress.seconds / 60:.1f}"),
    ]
    validations = [entry for entry in training.run.history() if "valid_loss" in entry]
    if validations:
        last = validations[-1]
        names = {"valid_loss": "validation loss", "bleu": "BLEU", "chrf": "chrF", "exact_match": "exact match, %"}
        rows += [(f"{title}, last validation", f"{last[n]:.2f}") for n, title in names.items() if last[n] is not None]
    return rows


def _draw(run: Run, display: Display) -> None:
    try:
        draw_curves(run)
    except ImportError:
        display.note("no curves.png: matplotlib is not installed (pip install 'pellucid[plot]')")


def check_budget(settings: Settings) -> None:
    """What must fit together before a run begins, or goes on in another way."""
    train, model = settings.train, settings.model
    if train.steps is None and train.epochs is None:
        ends = {"schedule": train.schedule == "cosine", "cooldown": train.cooldown > 0}
        if any(ends.values()):
            remedy = "give steps or epochs"
            raise UserError(Problem("must know where it ends", name, remedy) for name, asked in ends.items() if asked)
    if model.max_positions is not None and settings.data.longest > model.max_positions:
        what = f"pairs of {settings.data.longest} tokens, but the learned positions end at {model.max_length}"
        raise UserError(what, "longest", f"set longest={model.max_length}, or raise max_length")


def with_budget(settings: Settings) -> Settings:
    """Settings under which a run ends: without any limit it never would. The run's own file does not have this one, so
    that any other can take its place."""
    limits = [getattr(settings.train, name) for name in ("steps", "epochs", "minutes", "patience")]
    if any(limit is not None for limit in limits):
        return settings
    return replace(settings, train=settings.train.changed(minutes=DEFAULT_MINUTES))
