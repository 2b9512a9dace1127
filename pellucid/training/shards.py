"""One batch on several cores: each takes some rows through the whole model and back, and the gradients are added up.

The other way, each operation spread over all cores, makes them wait for one another at every one of a step's thousand
small operations. Measured on two cores with a tiny model: 1.2 times as fast this way (1.05 to 1.4 in three turns).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from pellucid.nn.dropout import seeded
from pellucid.text.batch import Batch

LEAST_TOKENS = 1024  # of a shard at least, so that its matrices do not get small; chosen, not measured


class Shards:
    """So many threads for the rows of a batch."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads = ThreadPoolExecutor(count, "shard")

    def gradients(
        self, loss_of: Callable[[Batch], Tensor], parameters: Sequence[Tensor], batch: Batch, seed: int, scale: float
    ) -> tuple[float, list[Tensor | None]]:
        """The summed loss of a batch, and `scale` times its gradients; `seed` governs what is dropped."""

        def work(number: int) -> tuple[float, list[Tensor | None]]:
            with seeded(seed + number):
                loss = loss_of(batch.shard(number, self.count))
            return loss.item(), list(torch.autograd.grad(loss, parameters, loss.new_tensor(scale), allow_unused=True))

        numbers = range(min(self.count, len(batch.pairs)))
        results = self._threads.map(work, numbers) if self.count > 1 else iter([work(0)])
        total, gradients = next(results)
        for loss, more in results:  # in the order of the shards, not as they finish: the same bits every time
            total += loss
            for place, gradient in enumerate(more):  # one at a time: each sum frees the tensor whose place it takes
                gradients[place] = _sum(gradients[place], gradient)
        return total, gradients


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """A part of the model that a loss does not depend on has no gradient."""
    return second if first is None else first if second is None else first + second
