"""The batches of an epoch, made when they are asked for, with augmentation if there is any.

Augmentation changes lengths, and a single long row makes a whole batch longer. So the batches of a window are changed
together, their rows sorted by length anew and cut into as many batches again. That keeps a batch a function of the
seed, the epoch and its number, whatever was asked for before.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.text.augment import Augmentation
from pellucid.text.batch import Batch, cut, order_by_length
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus

WINDOW = 160  # batches: with so many 92% of the tokens are real on everyday sentences, 95% without augmentation


class Epoch:
    """`plan` has the numbers of the pairs of each batch."""

    def __init__(
        self,
        corpus: Corpus,
        plan: Sequence[NDArray[np.integer[Any]]],
        number: int,
        augmentation: Augmentation | None = None,
        dropout: BpeDropout | None = None,
    ) -> None:
        self.corpus = corpus
        self.plan = plan
        self.number = number
        self.augmentation = augmentation
        self.dropout = dropout
        self._window: tuple[int, list[Batch]] = -1, []  # the last one, because its batches are used one after the other

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, number: int) -> Batch:
        if self.augmentation is None:
            return Batch.of(self.corpus, self.plan[number], self.dropout, self.number)
        window, place = divmod(number, WINDOW)
        if window != self._window[0]:
            self._window = (
                window,
                self._augmented(self.plan[window * WINDOW : (window + 1) * WINDOW], self.augmentation),
            )
        return self._window[1][place]

    def _augmented(self, planned: Sequence[NDArray[np.integer[Any]]], augmentation: Augmentation) -> list[Batch]:
        pairs = np.concatenate(planned)
        rows = augmentation.rows(pairs, self.number, self.dropout)
        source, target = (np.array([len(row[side]) for row in rows]) for side in (0, 1))
        order = order_by_length(source, target)
        groups = _groups(source[order], target[order], len(planned))
        Random(f"{self.number} {pairs[0]}").shuffle(groups)
        batches = []
        for group in groups:
            chosen = [rows[row] for row in order[group]]
            sources, targets = [row.source for row in chosen], [row.target for row in chosen]
            batches.append(Batch.from_ids(sources, targets, [pair for row in chosen for pair in row.pairs]))
        return batches


def _groups(source: NDArray[np.int64], target: NDArray[np.int64], count: int) -> list[slice]:
    """The rows, sorted by length, cut into `count` batches: the largest as small as possible, padding included."""
    count = min(count, len(source))
    low, high = 1, int((source.max() + target.max()) * len(source))  # tokens of a batch
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(cut(source, target, middle)) <= count else (middle + 1, high)
    groups = cut(source, target, low)
    while len(groups) < count:
        largest = max(groups, key=lambda rows: rows.stop - rows.start)
        middle = (largest.start + largest.stop) // 2
        groups.remove(largest)
        groups += [slice(largest.start, middle), slice(middle, largest.stop)]
    return groups
