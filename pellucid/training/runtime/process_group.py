"""Several processes, started by torchrun, train one model: data parallelism over the batches of every update.

Each process sums the gradients of its own batches, an all-reduce adds these sums, and every process takes the same
optimizer step. An update is `accumulate` batches, however many processes divide them. With equal threads per process a
run therefore does not depend on their number, up to rounding: it can be stopped on eight GPUs and resumed on one.
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
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn import Parameter

from pellucid.config import ModelConfig, TrainConfig
from pellucid.errors import Problem, UserError

T = TypeVar("T")
TIMEOUT = timedelta(days=1)  # rank 0 reads pairs and validates while the others wait; torchrun ends them if it dies


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run, as one of them sees it. By default there is only one."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0  # on its machine
    local_world_size: int = 1
    device: str = "cpu"  # of the tensors that are exchanged

    @property
    def is_main(self) -> bool:
        """Rank 0 decides when to stop, validates, and writes all files."""
        return self.rank == 0

    def own_batches(self, batches: Sequence[T]) -> Sequence[T]:
        """The batches of an update that this process computes."""
        return batches[self.rank :: self.world_size]

    def batch_number(self, index: int) -> int:
        """The number of its batch `index` among all batches of the update."""
        return self.rank + index * self.world_size

    def all_reduce(self, number: float) -> float:
        """The sum over all processes."""
        if self.world_size == 1:
            return number
        total = torch.tensor(number, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.item()

    def all_reduce_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Sum the gradients over all processes, in one exchange."""
        if self.world_size == 1:
            return
        every = list(parameters)
        # At the end of an epoch there may be no batch left for this process: its gradients are zero.
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in every]
        total = torch.nn.utils.parameters_to_vector(gradients)  # (all parameters,)
        distributed.all_reduce(total)
        torch.nn.utils.vector_to_parameters(total, gradients)
        for each, gradient in zip(every, gradients, strict=True):
            each.grad = gradient

    def broadcast(self, *flags: bool) -> list[bool]:
        """The flags of rank 0: clocks and signals differ between processes, and all must do the same."""
        if self.world_size == 1:
            return list(flags)
        values = torch.tensor(flags, dtype=torch.uint8, device=self.device)
        distributed.broadcast(values, src=0)
        return [bool(value) for value in values.tolist()]

    def all_equal(self, *values: object) -> bool:
        """Whether all processes have the same values."""
        if self.world_size == 1:
            return True
        gathered: list[object] = [None] * self.world_size
        distributed.all_gather_object(gathered, values)
        return all(each == values for each in gathered)

    @contextmanager
    def local_main_first(self) -> Iterator[None]:
        """The first process of each machine enters before the others: they find in the cache what it stores."""
        if self.world_size > 1 and self.local_rank > 0:
            distributed.barrier()
        yield
        if self.world_size > 1 and self.local_rank == 0:
            distributed.barrier()


SINGLE = ProcessGroup()


@contextmanager
def process_group(model: ModelConfig, train: TrainConfig) -> Iterator[ProcessGroup]:
    """The process group under torchrun, else this single process."""
    if not distributed.is_torchelastic_launched():
        yield SINGLE
        return
    rank, world_size, local_rank, local_world_size = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    on_gpus = train.device in ("auto", "cuda") and torch.cuda.is_available()
    _check(model, train, world_size, local_world_size, on_gpus)
    if on_gpus:
        torch.cuda.set_device(local_rank)
    backend = "nccl" if on_gpus else "gloo"
    distributed.init_process_group(backend, store=_own_store(), rank=rank, world_size=world_size, timeout=TIMEOUT)
    yield ProcessGroup(rank, world_size, local_rank, local_world_size, "cuda" if on_gpus else "cpu")
    # Not after an error: destroying the group may itself wait for the other processes, which are waiting elsewhere. The
    # process ends with its error instead, and torchrun ends the others.
    distributed.destroy_process_group()


def _own_store() -> PrefixStore:
    """The store in which the processes find each other. After a restart torchrun gives them the one they had before,
    in which the addresses of the dead processes still are: so each start has its own part of it."""
    store, _, _ = next(rendezvous("env://", timeout=TIMEOUT))
    return PrefixStore(f"start-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def _check(model: ModelConfig, train: TrainConfig, world_size: int, local_world_size: int, on_gpus: bool) -> None:
    problems = []
    if on_gpus and local_world_size > torch.cuda.device_count():
        what = f"{local_world_size} processes on this machine, but {torch.cuda.device_count()} GPUs"
        problems.append(Problem(what, "--nproc-per-node", "start one process per GPU"))
    on_mps = train.device == "mps" or (train.device == "auto" and not on_gpus and torch.backends.mps.is_available())
    if on_mps and world_size > 1:
        problems.append(Problem("processes cannot share an Apple GPU", "device", "set device=cpu, or train with one"))
    if train.accumulate % world_size:
        what = f"{train.accumulate} batches cannot be divided evenly among {world_size} processes"
        remedy = f"give a multiple of {world_size}, or start another number of processes"
        problems.append(Problem(what, "accumulate", remedy))
    if model.norm == "batch" and world_size > 1:
        what = "each process would have running statistics of its own"
        problems.append(Problem(what, "norm", "choose 'layer' or 'rms', or train with one process"))
    restarts = int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0"))
    shared = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if restarts and shared and local_world_size < world_size:  # each machine counts its restarts for itself
        what = "restarted processes on several machines would wait for those that died"
        problems.append(Problem(what, "--max-restarts", "set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 for torchrun"))
    if problems:
        raise UserError(problems)
