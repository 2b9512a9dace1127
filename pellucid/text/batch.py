"""Batches: which pairs go together, and their ids shifted, padded, masked and counted. Here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus
from pellucid.text.tokenizer import PAD, START

POOL = 2**16  # pairs sorted by length together: many batches, so that they differ from epoch to epoch


@dataclass(frozen=True)
class Batch:
    """Some pairs as arrays, padded on the right. `real` is True at real tokens: padding is never guessed from ids."""

    source: NDArray[np.int64]  # (rows, source length)
    source_real: NDArray[np.bool_]  # (rows, source length)
    target_in: NDArray[np.int64]  # (rows, target length): START, then the target
    target_out: NDArray[np.int64]  # (rows, target length): the target, then END
    target_real: NDArray[np.bool_]  # (rows, target length), for target_in and target_out alike
    pairs: NDArray[np.int64]  # which pairs of the corpus: one for each row, more where augmentation made paragraphs

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        pairs: Sequence[int] | NDArray[np.integer[Any]],
        dropout: BpeDropout | None = None,
        epoch: int = 0,
    ) -> Self:
        numbers = [int(pair) for pair in pairs]
        return cls.from_ids(
            [corpus.source_ids(pair, dropout, epoch) for pair in numbers],
            [corpus.target_ids(pair, dropout, epoch) for pair in numbers],
            numbers,
        )

    @classmethod
    def from_ids(
        cls, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], pairs: Sequence[int] | None = None
    ) -> Self:
        """From ids as `Tokenizers.encode_source` and `encode_target` give them, END included."""
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} sources, {len(targets)} targets")
        source, source_real = pad(sources)
        target_in, target_real = pad([shifted(target) for target in targets])
        target_out, _ = pad(targets)
        numbers = np.arange(len(sources)) if pairs is None else np.array(pairs, np.int64)
        return cls(source, source_real, target_in, target_out, target_real, numbers)

    def shard(self, number: int, count: int) -> Self:
        """Every `count`-th row from row `number` on, without the columns that are padding in all of them."""
        source_real, target_real = self.source_real[number::count], self.target_real[number::count]
        source, target = slice(source_real.sum(1).max(initial=0)), slice(target_real.sum(1).max(initial=0))
        return type(self)(
            self.source[number::count, source],
            source_real[:, source],
            self.target_in[number::count, target],
            self.target_out[number::count, target],
            target_real[:, target],
            self.pairs[number::count],
        )

    @property
    def source_tokens(self) -> int:
        """Real tokens, tag and END included."""
        return int(self.source_real.sum())

    @property
    def target_tokens(self) -> int:
        """Real tokens that are predicted, END included."""
        return int(self.target_real.sum())


def shifted(target: Sequence[int]) -> list[int]:
    """The input of the decoder when it predicts each token of `target`: START, then all but the last."""
    return [START, *target[:-1]]


def pad(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of ids side by side, (rows, longest), filled up with PAD on the right; and where the real ones are."""
    lengths = np.array([len(row) for row in rows], np.int64)
    real = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(real.shape, PAD, np.int64)
    ids[real] = [number for row in rows for number in row]
    return ids, real


def batches(
    corpus: Corpus, batch_tokens: int, seed: int, epoch: int, pairs: NDArray[np.integer[Any]] | None = None
) -> list[NDArray[np.uint32]]:
    """The batches of an epoch over `pairs` (default: all), each as the numbers of its pairs.

    A pure function of its arguments: to resume at batch k, skip the first k. Every pair occurs exactly once. Padding
    included, a batch has at most `batch_tokens` source and target tokens; a pair that alone has more is a batch of its
    own. The pairs are shuffled and cut into pools; in each pool, pairs of similar lengths form batches, and the batches
    are shuffled.
    """
    random = np.random.default_rng([seed, epoch])
    order = _numbers(corpus, pairs)
    random.shuffle(order)
    plan: list[NDArray[np.uint32]] = []
    for first in range(0, len(order), POOL):
        pool = _by_length(corpus, order[first : first + POOL], batch_tokens)
        plan += [pool[number] for number in random.permutation(len(pool))]
    return plan


def ordered_batches(
    corpus: Corpus, batch_tokens: int, pairs: NDArray[np.integer[Any]] | None = None
) -> list[NDArray[np.uint32]]:
    """The same without chance, from the shortest to the longest: for validation."""
    return _by_length(corpus, _numbers(corpus, pairs), batch_tokens)


def real_share(corpus: Corpus, plan: Sequence[NDArray[np.uint32]]) -> float:
    """The share of real tokens in the batches of a plan; the rest is padding."""
    real = padded = 0
    for pairs in plan:
        for lengths in corpus.lengths(pairs):
            real += int(lengths.sum())
            padded += len(lengths) * int(lengths.max())
    return real / padded


def _numbers(corpus: Corpus, pairs: NDArray[np.integer[Any]] | None) -> NDArray[np.uint32]:
    """A fresh array of pair numbers: 4 bytes a pair is most of the memory that a corpus takes."""
    return np.arange(len(corpus), dtype=np.uint32) if pairs is None else np.array(pairs, np.uint32)


def _by_length(corpus: Corpus, pairs: NDArray[np.uint32], batch_tokens: int) -> list[NDArray[np.uint32]]:
    """Sort `pairs` in place so that neighbours have like lengths on both sides, and cut them into batches."""
    source, target = corpus.lengths(pairs)
    order = order_by_length(source, target)
    pairs[:] = pairs[order]
    return [pairs[rows] for rows in cut(source[order], target[order], batch_tokens)]


def order_by_length(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order in which neighbours have like lengths on both sides. Targets rise and fall in turn with the source
    length, so that there is no jump where the next length begins."""
    return np.lexsort((np.where(source % 2, target, -target), source))


def cut(source: NDArray[np.int64], target: NDArray[np.int64], batch_tokens: int) -> list[slice]:
    """Rows of these lengths, in their order, cut into batches of at most `batch_tokens`, padding included."""
    batches = []
    first = 0
    while first < len(source):
        most = max(1, batch_tokens // int(source[first] + target[first]))
        rows = slice(first, first + most)
        widths = np.maximum.accumulate(source[rows]) + np.maximum.accumulate(target[rows])
        sizes = widths * np.arange(1, len(widths) + 1)  # tokens, padding included, of the first 1, 2, ... rows
        last = first + max(1, int(np.searchsorted(sizes, batch_tokens, side="right")))
        batches.append(slice(first, min(last, len(source))))
        first = last
    return batches
