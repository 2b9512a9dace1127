"""One batch on several cores: each takes some rows through the whole model and back, and the gradients are added up.

The other way, each operation spread over all cores, makes them wait for one another at every one of a step's thousand
small operations. Measured on two cores with a tiny model: 1.2 times as fast this way (1.05 to 1.4 in three turns).
Only a batch of so few rows that half the cores would have none is done the other way: a token of a single sentence of
2,048 costs 320 µs then instead of 570.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from pellucid.nn.dropout import seeded
from pellucid.text.batch import Batch

LEAST_TOKENS = 1024  # of a shard at least, so that its matrices do not get small; chosen, not measured


class Shards:
    """So many threads for the rows of a batch, or `undivided` ones for each operation where the rows are too few."""

    def __init__(self, count: int, undivided: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.count = count
        self.undivided = undivided
        self._threads = ThreadPoolExecutor(count, "shard")

    def gradients(
        self, loss_of: Callable[[Batch], Tensor], parameters: Sequence[Tensor], batch: Batch, seed: int, scale: float
    ) -> tuple[float, list[Tensor | None]]:
        """The summed loss of a batch, and `scale` times its gradients; `seed` governs what is dropped."""
        rows = len(batch.pairs)
        count = self.count if 2 * rows > self.count else 1

        def work(number: int) -> tuple[float, list[Tensor | None]]:
            with seeded(seed + number):
                loss = loss_of(batch.shard(number, count))
            return loss.item(), list(torch.autograd.grad(loss, parameters, loss.new_tensor(scale), allow_unused=True))

        if count == 1:
            with self.undivided():
                return work(0)
        results = self._threads.map(work, range(min(count, rows)))
        total, gradients = next(results)
        for loss, more in results:  # in the order of the shards, not as they finish: the same bits every time
            total += loss
            for place, gradient in enumerate(more):  # one at a time: each sum frees the tensor whose place it takes
                gradients[place] = _sum(gradients[place], gradient)
        return total, gradients


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """A part of the model that a loss does not depend on has no gradient."""
    return second if first is None else first if second is None else first + second
