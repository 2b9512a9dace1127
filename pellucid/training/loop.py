"""Training, top to bottom: prepare -> train -> validate -> checkpoint -> finish -> save.

`train` (from Python) and the command line begin a run with `start_run` or continue one with `resume_run`. Both prepare
the pairs and call `_run`, which trains the model and saves it.

Everything random is a function of the seed and of the position in the run (epoch, batch, step), never of what was drawn
before. A run that was stopped at any step and resumed therefore has the same weights, bit for bit.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import UserError, counted
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.card import model_card
from pellucid.nn.threads import threads
from pellucid.text.batch import Batch, real_share
from pellucid.training.data import Data, prepare_data
from pellucid.training.data.metadata import learn_metadata
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.loss.not_finite import not_finite
from pellucid.training.run import Run, Settings
from pellucid.training.run.budget import changed_settings, check_budget, with_budget
from pellucid.training.run.checkpoint import Checkpoint, optimizer_state
from pellucid.training.run.display import SILENT, Display
from pellucid.training.run.settings import DataArgument
from pellucid.training.run.summary import draw_curves, training_rows
from pellucid.training.runtime.device import Device
from pellucid.training.runtime.process_group import ProcessGroup, process_group
from pellucid.training.runtime.shards import mixed_seed
from pellucid.training.runtime.signals import stop_signals
from pellucid.training.schedule import learning_rate
from pellucid.training.snapshots import SnapshotSchedule, sample, save_snapshot
from pellucid.training.state import Training, begin
from pellucid.training.validate import Validation, valid_loss, validate


def train(
    data: DataArgument,
    out: str | Path,
    model: ModelConfig | None = None,
    train: TrainConfig | None = None,
    *,
    start_from: str | Path | None = None,
    display: Display | None = None,
) -> Run:
    """Train a model on pairs of text and save it in `out`/model.

    `data` is a file of pairs, two aligned files (source, target), or a `DataConfig` (or its fields). Without `model`,
    the model has the preset tiny, or the shape of the model that `start_from` names.
    """
    return start_run(Run(out), Settings.of_arguments(data, model, train, start_from), display)


def start_run(run: Run, settings: Settings, display: Display | None = None, auto_resume: bool = False) -> Run:
    """Begin a run, and train until its budget is spent or a signal stops it. With `auto_resume`, a run that is there
    is resumed instead, with its own settings."""
    Device.of(settings.train)  # a missing device is reported before any work is done
    settings = settings.absolute()
    check_budget(settings)
    with process_group(settings.model, settings.train) as group:
        if auto_resume and group.broadcast(run.exists)[0]:
            return _resume(run, run.settings(), {}, display, group)
        if group.is_main:
            run.check_new()
        with group.local_main_first():  # before the directory is made: an error in the pairs leaves nothing behind
            data = prepare_data(settings)
        augment = [*settings.data.augmentations]  # written out, so that a resumed run has what it began with
        settings = replace(
            settings, data=settings.data.changed(augment=augment), model=data.with_vocabulary(settings.model)
        )
        if group.is_main:
            run.create(settings, data.tokenizers)
        with run.locked() if group.is_main else nullcontext():
            return _run(run, settings, data, display, group)


def resume_run(run: Run, changes: dict[str, Any] | None = None, display: Display | None = None) -> Run:
    """Resume a run from its last checkpoint. `changes` to its TrainConfig may extend the budget."""
    settings = changed_settings(run.settings(), changes or {})
    with process_group(settings.model, settings.train) as group:
        return _resume(run, settings, changes or {}, display, group)


def _resume(run: Run, settings: Settings, changes: dict[str, Any], display: Display | None, group: ProcessGroup) -> Run:
    if not run.checkpoints.exists():
        raise UserError("is missing", str(run.checkpoints), "restore it, or begin a new run with another --out")
    with run.locked() if group.is_main else nullcontext():
        with group.local_main_first():
            data = prepare_data(settings, tokenizers_from=run.checkpoints)
        if changes and group.is_main:
            run.write(settings)
            if "average" in changes:
                run.set_model_aside()  # the same training with another average gives another model
        return _run(run, settings, data, display, group)


@threads()  # restores the caller's number of PyTorch threads
def _run(run: Run, settings: Settings, data: Data, display: Display | None, group: ProcessGroup) -> Run:
    """Train, finish and save; nothing is done if the run has ended already."""
    settings = with_budget(settings)
    display = display or Display(settings.train, None if group.is_main else SILENT)
    training = begin(run, data, settings.model, settings.train, settings.start_from, group)
    progress = training.progress
    if progress.finished and run.model.exists():
        limits = ", ".join(f"{name} = {limit:g}" for name, limit in progress.limits_reached(settings.train))
        text = f"finished at step {progress.step:,} with {limits} (raise it to continue)"
        display.note(f"{run.directory}: {text}; the model is in {run.model}")
        return run
    if group.is_main:
        run.set_model_aside()
    if group.is_main and settings.train.snapshots and not run.snapshots.exists:
        run.snapshots.create(settings.model, learn_metadata(run, settings, data.corpus), sample(data))
    batches = data.epoch_batches(settings.train, epoch=0)
    count, share = counted(len(batches), "batch", "batches"), 100 * real_share(data.corpus, batches)
    display.note(f"{data.report}\n{count} per epoch, {share:.1f}% real tokens")
    if training.checkpoints.damage:
        display.note(f"{training.checkpoints.damage}; the checkpoint before it is used")
    if progress.step:
        display.note(f"resuming from step {progress.step:,}")
    if not progress.finished:
        with display:
            train_steps(training, display)
    if not progress.finished:
        display.note(f"stopped and saved at step {progress.step:,}; continue with --resume {run.directory}")
    elif group.is_main:
        finish(training, display)
        save_model(training, settings, display)
    return run


def train_steps(training: Training, display: Display) -> None:
    """Train until the budget is spent (`progress.finished`) or a signal asks to stop; either way the state is saved."""
    progress, config, group = training.progress, training.config, training.group
    run_began = monotonic() - progress.seconds
    snapshots = SnapshotSchedule(training)
    with stop_signals() as stop:
        for batches in updates(training):
            step_began = monotonic()
            loss, rate = update(training, batches)
            tokens = group.all_reduce(sum(batch.source_tokens + batch.target_tokens for batch in batches))
            progress.tokens += round(tokens)
            progress.seconds = monotonic() - run_began
            if group.is_main:
                _report_step(training, display, loss, rate, tokens / (monotonic() - step_began))
            if group.is_main and progress.step % config.validate_every == 0:
                _validate_and_keep_best(training, display)
                progress.seconds = monotonic() - run_began
            decided = bool(progress.limits_reached(config)), stop.received, progress.should_cool_down(config)
            progress.finished, stopping, cooling = group.broadcast(*decided)
            if cooling:
                progress.begin_cooldown(config)
            progress.on_schedule = progress.step % config.checkpoint_every == 0
            averaged = progress.on_schedule or progress.finished
            if group.is_main:
                snapshots.save_if_due(training)
            if group.is_main and (averaged or stopping or cooling):
                save_checkpoint(training, averaged)
            if progress.finished or stopping:
                return


def updates(training: Training) -> Iterator[list[Batch]]:
    """The batches of each update that this process computes, epoch after epoch, from the position in `progress`."""
    progress, config = training.progress, training.config
    while True:
        epoch = training.data.epoch(config, progress.epoch)
        while progress.batch < len(epoch):
            chosen = range(progress.batch, min(progress.batch + config.accumulate, len(epoch)))
            batches = [epoch[number] for number in training.group.own_batches(chosen)]
            progress.batch = chosen.stop
            if progress.batch >= len(epoch):
                progress.epoch, progress.batch = progress.epoch + 1, 0
                yield batches
                break
            yield batches


def update(training: Training, batches: list[Batch]) -> tuple[float, float]:
    """One optimizer step over some batches: returns the loss per token and the learning rate."""
    model, config, progress, group = training.model, training.config, training.progress, training.group
    parameters = list(model.parameters())
    count = group.all_reduce(sum(batch.target_tokens for batch in batches))
    own_loss = 0.0

    def loss_of(batch: Batch) -> torch.Tensor:
        with training.device.autocast():
            return batch_loss(model, batch, config.label_smoothing, config.r_drop)

    for index, batch in enumerate(batches):
        seed = mixed_seed(config.seed, progress.step, group.batch_number(index))
        torch.manual_seed(seed)  # of dropout on a GPU; on a CPU each shard has a generator
        loss, gradients = training.shards.gradients(loss_of, parameters, batch, seed, 1 / count)
        own_loss += loss
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
    total_loss = group.all_reduce(own_loss)
    group.all_reduce_gradients(parameters)
    norm = torch.nn.utils.clip_grad_norm_(parameters, config.clip or float("inf"))
    if not (isfinite(total_loss) and torch.isfinite(norm)):
        training.optimizer.zero_grad()
        elsewhere = isfinite(own_loss) and not isfinite(total_loss)  # the pairs at fault are those of another process
        raise not_finite(progress.step + 1, training.data.corpus, [] if elsewhere else batches)
    progress.step += 1
    rate = learning_rate(progress.step, config, model.config.d_model, training.total_steps)
    rate *= progress.cooldown_share_left()
    for settings in training.optimizer.param_groups:
        settings["lr"] = rate
    training.optimizer.step()
    training.optimizer.zero_grad()
    with torch.no_grad():
        for name, value in model.weights().items() if training.ema else ():
            training.ema[name].lerp_(value, 1.0 - config.ema)
    return total_loss / count, rate


def _report_step(training: Training, display: Display, loss: float, rate: float, speed: float) -> None:
    progress, seconds = training.progress, round(training.progress.seconds, 3)
    training.run.log(step=progress.step, loss=loss, learning_rate=rate, tokens_per_second=round(speed), seconds=seconds)
    display.step(progress, loss, rate, speed)


def _validate(training: Training, display: Display) -> Validation:
    """Validate, log and show the scores."""
    data, config = training.data, training.config
    sizes = config.batch_tokens, config.validate_pairs
    with training.device.all_threads():
        result = validate(training.model, data.valid_corpus, data.valid_pairs, *sizes)
    training.run.log(step=training.progress.step, **result.scores)
    display.validation(training.progress, result)
    return result


def _validate_and_keep_best(training: Training, display: Display) -> None:
    """Save the weights if their validation loss is the lowest so far."""
    progress, loss = training.progress, _validate(training, display).loss
    if progress.best_loss is None or loss < progress.best_loss:
        progress.best_loss, progress.validations_without_gain = loss, 0
        training.checkpoints.save_best(training.model.weights())
    else:
        progress.validations_without_gain += 1


def save_checkpoint(training: Training, averaged: bool) -> None:
    """Save the state of the run; with `averaged`, also its weights for the average at the end."""
    state = optimizer_state(training.optimizer, dict(training.model.named_parameters()))
    weights, progress = training.model.weights(), replace(training.progress)
    checkpoint = Checkpoint(progress, training.device.threads, training.data.digest, weights, state, training.ema)
    training.checkpoints.save(checkpoint, averaged)


def finish(training: Training, display: Display) -> None:
    """Give the model its final weights: the average, or those of the best validation if their loss is lower."""
    model, data = training.model, training.data
    if training.config.snapshots:
        save_snapshot(training)
    last = {name: value.detach().clone() for name, value in model.weights().items()}
    averaged = training.checkpoints.average() or last  # none saved yet: the budget was cut to the steps already taken
    candidates = {"moving average": training.ema} if training.ema else {"average": averaged}
    best = training.checkpoints.best()
    if best is not None:
        candidates["best checkpoint"] = best
    losses = {}
    for name, weights in candidates.items():
        model.set_weights(weights)
        with training.device.all_threads():
            losses[name] = valid_loss(model, data.valid_corpus, data.valid_pairs, training.config.batch_tokens)
    chosen = min(losses, key=losses.__getitem__)
    model.set_weights(candidates[chosen])
    _validate(training, display)
    compared = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    display.note(f"the model takes the weights of the {chosen} (validation loss: {compared})")


def save_model(training: Training, settings: Settings, display: Display) -> None:
    """Write the model directory, whole or not at all, and draw the curves of the run."""
    run, data = training.run, training.data
    metadata = learn_metadata(run, settings, data.corpus)
    rows = training_rows(run, training.progress, len(data.train_pairs))
    card = model_card(settings.model, metadata.languages.directions, rows)
    ModelDirectory.save(run.model, settings.model, training.model.arrays(), metadata, card)
    shutil.rmtree(run.previous_model, ignore_errors=True)
    try:
        draw_curves(run)
    except ImportError:
        display.note("no curves.png: matplotlib is not installed (pip install 'pellucid[plot]')")
    display.note(f"the model is in {run.model}")
