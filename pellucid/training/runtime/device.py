"""The device of a training, its CPU threads, and the precision of its matrix products."""

from __future__ import annotations

import ctypes
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from pellucid.config import ModelConfig, TrainConfig
from pellucid.cores import cores
from pellucid.errors import UserError
from pellucid.nn.mixed_precision import supports_bfloat16
from pellucid.nn.threads import threads
from pellucid.training.runtime.shards import Shards

MIN_SHARD_TOKENS = 1024  # so that the matrices of a shard are not too small; chosen, not measured
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's names for the two limits
KEEP_BELOW = 2**30  # bytes


@dataclass(frozen=True)
class Device:
    name: str
    threads: int
    bfloat16: bool  # mixed precision

    @classmethod
    def of(cls, config: TrainConfig, saved_threads: int | None = None, processes: int = 1) -> Device:
        """The device of a config. Its threads are those of the config, else those that a resumed run had (equal threads
        give equal weights), else the cores of the machine divided by the `processes` that train on it."""
        name = _devices()[0] if config.device == "auto" else config.device
        if name not in _devices():
            raise UserError(f"there is no {name} here", "device", f"choose {' or '.join(_devices())}, or auto")
        count = config.threads or saved_threads or max(1, cores() // processes)
        bfloat16 = supports_bfloat16(name) if config.precision == "auto" else config.precision == "bfloat16"
        return cls(name, count, bfloat16)

    def shards(self, batch_tokens: int, model: ModelConfig) -> Shards:
        """The shards of a batch on a CPU. PyTorch is given the threads that are left for each of them."""
        whole = self.name != "cpu" or model.norm == "batch"  # batch norm takes its statistics over all rows
        count = 1 if whole else max(1, min(self.threads, batch_tokens // MIN_SHARD_TOKENS))
        torch.set_num_threads(max(1, self.threads // count))
        return Shards(count, self.all_threads)

    def all_threads(self) -> AbstractContextManager[None]:
        """All threads for each operation. No shard may start inside: its thread would keep that number."""
        return threads(self.threads)

    def autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self.name, torch.bfloat16) if self.bfloat16 else nullcontext()


def _devices() -> list[str]:
    """The devices of this machine, the fastest first."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name, usable in available.items() if usable]


def keep_freed_memory() -> None:
    """Ask glibc to keep large blocks that are freed: every step allocates them again, and would pay for page faults."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # musl has none
        library.mallopt(M_MMAP_THRESHOLD, KEEP_BELOW)
        library.mallopt(M_TRIM_THRESHOLD, KEEP_BELOW)
