from __future__ import annotations

import numpy as np
import pytest

from pellucid.decode import logit_filters as filters

INF = np.inf


def log(*probabilities: float) -> np.ndarray:
    return np.array([np.log(probability) if probability else -INF for probability in probabilities])


def test_log_softmax_by_hand_and_without_overflow() -> None:
    np.testing.assert_allclose(np.exp(filters.log_softmax(np.array([2.0, 1.0, 0.0]))), [0.665, 0.245, 0.090], atol=5e-4)
    np.testing.assert_allclose(filters.log_softmax(np.array([1e4, 1e4])), log(0.5, 0.5))
    np.testing.assert_allclose(filters.log_softmax(log(0.25, 0.0, 0.75)), log(0.25, 0.0, 0.75))


def test_temperature_by_hand() -> None:
    # At 0.5 every probability is squared before they are normalised: 1/9 and 4/9 become 1/5 and 4/5.
    np.testing.assert_allclose(np.exp(filters.log_softmax(filters.temperature(log(1 / 3, 2 / 3), 0.5))), [0.2, 0.8])
    assert filters.temperature(log(0.2, 0.5, 0.3), 0).tolist() == [-INF, np.log(0.5), -INF]
    for dtype in (np.float32, np.float64):
        coldest = filters.temperature(log(0.2, 0.5, 0.3).astype(dtype), 1e-300)
        assert np.exp(filters.log_softmax(coldest)).tolist() == [0.0, 1.0, 0.0]


def test_top_k_keeps_exactly_k_of_each_row() -> None:
    scores = np.array([[1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
    kept = np.isfinite(filters.top_k(scores, 2))
    assert kept.tolist() == [[False, True, True, False], [True, True, False, False]]
    assert np.isfinite(filters.top_k(scores, 99)).all()


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        (0.0, [1]),  # at least one
        (0.49, [1]),
        (0.5, [0, 1]),  # 0.5 does not exceed 0.5
        (0.7, [0, 1]),
        (0.8, [0, 1, 3]),
        (0.97, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_top_p_is_the_smallest_set_that_exceeds_p(p: float, kept: list[int]) -> None:
    scores = log(0.25, 0.5, 0.0625, 0.1875)  # sums of these are exact
    assert np.flatnonzero(np.isfinite(filters.top_p(scores, p))).tolist() == kept


def test_top_p_against_every_subset() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        probabilities = rng.dirichlet(np.ones(6))
        p = rng.random()
        kept = np.isfinite(filters.top_p(np.log(probabilities), p))
        assert probabilities[kept].sum() > p
        sizes = [bin(subset).count("1") for subset in range(64) if probabilities[_members(subset)].sum() > p]
        assert kept.sum() == min(sizes)


def _members(subset: int) -> list[bool]:
    return [bool(subset >> place & 1) for place in range(6)]


def test_rows_do_not_look_at_each_other() -> None:
    scores = np.random.default_rng(2).normal(size=(3, 4, 9))
    for rule in (
        filters.log_softmax,
        lambda x: filters.temperature(x, 0.7),
        lambda x: filters.top_k(x, 3),
        lambda x: filters.top_p(x, 0.6),
    ):
        whole = rule(scores)
        for place in np.ndindex(3, 4):
            np.testing.assert_array_equal(whole[place], rule(scores[place]))


def test_repetition_penalty_by_hand() -> None:
    scores = np.array([[2.0, -1.0, 0.5, -3.0]])
    penalised = filters.repetition_penalty(scores, np.array([[0, 1, 1]]), 2.0)
    assert penalised.tolist() == [[1.0, -2.0, 0.5, -3.0]]  # twice in the history, penalised once
    assert scores.tolist() == [[2.0, -1.0, 0.5, -3.0]]


@pytest.mark.parametrize(
    ("history", "size", "blocked"),
    [
        ([1, 2, 1], 2, [2]),
        ([1, 2, 1, 3, 1], 2, [2, 3]),
        ([1, 2, 3, 1, 2], 3, [3]),
        ([1, 2], 3, []),
        ([1, 2, 1], 1, [1, 2]),
        ([4, 4], 2, [4]),
        ([], 1, []),
    ],
)
def test_no_repeat_ngram_by_hand(history: list[int], size: int, blocked: list[int]) -> None:
    tokens = np.array(history, dtype=np.int64)
    alone = filters.no_repeat_ngram(np.zeros(6), tokens, size)
    assert np.flatnonzero(np.isinf(alone)).tolist() == blocked
    other = np.zeros_like(tokens)
    other[...] = np.arange(len(tokens)) % 2 * 5
    batch = filters.no_repeat_ngram(np.zeros((1, 2, 6)), np.stack([other, tokens])[None], size)
    assert np.flatnonzero(np.isinf(batch[0, 1])).tolist() == blocked


def test_sampling_follows_the_probabilities() -> None:
    probabilities = np.array([0.0, 0.1, 0.6, 0.0, 0.3, 0.0])
    rows = 4000
    generators = [np.random.default_rng([3, row]) for row in range(rows)]
    drawn = filters.sample(np.tile(log(*probabilities), (rows, 1)), generators)
    counts = np.bincount(drawn, minlength=6)
    assert counts[probabilities == 0].sum() == 0
    expected = rows * probabilities[probabilities > 0]
    chi_squared = ((counts[probabilities > 0] - expected) ** 2 / expected).sum()
    assert chi_squared < 13.8  # 2 degrees of freedom, one chance in a thousand


class _Luck(np.random.Generator):
    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, *_: object, **__: object) -> float:  # type: ignore[override]
        return self.value


@pytest.mark.parametrize(("luck", "token"), [(0.0, 1), (0.3, 2), (np.nextafter(1.0, 0.0), 2), (1.0, 2)])
def test_sampling_at_the_edges_never_takes_an_impossible_token(luck: float, token: int) -> None:
    assert filters.sample(log(0.0, 0.25, 0.75, 0.0)[None], [_Luck(luck)]).tolist() == [token]
