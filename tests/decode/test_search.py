from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Hypothesis, Sentence, StepFunction
from pellucid.decode.search import search
from pellucid.text.tokenizer import END, START

VOCABULARY = 5  # pad, start, end and two words


@dataclass(frozen=True)
class History:
    """A cache that holds all tokens so far: they are the state of the automaton."""

    sentence: np.ndarray  # (rows,)
    history: np.ndarray  # (rows, beam, length)

    def select(self, sentences: np.ndarray, beams: np.ndarray) -> History:
        return History(self.sentence[sentences], self.history[sentences[:, None], beams])


def automaton(sentences: int, sharpness: float = 1.5) -> tuple[StepFunction, History]:
    """A random language: the logits after a history depend on all of it, and on the sentence."""

    def step(tokens: np.ndarray, cache: History) -> tuple[np.ndarray, History]:
        assert len(tokens) == len(cache.sentence), "a finished row was not taken out"
        history = np.concatenate([cache.history, tokens[..., None]], axis=-1)
        scores = np.array(
            [
                [logits(sentence, so_far, sharpness) for so_far in beams]
                for sentence, beams in zip(cache.sentence, history, strict=True)
            ]
        )
        return scores, replace(cache, history=history)

    return step, History(np.arange(sentences), np.zeros((sentences, 1, 0), dtype=np.int64))


def logits(sentence: int, so_far: np.ndarray, sharpness: float) -> np.ndarray:
    return np.random.default_rng([int(sentence), *so_far.tolist()]).normal(size=VOCABULARY) * sharpness


def log_probs(scores: np.ndarray) -> np.ndarray:
    return scores - math.log(sum(math.exp(score) for score in scores))


def every_target(sentence: int, longest: int, penalty: float, least: int = 0) -> list[Hypothesis]:
    """All sequences there are, scored one by one."""

    def grow(so_far: tuple[int, ...], log_prob: float) -> Iterator[Hypothesis]:
        scores = logits(sentence, np.array([START, *so_far]), 1.5)
        if len(so_far) < least:
            scores[END] = -math.inf
        length = len(so_far) + 1
        for token, more in enumerate(log_probs(scores)):
            if more == -math.inf:
                continue
            total = log_prob + more
            if token == END:
                yield Hypothesis(so_far, total / length**penalty, True)
            elif length == longest:
                yield Hypothesis((*so_far, token), total / length**penalty, False)
            else:
                yield from grow((*so_far, token), total)

    return sorted(grow((), 0.0), key=lambda hypothesis: -hypothesis.score)


def run(config: DecodeConfig, sentences: int = 1, prefix: tuple[int, ...] = ()) -> list[list[Hypothesis]]:
    step, cache = automaton(sentences)
    return search(step, cache, [Sentence((5, END), prefix)] * sentences, config)


def settings(strategy: str) -> DecodeConfig:
    return {
        "greedy": DecodeConfig(strategy="greedy"),
        "beam": DecodeConfig(beam=3),
        "sample": DecodeConfig(strategy="sample", seed=1),
    }[strategy]


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.tokens, h.ended) for h in found] == [(h.tokens, h.ended) for h in expected]
    np.testing.assert_allclose([h.score for h in found], [h.score for h in expected])


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, -0.5])
@pytest.mark.parametrize("least", [0, 2])
def test_a_beam_wide_enough_is_exhaustive_search(penalty: float, least: int) -> None:
    longest = 4
    config = DecodeConfig(
        beam=4 * 5**3, length_penalty=penalty, max_length=longest, n_best=7, min_length=least, stopping="exact"
    )
    for sentence, found in enumerate(run(config, sentences=3)):
        assert_same(found, every_target(sentence, longest, penalty, least)[:7])


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_with_the_default_rule_a_wide_beam_finds_the_best_too(penalty: float) -> None:
    config = DecodeConfig(beam=500, length_penalty=penalty, max_length=4)
    for sentence, found in enumerate(run(config, sentences=4)):
        assert_same(found, every_target(sentence, 4, penalty)[:1])


def test_the_exact_rule_never_scores_below_the_default_one() -> None:
    gained = 0
    for penalty, width in itertools.product([0.6, 1.0, 1.4], [1, 2, 3]):
        default = DecodeConfig(beam=width, length_penalty=penalty, max_length=9)
        for quick, exact in zip(
            run(default, sentences=12), run(default.changed(stopping="exact"), sentences=12), strict=True
        ):
            assert exact[0].score >= quick[0].score - 1e-12
            gained += exact[0].score > quick[0].score + 1e-12
    assert gained, "some sentence should show the difference"


def plain_beam(sentence: int, width: int, penalty: float, longest: int) -> list[Hypothesis]:
    """The default rule once more, on Python lists and one sentence."""
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[Hypothesis] = []
    for length in range(1, longest + 1):
        candidates = []
        for so_far, log_prob in live:
            row = log_probs(logits(sentence, np.array([START, *so_far]), 1.5))
            candidates += [((*so_far, token), log_prob + more) for token, more in enumerate(row)]
        candidates.sort(key=lambda candidate: -candidate[1])
        for so_far, log_prob in candidates[:width]:
            if so_far[-1] == END:
                finished.append(Hypothesis(so_far[:-1], log_prob / length**penalty, True))
            elif length == longest:
                finished.append(Hypothesis(so_far, log_prob / length**penalty, False))
        live = [candidate for candidate in candidates[: 2 * width] if candidate[0][-1] != END][:width]
        if len(finished) >= width:
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_default_rule_is_the_one_written_down(width: int) -> None:
    config = DecodeConfig(beam=width, n_best=width, length_penalty=0.8, max_length=7)
    for sentence, found in enumerate(run(config, sentences=10)):
        assert_same(found, plain_beam(sentence, width, 0.8, 7)[:width])


def test_beam_of_one_is_greedy() -> None:
    greedy = run(DecodeConfig(strategy="greedy", max_length=8), sentences=20)
    narrow = run(DecodeConfig(beam=1, max_length=8), sentences=20)
    for first, second in zip(greedy, narrow, strict=True):
        assert_same(first, second)


def test_mates_and_their_order_change_nothing() -> None:
    for config in (
        DecodeConfig(beam=2, n_best=2, max_length=8),
        DecodeConfig(strategy="greedy", max_length=8),
        DecodeConfig(strategy="sample", seed=3, n_best=2, max_length=8),
    ):
        together = run(config, sentences=9)
        step, cache = automaton(9)
        backwards = search(
            step, cache.select(np.arange(9)[::-1], np.zeros((9, 1), int)), [Sentence((5, END))] * 9, config
        )
        for place in range(9):
            alone = search(step, cache.select(np.array([place]), np.zeros((1, 1), int)), [Sentence((5, END))], config)
            assert together[place] == backwards[8 - place] == alone[0]


def chain(*rows: list[float], start: int = 3) -> tuple[StepFunction, History]:
    """Probabilities that depend on the place alone; the last column is the end, the others are words."""

    def step(tokens: np.ndarray, cache: History) -> tuple[np.ndarray, History]:
        row = np.array(rows[cache.history.shape[-1]])
        scores = np.full((*tokens.shape, start + len(row) - 1), -np.inf)
        with np.errstate(divide="ignore"):
            scores[..., start:] = np.log(row[:-1])
            scores[..., END] = np.log(row[-1])
        return scores, replace(cache, history=np.concatenate([cache.history, tokens[..., None]], axis=-1))

    return step, History(np.zeros(1, int), np.zeros((1, 1, 0), dtype=np.int64))


def test_greedy_says_the_cat_sat_on() -> None:
    words = ["the", "cat", "sat", "on"]
    step, cache = chain(
        [0.8, 0.05, 0.05, 0.05, 0.05],
        [0.1, 0.7, 0.1, 0.05, 0.05],
        [0.05, 0.05, 0.85, 0.03, 0.02],
        [0.02, 0.03, 0.1, 0.85, 0.01],  # sums to 1.01: the search makes it a distribution
        [0.01, 0.01, 0.01, 0.02, 0.95],
    )
    [[found]] = search(step, cache, [Sentence((END,))], DecodeConfig(strategy="greedy", length_penalty=0.0))
    assert [words[token - 3] for token in found.tokens] == words
    assert found.ended
    assert found.score == pytest.approx(math.log(0.8 * 0.7 * 0.85 * (0.85 / 1.01) * 0.95))


def test_beam_finds_a_likelier_whole_than_greedy() -> None:
    words = ["I", "am", "fine", "finally", "feeling", "much", "better"]
    sentence_of = {
        (): {"I": 1.0},
        ("I",): {"am": 1.0},
        ("I", "am"): {"fine": 0.55, "finally": 0.45},
        ("I", "am", "fine"): {"": 0.6, "much": 0.4},  # "fine" looks better at first: 0.55 against 0.45
        ("I", "am", "finally"): {"feeling": 0.9, "": 0.1},
        ("I", "am", "finally", "feeling"): {"much": 0.95, "": 0.05},
        ("I", "am", "finally", "feeling", "much"): {"better": 1.0},
    }

    def step(tokens: np.ndarray, cache: History) -> tuple[np.ndarray, History]:
        history = np.concatenate([cache.history, tokens[..., None]], axis=-1)
        scores = np.full((*tokens.shape, 10), -np.inf)
        for place in np.ndindex(tokens.shape):
            so_far = tuple(words[token - 3] for token in history[place][1:] if token >= 3)
            for word, probability in sentence_of.get(so_far, {"": 1.0}).items():
                scores[place][words.index(word) + 3 if word else END] = math.log(probability)
        return scores, replace(cache, history=history)

    def best(config: DecodeConfig) -> tuple[str, float]:
        cache = History(np.zeros(1, int), np.zeros((1, 1, 0), dtype=np.int64))
        [[found]] = search(step, cache, [Sentence((END,))], config)
        return " ".join(words[token - 3] for token in found.tokens), math.exp(found.score)

    greedy, greedy_probability = best(DecodeConfig(strategy="greedy", length_penalty=0.0))
    beam, beam_probability = best(DecodeConfig(beam=2, length_penalty=0.0))
    assert (greedy, beam) == ("I am fine", "I am finally feeling much better")
    assert greedy_probability == pytest.approx(0.55 * 0.6)
    assert beam_probability == pytest.approx(0.45 * 0.9 * 0.95)


def test_n_best_is_ordered_and_distinct() -> None:
    [found] = run(DecodeConfig(beam=5, n_best=5, max_length=6))
    assert len({h.tokens for h in found}) == len(found) == 5
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_shortest_and_longest(strategy: str) -> None:
    config = settings(strategy).changed(min_length=4, max_length=6)
    lengths = {len(h.tokens) for found in run(config, sentences=30) for h in found}
    assert min(lengths) >= 4
    assert max(lengths) <= 6
    unbounded = config.changed(min_length=0, max_length=None)
    assert all(len(h.tokens) <= 3 * 2 + 10 for found in run(unbounded, sentences=30) for h in found)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_a_prefix_is_kept_and_costs_nothing(strategy: str) -> None:
    config = settings(strategy).changed(length_penalty=0.0, max_length=9)
    for sentence, [found] in enumerate(run(config, sentences=5, prefix=(3, 4, 3))):
        assert found.tokens[:3] == (3, 4, 3)
        so_far = (*found.tokens, END) if found.ended else found.tokens
        by_hand = sum(
            log_probs(logits(sentence, np.array([START, *so_far[:place]]), 1.5))[so_far[place]]
            for place in range(3, len(so_far))
        )
        assert found.score == pytest.approx(by_hand)


def test_an_end_right_after_the_prefix_must_be_the_best_candidate() -> None:
    # After the prefix the end is second best: the beam drops it, though no longer hypothesis is as likely.
    step, cache = chain([0.5, 0.4, 0.1], [0.45, 0.15, 0.4], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0])
    [found] = search(step, cache, [Sentence((END,), (3,))], DecodeConfig(beam=2, length_penalty=0.0, n_best=2))
    assert all(len(h.tokens) > 1 for h in found)
    assert max(h.score for h in found) < math.log(0.4)


def test_no_run_of_tokens_comes_twice() -> None:
    for config in (settings("greedy"), settings("beam").changed(n_best=3), settings("sample")):
        for found in run(config.changed(no_repeat_ngram=2, min_length=3, max_length=12), sentences=20):
            for hypothesis in found:
                pairs = list(itertools.pairwise(hypothesis.tokens))
                assert len(pairs) == len(set(pairs))


def test_rules_that_leave_nothing_to_say_end_the_sentence() -> None:
    for strategy in ("greedy", "beam", "sample"):
        config = settings(strategy).changed(no_repeat_ngram=1, min_length=50, max_length=60)
        for [found] in run(config, sentences=3):
            assert found.ended
            assert len(found.tokens) == VOCABULARY - 1  # every token but the end, once


def test_a_repetition_penalty_makes_words_rarer() -> None:
    def repeats(penalty: float) -> int:
        config = DecodeConfig(strategy="greedy", repetition_penalty=penalty, min_length=6, max_length=8)
        return sum(len(found.tokens) - len(set(found.tokens)) for [found] in run(config, sentences=30))

    assert repeats(0.5) > repeats(1.0) > repeats(4.0)


def test_sampling_follows_the_distribution() -> None:
    """Of all sequences up to three tokens, each is drawn as often as its probability says."""
    draws = 6000
    targets = every_target(0, 3, 0.0)
    step, cache = automaton(1)
    cache = cache.select(np.zeros(draws, int), np.zeros((draws, 1), int))
    sentences = [Sentence((number, END)) for number in range(draws)]  # other sources, so other luck
    found = search(step, cache, sentences, DecodeConfig(strategy="sample", seed=7, max_length=3))
    expected = {(h.tokens, h.ended): math.exp(h.score) for h in targets}
    assert sum(expected.values()) == pytest.approx(1)
    counts = dict.fromkeys(expected, 0)
    for [hypothesis] in found:
        counts[hypothesis.tokens, hypothesis.ended] += 1
    common = [key for key, probability in expected.items() if draws * probability >= 5]
    rare = 1 - sum(expected[key] for key in common)
    pairs = [(counts[key], draws * expected[key]) for key in common]
    pairs.append((draws - sum(counts[key] for key in common), draws * rare))
    chi_squared = sum((seen - hoped) ** 2 / hoped for seen, hoped in pairs)
    freedom = len(pairs) - 1
    assert chi_squared < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.parametrize(
    "config",
    [
        DecodeConfig(strategy="sample", seed=11, max_length=1, top_k=2),
        DecodeConfig(strategy="sample", seed=11, max_length=1, top_p=0.5),
        DecodeConfig(strategy="sample", seed=11, max_length=1, temperature=0.5),
    ],
    ids=["top_k", "top_p", "temperature"],
)
def test_filters_shape_what_is_sampled(config: DecodeConfig) -> None:
    draws = 3000
    step, cache = automaton(1)
    cache = cache.select(np.zeros(draws, int), np.zeros((draws, 1), int))
    found = search(step, cache, [Sentence((number, END)) for number in range(draws)], config)
    probabilities = np.exp(log_probs(logits(0, np.array([START]), 1.5)))
    order = np.argsort(-probabilities)
    if config.top_k:
        probabilities[order[2:]] = 0
    elif config.top_p:
        count = int((np.cumsum(probabilities[order]) <= 0.5).sum()) + 1
        probabilities[order[count:]] = 0
    else:
        probabilities = probabilities**2
    expected = draws * probabilities / probabilities.sum()
    counts = np.bincount([END if h.ended else h.tokens[0] for [h] in found], minlength=VOCABULARY)
    assert counts[expected == 0].sum() == 0
    seen = expected > 0
    chi_squared = ((counts[seen] - expected[seen]) ** 2 / expected[seen]).sum()
    assert chi_squared < 18.5  # 4 degrees of freedom at most, one chance in a thousand


def test_a_seed_decides_and_no_seed_does_not() -> None:
    config = DecodeConfig(strategy="sample", seed=5, n_best=3, max_length=12)
    assert run(config, sentences=4) == run(config, sentences=4)
    assert run(config, sentences=4) != run(config.changed(seed=6), sentences=4)
    free = config.changed(seed=None, min_length=8)
    assert run(free, sentences=8) != run(free, sentences=8)


def test_tokens_are_shown_as_they_are_chosen() -> None:
    step, cache = automaton(4)
    shown: dict[int, list[int]] = {place: [] for place in range(4)}
    found = search(
        step,
        cache,
        [Sentence((5, END), (3,))] * 4,
        DecodeConfig(strategy="greedy", max_length=9),
        on_token=lambda sentence, token: shown[sentence].append(token),
    )
    assert [(3, *shown[place]) for place in range(4)] == [hypothesis.tokens for [hypothesis] in found]


def test_nothing_to_search_for() -> None:
    step, cache = automaton(0)
    assert search(step, cache, [], DecodeConfig()) == []
