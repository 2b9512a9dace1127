"""Greedy search, sampling and beam search over a step function; they know nothing of the model.

`step(tokens, cache)` takes the last token of every hypothesis, (rows, beam), and returns logits or log-probabilities
(rows, beam, vocabulary) and the longer cache. A row is a sentence whose search is not finished.

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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode import logit_filters as filters
from pellucid.decode.hypotheses import BeamState, Cache, Hypothesis, OnRanking, OnToken, Ranking, Sentence, StepFunction
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.text.tokenizer import END, PAD


def search(
    step: StepFunction,
    cache: Cache,
    sentences: Sequence[Sentence],
    config: DecodeConfig,
    positions: int | None = None,
    on_token: OnToken | None = None,
    on_ranking: OnRanking | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of every sentence, best first. `cache` has one row per sentence and one beam; `positions`
    is how many the model has; `on_token` is called with the tokens of greedy search and sampling as they are chosen,
    `on_ranking` with the steps of a beam search."""
    if not sentences:
        return []
    state = BeamState.start(sentences, cache, config, positions)
    if config.strategy == "beam":
        return beam_search(step, state, config, on_ranking)
    generators = [generator(config.seed, s.source_ids, sample) for s in sentences for sample in range(config.n_best)]
    return greedy_or_sample(step, state, config, generators, on_token)


def beam_search(
    step: StepFunction, state: BeamState, config: DecodeConfig, on_ranking: OnRanking | None = None
) -> list[list[Hypothesis]]:
    """Keep the `beam` best hypotheses of every sentence at each step."""
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
            hypothesis = Hypothesis.finished(
                before, int(tokens[row, rank]), float(log_prob[row, rank]), config.length_penalty
            )
            finished[state.sentence[row]].append(hypothesis)
        led_to_end[state.sentence[ended[:, 0] & alive[:, 0]]] = True

        live = (tokens != END) & ~cut
        ranks = np.argsort(~live, axis=-1, kind="stable")[:, : config.beam]  # (rows, beam) of those that live on
        if on_ranking:
            living = np.where(np.take_along_axis(live & alive, ranks, axis=-1), ranks, -1)
            on_ranking(Ranking(state.sentence, beams, tokens, log_prob, ended & alive, living))
        log_prob = np.take_along_axis(np.where(live, log_prob, -np.inf), ranks, axis=-1)
        beams, tokens = (np.take_along_axis(x, ranks, axis=-1) for x in (beams, tokens))
        done = np.array(
            [
                _done(finished[sentence], led_to_end[sentence], best, length, longest, config)
                for sentence, best, longest in zip(state.sentence, log_prob.max(axis=-1), state.max_length, strict=True)
            ]
        )
        rows = np.flatnonzero(~done)
        state = state.select(rows, beams[rows]).append(tokens[rows], log_prob[rows])
    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[: config.n_best] for found in finished]


def greedy_or_sample(
    step: StepFunction,
    state: BeamState,
    config: DecodeConfig,
    generators: Sequence[np.random.Generator],
    on_token: OnToken | None = None,
) -> list[list[Hypothesis]]:
    """Choose one token at each step and keep it. Each sample is a row of its own."""
    finished: list[list[Hypothesis]] = [[] for _ in state.sentence]
    owner = np.repeat(state.sentence, config.n_best)
    if config.n_best > 1:
        state = replace(state.select(owner, np.zeros((len(owner), 1), dtype=np.int64)), sentence=np.arange(len(owner)))
    while len(state.sentence):
        scores, state.cache = step(state.last(), state.cache)
        log_probs = _force(state, _next_log_probs(state, scores, config))[:, 0]  # (rows, vocabulary): one beam
        if config.strategy == "sample":
            tokens = filters.sample(_filtered(log_probs, config), [generators[row] for row in state.sentence])
        else:
            tokens = log_probs.argmax(axis=-1)
        log_prob = state.log_prob[:, 0] + np.take_along_axis(log_probs, tokens[:, None], axis=-1)[:, 0]

        length = state.length + 1
        over = (tokens == END) | (length == state.max_length)
        for row in range(len(tokens)):
            sentence = int(owner[state.sentence[row]])
            token = int(tokens[row])
            if on_token and token != END and length > len(state.prefix[row]):
                on_token(sentence, token)
            if over[row]:
                before, total = state.tokens[row, 0], float(log_prob[row])
                finished[sentence].append(Hypothesis.finished(before, token, total, config.length_penalty))
        rows = np.flatnonzero(~over)
        only = np.zeros((len(rows), 1), dtype=np.int64)
        state = state.select(rows, only).append(tokens[rows, None], log_prob[rows, None])
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in finished]


def generator(seed: int | None, source: Sequence[int], sample: int) -> np.random.Generator:
    """The random numbers of one sample of one sentence. They follow from the seed and the sentence alone: neither the
    other sentences of a request nor their order change a result. Without a seed they are new each time."""
    return np.random.default_rng(None if seed is None else [seed, sample, *source])


def _next_log_probs(state: BeamState, scores: Floats, config: DecodeConfig) -> Floats:
    """Log-probabilities of the next token, (rows, beam, vocabulary), after the penalties of the request."""
    if config.repetition_penalty != 1 and state.length:
        scores = filters.repetition_penalty(scores, state.tokens, config.repetition_penalty)
    if config.no_repeat_ngram:
        scores = filters.no_repeat_ngram(scores, state.tokens, config.no_repeat_ngram)
    if state.length < config.min_length:
        scores = filters.exclude(scores, END)
    if config.no_repeat_ngram:
        scores = filters.ensure_one_allowed(scores, END)
    return filters.log_softmax(scores)


def _filtered(log_probs: Floats, config: DecodeConfig) -> Floats:
    scores = filters.temperature(log_probs, config.temperature)
    if config.top_k is not None:
        scores = filters.top_k(scores, config.top_k)
    if config.top_p is not None:
        scores = filters.top_p(scores, config.top_p)
    return scores


def _force(state: BeamState, log_probs: Floats) -> Floats:
    """Where the prefix has a token left, that token gets probability 1 and every other 0."""
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


def _end_after_prefix_must_lead(state: BeamState, tokens: Ints, log_prob: NDArray[np.float64]) -> None:
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


def _bound(log_prob: float, length_so_far: int, longest: int, config: DecodeConfig) -> float:
    """The best score a live hypothesis can still reach. Its log-probability never rises, so at best it stays; then the
    longest length divides it most, or, with a negative penalty, the shortest multiplies it least."""
    shortest = min(max(length_so_far, config.min_length) + 1, longest)
    length = longest if config.length_penalty > 0 else shortest
    return log_prob / float(length**config.length_penalty)
