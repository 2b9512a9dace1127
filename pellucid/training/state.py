"""The state of a training: model, optimizer and progress, new or restored from the last checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import UserError
from pellucid.nn import Transformer
from pellucid.training.data import Data
from pellucid.training.run import Run
from pellucid.training.run.checkpoint import Checkpoints, restore_optimizer
from pellucid.training.run.progress import Progress
from pellucid.training.runtime.device import Device, keep_freed_memory
from pellucid.training.runtime.process_group import SINGLE, ProcessGroup
from pellucid.training.runtime.shards import Shards
from pellucid.training.schedule import total_steps


@dataclass
class Training:
    """The state of a run in progress."""

    run: Run
    data: Data
    config: TrainConfig
    device: Device
    shards: Shards
    model: Transformer
    optimizer: torch.optim.Optimizer
    checkpoints: Checkpoints
    progress: Progress
    ema: dict[str, torch.Tensor]  # exponential moving average of the weights; empty if there is none
    total_steps: int | None  # at which the learning rate schedule ends
    group: ProcessGroup


def begin(
    run: Run,
    data: Data,
    model_config: ModelConfig,
    config: TrainConfig,
    start_from: str | None = None,
    group: ProcessGroup = SINGLE,
) -> Training:
    """The state of the last checkpoint, or that of a new run, with the weights of the model `start_from` if given."""
    keep_freed_memory()
    checkpoints = Checkpoints(run.checkpoints, config.average)
    saved = checkpoints.load()
    if saved and saved.data != data.digest:
        remedy = "restore the files as they were, or begin a new run with --start-from"
        raise UserError("the pairs are not those the run began with", str(run.directory), remedy)
    device = Device.of(config, saved.threads if saved else None, group.local_world_size)
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
    if not group.all_equal(progress.step, data.digest):
        remedy = "every machine needs the same pairs and the same run directory"
        raise UserError("the processes do not start from the same state", str(run.directory), remedy)
    average = saved.ema if saved else model.weights() if config.ema else {}
    ema = {name: value.detach().clone().to(device.name) for name, value in average.items()}
    progress.finished = bool(progress.limits_reached(config))  # the budget may have changed since the checkpoint
    if group.is_main:
        run.truncate_log(progress.step)
        checkpoints.delete_averaged_after(progress, config.checkpoint_every)
        run.snapshots.delete_after(progress.step)
    shards, last = device.shards(config.batch_tokens, model_config), total_steps(config, data)
    return Training(run, data, config, device, shards, model, optimizer, checkpoints, progress, ema, last, group)
