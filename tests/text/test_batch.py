"""Batches: hand-made ones, and the promises of the plan on any lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pellucid.text import batch as batch_module
from pellucid.text.batch import Batch, batches, ordered_batches, pad, real_share
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import END, PAD, START, Tokenizers


class Lengths:
    """All of a corpus that a plan looks at."""

    def __init__(self, source: list[int], target: list[int]) -> None:
        self.source, self.target = np.array(source, np.int64), np.array(target, np.int64)

    def __len__(self) -> int:
        return len(self.source)

    def lengths(self, pairs: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.source[pairs], self.target[pairs]

    def tokens(self, pairs: NDArray[np.integer[Any]]) -> int:
        """Padding included."""
        return len(pairs) * int(self.source[pairs].max() + self.target[pairs].max())


def corpus_of(lengths: Lengths) -> Corpus:
    return cast(Corpus, lengths)


def like_sentences(count: int, seed: int = 0) -> Lengths:
    """Sources of about 15 tokens with a long tail, targets that follow them loosely."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(2.6, 0.35, count), 3, 60).astype(int)
    target = np.clip(source * random.normal(1.05, 0.18, count), 3, 80).astype(int)
    return Lengths(source.tolist(), target.tolist())


def test_share_of_real_tokens_by_hand() -> None:
    corpus = corpus_of(Lengths([3, 5, 4], [2, 2, 7]))
    plan = [np.array([0, 1], np.uint32), np.array([2], np.uint32)]
    assert real_share(corpus, plan) == pytest.approx((3 + 5 + 2 + 2 + 4 + 7) / (2 * 5 + 2 * 2 + 4 + 7))


def test_shards_by_hand() -> None:
    batch = Batch.from_ids([[7, END], [9, 8, 7, END], [5, END]], [[5, 6, END], [6, END], [END]])
    first, second = batch.shard(0, 2), batch.shard(1, 2)
    assert first.source.tolist() == [[7, END], [5, END]]
    assert first.target_in.tolist() == [[START, 5, 6], [START, PAD, PAD]]
    assert first.target_out.tolist() == [[5, 6, END], [END, PAD, PAD]]
    assert first.target_real.tolist() == [[True, True, True], [True, False, False]]
    assert second.source.tolist() == [[9, 8, 7, END]]
    assert second.target_out.tolist() == [[6, END]]
    assert [*first.pairs, *second.pairs] == [0, 2, 1]
    assert first.target_tokens + second.target_tokens == batch.target_tokens


def test_shift_padding_and_masks_by_hand() -> None:
    batch = Batch.from_ids([[7, 0, END], [9, END]], [[5, END], [6, 0, 8, END]])
    assert batch.source.tolist() == [[7, 0, END], [9, END, PAD]]
    assert batch.source_real.tolist() == [[True, True, True], [True, True, False]]  # an id 0 inside is no padding
    assert batch.target_in.tolist() == [[START, 5, PAD, PAD], [START, 6, 0, 8]]
    assert batch.target_out.tolist() == [[5, END, PAD, PAD], [6, 0, 8, END]]
    assert batch.target_real.tolist() == [[True, True, False, False], [True, True, True, True]]
    assert (batch.source_tokens, batch.target_tokens) == (5, 6)
    assert batch.pairs.tolist() == [0, 1]
    assert {array.dtype for array in (batch.source, batch.target_in, batch.target_out, batch.pairs)} == {
        np.dtype(np.int64)
    }


def test_sides_of_different_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="2 sources, 1 targets"):
        Batch.from_ids([[END], [END]], [[END]])


@given(st.lists(st.lists(st.integers(0, 99), max_size=9), max_size=9))
def test_the_kept_places_hold_the_rows(rows: list[list[int]]) -> None:
    ids, real = pad(rows)
    assert ids.shape == real.shape == (len(rows), max(map(len, rows), default=0))
    for row, padded, kept in zip(rows, ids, real, strict=True):
        assert padded.tolist() == row + [PAD] * (len(padded) - len(row))
        assert kept.tolist() == [True] * len(row) + [False] * (len(kept) - len(row))


def test_a_batch_of_a_corpus(tmp_path: Path) -> None:
    pairs = [Pair(f"word {n}", f"Wort {n} {n}", "en", "de") for n in range(9)]
    tokenizers = Tokenizers.learn(pairs, 300, ["de", "en"])
    corpus = Corpus.build(pairs, tokenizers, tmp_path / "c", both_ways=True)
    batch = Batch.of(corpus, np.array([11, 3], np.uint32))
    same = Batch.from_ids(
        [tokenizers.encode_source("Wort 2 2", "en"), tokenizers.encode_source("word 3", "de")],
        [tokenizers.encode_target("word 2"), tokenizers.encode_target("Wort 3 3")],
        [11, 3],
    )
    for name in ("source", "source_real", "target_in", "target_out", "target_real", "pairs"):
        assert getattr(batch, name).tolist() == getattr(same, name).tolist()
    dropout = BpeDropout(tokenizers, 1.0, 1)
    assert Batch.of(corpus, [3], dropout, 4).source.tolist() == [corpus.source_ids(3, dropout, 4)]
    assert Batch.of(corpus, [3], dropout, 4).target_tokens == len(" Wort 3 3") + 1


lengths = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=200)


@given(lengths, st.integers(2, 400), st.integers(0, 2**32), st.integers(0, 9), st.integers(1, 64), st.randoms())
def test_every_pair_comes_once_within_the_budget(
    sides: list[tuple[int, int]], batch_tokens: int, seed: int, epoch: int, pool: int, random: Any
) -> None:
    corpus = Lengths([source for source, _ in sides], [target for _, target in sides])
    some = np.array(random.sample(range(len(sides)), random.randint(1, len(sides))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_module, "POOL", pool)
        for plan, expected in (
            (batches(corpus_of(corpus), batch_tokens, seed, epoch), range(len(sides))),
            (batches(corpus_of(corpus), batch_tokens, seed, epoch, some), some),
            (ordered_batches(corpus_of(corpus), batch_tokens), range(len(sides))),
            (ordered_batches(corpus_of(corpus), batch_tokens, some), some),
        ):
            assert sorted(number for numbers in plan for number in numbers.tolist()) == sorted(expected)
            assert all(len(numbers) > 0 for numbers in plan)
            assert all(corpus.tokens(numbers) <= batch_tokens or len(numbers) == 1 for numbers in plan)


def as_lists(plan: list[NDArray[np.uint32]]) -> list[list[int]]:
    return [numbers.tolist() for numbers in plan]


def test_the_plan_is_a_pure_function_of_seed_and_epoch() -> None:
    corpus = corpus_of(like_sentences(3000))
    plan = as_lists(batches(corpus, 2048, 1, 2))
    np.random.default_rng(5).random(100)
    assert as_lists(batches(corpus, 2048, 1, 2)) == plan
    others = [as_lists(batches(corpus, 2048, 1, 3)), as_lists(batches(corpus, 2048, 2, 2))]
    for other in others:
        assert other != plan
        # Not only the order of the batches is another: pairs of one length get other mates.
        assert len({frozenset(numbers) for numbers in plan} & {frozenset(numbers) for numbers in other}) < len(plan) / 2


def test_given_pairs_are_not_reordered_in_place() -> None:
    some = np.arange(500, dtype=np.uint32)
    batches(corpus_of(like_sentences(1000)), 512, 1, 0, some)
    assert some.tolist() == list(range(500))


def test_batches_come_in_any_order_of_length() -> None:
    corpus = like_sentences(5000)
    widths = [corpus.source[numbers].mean() for numbers in batches(corpus_of(corpus), 2048, 1, 0)]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.3
    ordered = [corpus.source[numbers].max() for numbers in ordered_batches(corpus_of(corpus), 2048)]
    assert ordered == sorted(ordered)


def test_little_is_padding() -> None:
    corpus = like_sentences(29_000)
    for plan in (batches(corpus_of(corpus), 4096, 1, 0), ordered_batches(corpus_of(corpus), 4096)):
        real = int(corpus.source.sum() + corpus.target.sum())
        assert real / sum(corpus.tokens(numbers) for numbers in plan) >= 0.95
        # Nor is the budget left unused.
        assert real / (len(plan) * 4096) >= 0.9


def test_the_budget_is_used_to_the_last_token() -> None:
    corpus = corpus_of(Lengths([4] * 8, [6] * 8))
    assert [len(numbers) for numbers in batches(corpus, 40, 1, 0)] == [4, 4]
    assert sorted(len(numbers) for numbers in batches(corpus, 39, 1, 0)) == [2, 3, 3]


def test_a_pair_over_the_budget_is_a_batch_of_its_own() -> None:
    plan = batches(corpus_of(Lengths([5, 900, 5], [5, 900, 5])), 100, 1, 0)
    assert sorted(as_lists(plan), key=len)[0] == [1]
    assert len(plan) == 2
