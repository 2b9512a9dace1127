"""Training, top to bottom: batch -> loss -> gradient -> update, with validations and checkpoints on the way.

Everything drawn at random is a function of the seed and of where the run stands (epoch, batch, step), never of what was
drawn before: so a run that was stopped at any step and resumed has the same weights, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from time import monotonic

import torch

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import UserError
from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.training.checkpoint import Checkpoint, Checkpoints, Progress, optimizer_state, restore_optimizer
from pellucid.training.data import Data
from pellucid.training.device import Device
from pellucid.training.display import Display
from pellucid.training.distributed import ALONE, World
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.memory import keep_freed_memory
from pellucid.training.run import Run
from pellucid.training.schedule import learning_rate
from pellucid.training.shards import Shards
from pellucid.training.stopping import signals
from pellucid.training.validate import Validation, valid_loss, validate


@dataclass
class Training:
    """A run under way: what is trained, on what, how far it has come, and where it is saved."""

    run: Run
    data: Data
    config: TrainConfig
    device: Device
    shards: Shards
    model: Transformer
    optimizer: torch.optim.Optimizer
    checkpoints: Checkpoints
    progress: Progress
    ema: dict[str, torch.Tensor]
    total_steps: int | None  # where the learning rate ends
    world: World = ALONE  # the processes that share the work


def begin(
    run: Run,
    data: Data,
    model_config: ModelConfig,
    config: TrainConfig,
    start_from: str | None,
    world: World = ALONE,
) -> Training:
    """A new training, or the state of the last checkpoint if the run has one. `start_from`: a model to go on from."""
    keep_freed_memory()
    checkpoints = Checkpoints(run.checkpoints, config.average)
    saved = checkpoints.load()
    if saved and saved.data != data.digest:
        remedy = "bring the files back as they were, or begin a new run with --start-from"
        raise UserError("the pairs are not those the run began with", str(run.directory), remedy)
    device = Device.of(config, saved.threads if saved else None, world.local_size)
    model = Transformer(model_config, config.seed)
    if saved:
        model.set_weights(saved.weights)
    elif start_from is not None:
        model.set_weights(Transformer.load(start_from).weights())
    model = model.to(device.name).train()
    adam = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    betas = (config.beta_1, config.beta_2)
    optimizer = adam(model.parameters(), betas=betas, eps=1e-9, weight_decay=config.weight_decay, fused=True)
    if saved:
        restore_optimizer(optimizer, dict(model.named_parameters()), saved.optimizer)
    progress = saved.progress if saved else Progress()
    if not world.agrees(progress.step, data.digest):
        remedy = "every machine needs the same pairs and the same run directory"
        raise UserError("the processes do not start from the same state", str(run.directory), remedy)
    average = saved.ema if saved else model.weights() if config.ema else {}
    ema = {name: value.detach().clone().to(device.name) for name, value in average.items()}
    progress.finished = bool(limits_reached(progress, config))  # the budget may have grown since it was saved
    if world.leads:
        run.forget_after(progress.step)
        if progress.on_schedule is None:
            progress.on_schedule = progress.step % config.checkpoint_every == 0
        rightful = progress.finished or progress.on_schedule
        checkpoints.forget_after(progress.step if rightful else progress.step - 1)
    steps = _total_steps(config, data)
    shards = Shards(device.divided(config.batch_tokens, model_config), device.undivided)
    return Training(run, data, config, device, shards, model, optimizer, checkpoints, progress, ema, steps, world)


def train(training: Training, display: Display) -> bool:
    """Train until the budget is spent (True) or a signal asks to stop (False); either way all is saved."""
    progress, config, world = training.progress, training.config, training.world
    session = monotonic() - progress.seconds
    with signals() as stop:
        for group in updates(training):
            began = monotonic()
            loss, rate = update(training, group)
            [tokens] = world.sum(sum(batch.source_tokens + batch.target_tokens for batch in group))
            progress.tokens += round(tokens)
            progress.seconds = monotonic() - session
            if world.leads:
                _tell(training, display, loss, rate, tokens / (monotonic() - began))
            if world.leads and progress.step % config.validate_every == 0:
                _record(training, display, _validate(training))
                progress.seconds = monotonic() - session
            progress.finished, stopping = world.decided(bool(limits_reached(progress, config)), stop.asked)
            progress.on_schedule = progress.step % config.checkpoint_every == 0
            snapshot = progress.on_schedule or progress.finished
            if world.leads and (snapshot or stopping):
                save(training, snapshot)
            if progress.finished or stopping:
                break
    return progress.finished


def updates(training: Training) -> Iterator[list[Batch]]:
    """This process's batches of every update to come, epoch after epoch; `progress` says where they stand."""
    progress, config, corpus = training.progress, training.config, training.data.corpus
    dropout = BpeDropout(corpus.tokenizers, config.bpe_dropout, config.seed) if config.bpe_dropout else None
    while True:
        plan = training.data.plan(config, progress.epoch)
        while progress.batch < len(plan):
            chosen = plan[progress.batch : progress.batch + config.accumulate]
            group = [Batch.of(corpus, pairs, dropout, progress.epoch) for pairs in training.world.share(chosen)]
            progress.batch += len(chosen)
            if progress.batch >= len(plan):
                progress.epoch, progress.batch = progress.epoch + 1, 0
                yield group
                break
            yield group


def update(training: Training, group: list[Batch]) -> tuple[float, float]:
    """One step of the optimiser over the batches of a group: loss a token, and the learning rate it took."""
    model, config, progress, world = training.model, training.config, training.progress, training.world
    parameters = list(model.parameters())
    [count] = world.sum(sum(batch.target_tokens for batch in group))
    total = 0.0

    def loss_of(batch: Batch) -> torch.Tensor:
        with training.device.autocast():
            return batch_loss(model, batch, config.label_smoothing, config.r_drop)

    for place, batch in enumerate(group):
        seed = _mix(config.seed, progress.step, world.number(place))
        torch.manual_seed(seed)  # governs dropout on a GPU; on a CPU the shards do
        loss, gradients = training.shards.gradients(loss_of, parameters, batch, seed, 1 / count)
        total += loss
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
    own = total
    [total] = world.sum(own)
    world.sum_gradients(parameters)
    norm = torch.nn.utils.clip_grad_norm_(parameters, config.clip or float("inf"))
    if not (isfinite(total) and torch.isfinite(norm)):
        training.optimizer.zero_grad()
        elsewhere = isfinite(own) and not isfinite(total)  # another process has the pairs to look at
        raise _not_finite(training, [] if elsewhere else group)
    progress.step += 1
    rate = learning_rate(progress.step, config, model.config.d_model, training.total_steps)
    for settings in training.optimizer.param_groups:
        settings["lr"] = rate
    training.optimizer.step()
    training.optimizer.zero_grad()
    with torch.no_grad():
        for name, value in model.weights().items() if training.ema else ():
            training.ema[name].lerp_(value, 1.0 - config.ema)
    return total / count, rate


def limits_reached(progress: Progress, config: TrainConfig) -> list[tuple[str, float]]:
    """The limits that a run has come to; with one of them it is over."""
    used = {
        "steps": progress.step,
        "epochs": progress.epoch,
        "minutes": progress.seconds / 60,
        "patience": progress.validations_without_gain,
    }
    limits = {name: getattr(config, name) for name in used}
    return [(name, limit) for name, limit in limits.items() if limit is not None and used[name] >= limit]


def save(training: Training, snapshot: bool) -> None:
    """Write the state of the run; with `snapshot`, its weights also enter the average at the end."""
    state = optimizer_state(training.optimizer, dict(training.model.named_parameters()))
    checkpoint = Checkpoint(
        replace(training.progress),
        training.device.threads,
        training.data.digest,
        training.model.weights(),
        state,
        training.ema,
    )
    training.checkpoints.save(checkpoint, snapshot)


def finish(training: Training, display: Display) -> None:
    """Give the model its final weights: the average, or the best single checkpoint where that has a lower loss."""
    now = {name: value.detach().clone() for name, value in training.model.weights().items()}
    averaged = training.checkpoints.average() or now  # no scheduled checkpoint yet: the run was ended by a new budget
    candidates = {"moving average": training.ema} if training.ema else {"average": averaged}
    best = training.checkpoints.best()
    if best is not None:
        candidates["best checkpoint"] = best
    data, losses = training.data, {}
    for name, weights in candidates.items():
        training.model.set_weights(weights)
        with training.device.undivided():
            losses[name] = valid_loss(training.model, data.valid_corpus, data.valid_pairs, training.config.batch_tokens)
    chosen = min(losses, key=losses.__getitem__)
    training.model.set_weights(candidates[chosen])
    _log(training, display, _validate(training))
    told = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    display.note(f"the model takes the {chosen} (validation loss: {told})")


def _validate(training: Training) -> Validation:
    data, config = training.data, training.config
    with training.device.undivided():
        return validate(training.model, data.valid_corpus, data.valid_pairs, config.batch_tokens, config.validate_pairs)


def _tell(training: Training, display: Display, loss: float, rate: float, speed: float) -> None:
    """Log a step and show it."""
    progress = training.progress
    training.run.log(
        step=progress.step,
        loss=loss,
        learning_rate=rate,
        tokens_per_second=round(speed),
        seconds=round(progress.seconds, 3),
    )
    display.step(progress, loss, rate, speed)


def _log(training: Training, display: Display, validation: Validation) -> None:
    training.run.log(
        step=training.progress.step,
        valid_loss=validation.loss,
        perplexity=validation.perplexity,
        bleu=validation.bleu,
        chrf=validation.chrf,
        exact_match=validation.exact_match,
    )
    display.validation(training.progress, validation)


def _record(training: Training, display: Display, validation: Validation) -> None:
    """Log a validation and remember whether it is the best so far."""
    _log(training, display, validation)
    progress = training.progress
    if progress.best_loss is None or validation.loss < progress.best_loss:
        progress.best_loss, progress.validations_without_gain = validation.loss, 0
        training.checkpoints.save_best(training.model.weights())
    else:
        progress.validations_without_gain += 1


def _total_steps(config: TrainConfig, data: Data) -> int | None:
    """How many updates the budget allows, as far as it says so before the run."""
    if config.steps is not None or config.epochs is None:
        return config.steps
    first_epoch = len(data.plan(config, epoch=0))
    return round(config.epochs * -(-first_epoch // config.accumulate))


def _mix(*numbers: int) -> int:
    """One seed from several, well spread."""
    mixed = 0
    for number in numbers:
        mixed = ((mixed ^ number) * 0x9E3779B97F4A7C15 + 0x7F4A7C15) % 2**63
    return mixed


def _not_finite(training: Training, group: list[Batch]) -> UserError:
    places = [training.data.corpus.place(int(pair)) for batch in group for pair in batch.pairs]
    shown = ", ".join(places[:20]) + (f" and {len(places) - 20} more" if len(places) > 20 else "")
    return UserError(
        f"the loss is not a finite number at step {training.progress.step + 1}; the weights were not changed",
        f"pairs {shown}" if places else "pairs of another process",
        "look at these lines, lower learning_rate or raise warmup; --resume goes on from the last checkpoint",
    )
