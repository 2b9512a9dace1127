"""Several processes train one model together, started by torchrun: they share out the batches of every update.

Each process sums the gradients of its own batches, then all sums become one, and every process takes the same step. An
update is `accumulate` batches however many processes share them, so with the same threads each a run does not depend on
their number, up to rounding: it can be stopped on eight GPUs and resumed on one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed
from torch.nn import Parameter

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError

T = TypeVar("T")
PATIENCE = timedelta(days=1)  # the others wait while the first reads the pairs or validates; torchrun ends the stranded


@dataclass(frozen=True)
class World:
    """The processes that train together, as one of them sees it. By default it is alone."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # on its machine
    local_size: int = 1
    device: str = "cpu"  # where what is exchanged must lie

    @property
    def leads(self) -> bool:
        """One process decides when to stop, validates, and writes all that is written."""
        return self.rank == 0

    def share(self, batches: Sequence[T]) -> Sequence[T]:
        """Which batches of an update are its own."""
        return batches[self.rank :: self.size]

    def number(self, place: int) -> int:
        """The number, among all batches of the update, of one in its share: it governs what is drawn at random."""
        return self.rank + place * self.size

    def sum(self, *numbers: float) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Give every process the gradients of all batches, in one exchange."""
        if self.size == 1:
            return
        every = list(parameters)
        # At the end of an epoch there may be no batch left for this process: it adds nothing.
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in every]
        total = torch.nn.utils.parameters_to_vector(gradients)  # (all parameters,)
        distributed.all_reduce(total)
        torch.nn.utils.vector_to_parameters(total, gradients)
        for each, gradient in zip(every, gradients, strict=True):
            each.grad = gradient

    def decided(self, *answers: bool) -> list[bool]:
        """The answers of the leader: clocks and signals differ, and all must do the same."""
        if self.size == 1:
            return list(answers)
        told = torch.tensor(answers, dtype=torch.uint8, device=self.device)
        distributed.broadcast(told, src=0)
        return [bool(answer) for answer in told.tolist()]

    def agrees(self, *facts: object) -> bool:
        """Whether these are the same for all processes."""
        if self.size == 1:
            return True
        told: list[object] = [None] * self.size
        distributed.all_gather_object(told, facts)
        return all(each == facts for each in told)

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """The first process of each machine goes ahead: what it stores in the cache the others find there."""
        if self.size > 1 and self.local_rank > 0:
            distributed.barrier()
        yield
        if self.size > 1 and self.local_rank == 0:
            distributed.barrier()


ALONE = World()


@contextmanager
def together(model: ModelConfig, train: TrainConfig) -> Iterator[World]:
    """The world that torchrun made, or this process alone."""
    if not distributed.is_torchelastic_launched():
        yield ALONE
        return
    rank, size, local_rank, local_size = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    on_gpus = train.device in ("auto", "cuda") and torch.cuda.is_available()
    _check(model, train, size, local_size, on_gpus)
    if on_gpus:
        torch.cuda.set_device(local_rank)
    distributed.init_process_group("nccl" if on_gpus else "gloo", timeout=PATIENCE)
    yield World(rank, size, local_rank, local_size, "cuda" if on_gpus else "cpu")
    # Not after an error: to take the group down may be an exchange too, and the others wait elsewhere. The process ends
    # with its error instead, and torchrun ends the others.
    distributed.destroy_process_group()


def _check(model: ModelConfig, train: TrainConfig, size: int, local_size: int, on_gpus: bool) -> None:
    problems = []
    if on_gpus and local_size > torch.cuda.device_count():
        what = f"{local_size} processes on this machine, but {torch.cuda.device_count()} GPUs"
        problems.append(Problem(what, "--nproc-per-node", "start one process a GPU"))
    on_mps = train.device == "mps" or (train.device == "auto" and not on_gpus and torch.backends.mps.is_available())
    if on_mps and size > 1:
        problems.append(Problem("processes cannot share an Apple GPU", "device", "set device=cpu, or train with one"))
    if train.accumulate % size:
        what = f"{train.accumulate} batches cannot be shared out evenly among {size} processes"
        problems.append(Problem(what, "accumulate", f"give a multiple of {size}, or start another number of processes"))
    if model.norm == "batch" and size > 1:
        what = "each process would have running statistics of its own"
        problems.append(Problem(what, "norm", "choose 'layer' or 'rms', or train with one process"))
    if problems:
        raise UserError(problems)
