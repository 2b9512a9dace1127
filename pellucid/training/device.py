"""Where and how precisely to compute."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from pellucid.config import ModelConfig, TrainConfig
from pellucid.cores import cores
from pellucid.errors import UserError
from pellucid.nn.threads import threads
from pellucid.training.shards import LEAST_TOKENS


@dataclass(frozen=True)
class Device:
    """A device, its CPU threads, and whether matrix products are done in bfloat16."""

    name: str
    threads: int
    bfloat16: bool

    @classmethod
    def of(cls, config: TrainConfig, saved_threads: int | None = None, processes: int = 1) -> Device:
        """As configured; threads as configured, else as the run had them: equal counts give equal weights. Else the
        cores of the machine, shared with the other processes that train here."""
        name = _devices()[0] if config.device == "auto" else config.device
        if name not in _devices():
            raise UserError(f"there is no {name} here", "device", f"choose {' or '.join(_devices())}, or auto")
        count = config.threads or saved_threads or max(1, cores() // processes)
        wanted = config.precision == "bfloat16" or (config.precision == "auto" and _multiplies_bfloat16(name))
        return cls(name, count, wanted)

    def divided(self, batch_tokens: int, model: ModelConfig) -> int:
        """Into how many shards a batch is cut; PyTorch gets the threads that are left for each of them."""
        whole = self.name != "cpu" or model.norm == "batch"  # batch norm looks at all rows at once
        shards = 1 if whole else max(1, min(self.threads, batch_tokens // LEAST_TOKENS))
        torch.set_num_threads(max(1, self.threads // shards))
        return shards

    def undivided(self) -> AbstractContextManager[None]:
        """All threads for each operation while no shard is at work. None may start inside: it would keep as many."""
        return threads(self.threads)

    def autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self.name, torch.bfloat16) if self.bfloat16 else nullcontext()


def _devices() -> list[str]:
    """Those of this machine, the best first."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name, usable in there.items() if usable]


def _multiplies_bfloat16(device: str) -> bool:
    """Without hardware for it, bfloat16 on a CPU is hundreds of times slower than float32."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
