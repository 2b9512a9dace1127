"""Greedy search, sampling and beam search over a step function; the model is never seen.

`step(tokens, cache)` takes the last token of every hypothesis, (rows, beam), and gives logits or log-probabilities
(rows, beam, vocabulary) with the cache that has seen them. A row is a sentence that is still searched for.

Beam search follows CTranslate2 rule by rule, so that engines agree:

* A hypothesis scores its log-probability divided by length ** length_penalty. The length counts every token, the end
  and a forced prefix too; the log-probability leaves the prefix out. (fairseq and Marian divide the same way; GNMT's
  ((5 + length) / 6) ** alpha is another formula.)
* Each step ranks the best 2 * beam candidates. Those among the first `beam` that end are finished; the first `beam`
  that do not end live on.
* A sentence is finished with `beam` finished hypotheses; with length_penalty 0, where a longer hypothesis never scores
  better, as soon as the best candidate has ended; and at `max_length`, where what lives is taken unfinished.

With `stopping="exact"` a sentence ends only when no live hypothesis can still score better than the ones returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode import filters
from pellucid.decode.filters import Floats, Ints
from pellucid.text.tokenizer import END, PAD, START


class Cache(Protocol):
    """What the model remembers of the steps so far."""

    def select(self, sentences: Ints, beams: Ints) -> Self:
        """Keep the rows `sentences` (kept,) and of each the beams `beams` (kept, new beam), in that order."""
        ...


Step = Callable[[Ints, Any], tuple[Floats, Any]]
Watch = Callable[[int, int], None]
"""Called with (sentence, token) as each token is chosen, the end left out."""


class Ranking(NamedTuple):
    """The candidates of one step of a beam search, best first, and what became of them."""

    sentence: Ints  # (rows,) which sentence of the request
    beams: Ints  # (rows, candidates) the live hypothesis that each would continue
    tokens: Ints  # (rows, candidates) what it would say
    log_prob: NDArray[np.float64]  # (rows, candidates) of the hypothesis with it; -inf: no candidate
    ended: NDArray[np.bool_]  # (rows, candidates) finished here
    living: Ints  # (rows, beam) the candidate at each place of the next beam; -1: that place is empty


WatchBeam = Callable[[Ranking], None]


class Sentence(NamedTuple):
    """What is searched for: the source as the encoder saw it, and the tokens the target must begin with."""

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()


class Hypothesis(NamedTuple):
    """A target: its tokens without start and end, its score, and whether it came to its end by itself."""

    tokens: tuple[int, ...]
    score: float
    ended: bool


@dataclass
class State:
    """The sentences still searched for. Rows leave as they finish."""

    sentence: Ints  # (rows,) which sentence of the request
    tokens: Ints  # (rows, beam, length) said so far, prefix included, start not
    log_prob: NDArray[np.float64]  # (rows, beam) of the tokens after the prefix; -inf: no hypothesis there
    prefix: list[tuple[int, ...]]  # of each row
    max_length: Ints  # (rows,)
    cache: Any

    @property
    def length(self) -> int:
        return int(self.tokens.shape[-1])

    def last(self) -> Ints:
        """What the model sees next, (rows, beam)."""
        return self.tokens[..., -1] if self.length else np.full(self.log_prob.shape, START, dtype=np.int64)

    def select(self, rows: Ints, beams: Ints) -> State:
        """Beams `beams` (kept, new beam) of the rows `rows` (kept,)."""
        return State(
            self.sentence[rows],
            self.tokens[rows[:, None], beams],
            self.log_prob[rows[:, None], beams],
            [self.prefix[row] for row in rows],
            self.max_length[rows],
            self.cache.select(rows, beams),
        )

    def say(self, tokens: Ints, log_prob: NDArray[np.float64]) -> State:
        """One more token for every hypothesis, (rows, beam), and the log-probabilities they have with it."""
        longer = np.concatenate([self.tokens, tokens[..., None]], axis=-1)
        return replace(self, tokens=longer, log_prob=log_prob)


def usual_length(source: int) -> int:
    """Most steps for a source of so many tokens where nobody asks for more or fewer."""
    return 3 * source + 10


def max_length(sentence: Sentence, config: DecodeConfig, positions: int | None = None) -> int:
    """Most steps for a sentence, the end counted: as asked, else three times the source and ten more after the prefix
    (and room for the least that is asked for); never more than the positions a model has."""
    usual = usual_length(len(sentence.source)) + len(sentence.prefix)
    asked = config.max_length or max(usual, config.min_length + 1)
    return asked if positions is None else min(asked, positions)


def search(
    step: Step,
    cache: Cache,
    sentences: Sequence[Sentence],
    config: DecodeConfig,
    positions: int | None = None,
    watch: Watch | None = None,
    watch_beam: WatchBeam | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of every sentence, best first. `cache` has one row a sentence and one beam; `positions`
    is how many the model has; `watch` sees the tokens of greedy search and sampling as they come, `watch_beam` the
    steps of a beam."""
    if not sentences:
        return []
    rows = len(sentences)
    state = State(
        sentence=np.arange(rows),
        tokens=np.zeros((rows, 1, 0), dtype=np.int64),
        log_prob=np.zeros((rows, 1)),
        prefix=[sentence.prefix for sentence in sentences],
        max_length=np.array([max_length(sentence, config, positions) for sentence in sentences]),
        cache=cache,
    )
    if config.strategy == "beam":
        return beam(step, state, config, watch_beam)
    generators = [generator(config.seed, s.source, sample) for s in sentences for sample in range(config.n_best)]
    return one_by_one(step, state, config, generators, watch)


def beam(step: Step, state: State, config: DecodeConfig, watch: WatchBeam | None = None) -> list[list[Hypothesis]]:
    """The likeliest sequences: `beam` hypotheses of every sentence live side by side. `watch` sees every step."""
    finished: list[list[Hypothesis]] = [[] for _ in state.sentence]
    led_to_end = np.zeros(len(finished), dtype=bool)  # the best candidate of some step has ended
    while len(state.sentence):
        scores, state.cache = step(state.last(), state.cache)
        log_probs = _force(state, _next_log_probs(state, scores, config))
        beams, tokens, log_prob = _best(state.log_prob[..., None] + log_probs, 2 * config.beam)
        _end_after_prefix_must_lead(state, tokens, log_prob)

        length = state.length + 1
        cut = np.equal(state.max_length, length)[:, None]  # (rows, 1)
        ended = (tokens == END) | cut
        ended[:, config.beam :] = False
        alive = np.isfinite(log_prob)
        for row, rank in np.argwhere(ended & alive):
            before = state.tokens[row, beams[row, rank]]
            hypothesis = _hypothesis(before, int(tokens[row, rank]), float(log_prob[row, rank]), config)
            finished[state.sentence[row]].append(hypothesis)
        led_to_end[state.sentence[ended[:, 0] & alive[:, 0]]] = True

        live = (tokens != END) & ~cut
        ranks = np.argsort(~live, axis=-1, kind="stable")[:, : config.beam]  # (rows, beam) of those that live on
        if watch:
            living = np.where(np.take_along_axis(live & alive, ranks, axis=-1), ranks, -1)
            watch(Ranking(state.sentence, beams, tokens, log_prob, ended & alive, living))
        log_prob = np.take_along_axis(np.where(live, log_prob, -np.inf), ranks, axis=-1)
        beams, tokens = (np.take_along_axis(x, ranks, axis=-1) for x in (beams, tokens))
        done = np.array(
            [
                _done(finished[sentence], led_to_end[sentence], best, length, longest, config)
                for sentence, best, longest in zip(state.sentence, log_prob.max(axis=-1), state.max_length, strict=True)
            ]
        )
        rows = np.flatnonzero(~done)
        state = state.select(rows, beams[rows]).say(tokens[rows], log_prob[rows])
    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[: config.n_best] for found in finished]


def one_by_one(
    step: Step,
    state: State,
    config: DecodeConfig,
    generators: Sequence[np.random.Generator],
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Greedy search and sampling: one token after the other, never taken back. Each sample is a row of its own."""
    finished: list[list[Hypothesis]] = [[] for _ in state.sentence]
    owner = np.repeat(state.sentence, config.n_best)
    if config.n_best > 1:
        state = replace(state.select(owner, np.zeros((len(owner), 1), dtype=np.int64)), sentence=np.arange(len(owner)))
    while len(state.sentence):
        scores, state.cache = step(state.last(), state.cache)
        log_probs = _force(state, _next_log_probs(state, scores, config))[:, 0]  # (rows, vocabulary): one beam
        if config.strategy == "sample":
            tokens = filters.draw(_filtered(log_probs, config), [generators[row] for row in state.sentence])
        else:
            tokens = log_probs.argmax(axis=-1)
        log_prob = state.log_prob[:, 0] + np.take_along_axis(log_probs, tokens[:, None], axis=-1)[:, 0]

        length = state.length + 1
        over = (tokens == END) | (length == state.max_length)
        for row in range(len(tokens)):
            sentence = int(owner[state.sentence[row]])
            token = int(tokens[row])
            if watch and token != END and length > len(state.prefix[row]):
                watch(sentence, token)
            if over[row]:
                finished[sentence].append(_hypothesis(state.tokens[row, 0], token, float(log_prob[row]), config))
        rows = np.flatnonzero(~over)
        only = np.zeros((len(rows), 1), dtype=np.int64)
        state = state.select(rows, only).say(tokens[rows, None], log_prob[rows, None])
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in finished]


def _hypothesis(before: Ints, token: int, log_prob: float, config: DecodeConfig) -> Hypothesis:
    """What is finished with `token`, said after the tokens `before`, (length,)."""
    said = (*before.tolist(), token)
    score = log_prob / len(said) ** config.length_penalty
    return Hypothesis(said[:-1] if token == END else said, score, token == END)


def generator(seed: int | None, source: Sequence[int], sample: int) -> np.random.Generator:
    """The luck of one sample of one sentence. It follows from the seed and the sentence alone, so that neither the
    other sentences of a request nor their order change a result. Without a seed it is new each time."""
    return np.random.default_rng(None if seed is None else [seed, sample, *source])


def _next_log_probs(state: State, scores: Floats, config: DecodeConfig) -> Floats:
    """What the model thinks of each next token, (rows, beam, vocabulary), under the rules of the request."""
    if config.repetition_penalty != 1 and state.length:
        scores = filters.repetition_penalty(scores, state.tokens, config.repetition_penalty)
    if config.no_repeat_ngram:
        scores = filters.no_repeat_ngram(scores, state.tokens, config.no_repeat_ngram)
    if state.length < config.min_length:
        scores = filters.without(scores, END)
    if config.no_repeat_ngram:
        scores = filters.never_nothing(scores, END)
    return filters.log_softmax(scores)


def _filtered(log_probs: Floats, config: DecodeConfig) -> Floats:
    scores = filters.temperature(log_probs, config.temperature)
    if config.top_k is not None:
        scores = filters.top_k(scores, config.top_k)
    if config.top_p is not None:
        scores = filters.top_p(scores, config.top_p)
    return scores


def _force(state: State, log_probs: Floats) -> Floats:
    """Where a prefix still has a token to say, that token is certain and every other impossible."""
    forced = [row for row, prefix in enumerate(state.prefix) if state.length < len(prefix)]
    if not forced:
        return log_probs
    log_probs = log_probs.copy()
    log_probs[forced] = -np.inf
    for row in forced:
        log_probs[row, :, state.prefix[row][state.length]] = 0.0
    return log_probs


def _best(totals: NDArray[np.float64], count: int) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The best continuations of every row, best first: beams, tokens, log-probabilities, each (rows, candidates)."""
    rows, _, vocabulary = totals.shape
    flat = totals.reshape(rows, -1)  # (rows, beam * vocabulary)
    count = min(count, flat.shape[1])
    best = np.sort(np.argpartition(-flat, count - 1, axis=-1)[:, :count], axis=-1)
    log_prob = np.take_along_axis(flat, best, axis=-1)
    order = np.argsort(-log_prob, axis=-1, kind="stable")  # equals stay in the order of beam and token
    best = np.take_along_axis(best, order, axis=-1)
    return best // vocabulary, best % vocabulary, np.take_along_axis(log_prob, order, axis=-1)


def _end_after_prefix_must_lead(state: State, tokens: Ints, log_prob: NDArray[np.float64]) -> None:
    """Right after a prefix all candidates continue one hypothesis. An end that is not the best of them would be a
    short hypothesis that only a wide beam lets in: it dies, and its place in the beam stays empty for a step."""
    for row, prefix in enumerate(state.prefix):
        if prefix and state.length == len(prefix):
            late = tokens[row, 1:] == END
            tokens[row, 1:][late] = PAD
            log_prob[row, 1:][late] = -np.inf


def _done(
    finished: list[Hypothesis], led_to_end: bool, best_live: float, length: int, longest: int, config: DecodeConfig
) -> bool:
    if not np.isfinite(best_live):
        return True  # nothing lives
    if config.stopping == "exact":
        if len(finished) < config.n_best:
            return False
        worst_returned = sorted((hypothesis.score for hypothesis in finished), reverse=True)[config.n_best - 1]
        return worst_returned >= _bound(best_live, length, longest, config)
    if config.length_penalty == 0:
        return led_to_end and len(finished) >= config.n_best
    return len(finished) >= config.beam


def _bound(log_prob: float, said: int, longest: int, config: DecodeConfig) -> float:
    """The best score a live hypothesis can still reach. Its log-probability never rises, so at best it stays; then the
    longest length divides it most, or, with a negative penalty, the shortest multiplies it least."""
    shortest = min(max(said, config.min_length) + 1, longest)
    length = longest if config.length_penalty > 0 else shortest
    return log_prob / float(length**config.length_penalty)
