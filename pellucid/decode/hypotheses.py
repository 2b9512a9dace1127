"""What a search works on: sentences, hypotheses, the state of all unfinished ones, and the ranking of a beam step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.text.tokenizer import END, START


class Cache(Protocol):
    """Keys and values of the steps so far."""

    def select(self, sentences: Ints, beams: Ints) -> Self:
        """Keep the rows `sentences` (kept,) and of each the beams `beams` (kept, new beam), in that order."""
        ...


StepFunction = Callable[[Ints, Any], tuple[Floats, Any]]
"""The last token of every hypothesis, (rows, beam), and the cache -> logits (rows, beam, vocabulary), new cache."""
OnToken = Callable[[int, int], None]
"""Called with (sentence, token) as each token is chosen, except the end."""
Stop = Callable[[], bool]
"""Whether the result of a search is no longer needed. It is called often, from the thread that searches."""


class StoppedError(Exception):
    """The translation is no longer needed."""


class Sentence(NamedTuple):
    """What is searched for: the source as the encoder reads it, the tokens that the translation must begin with, and
    the language of the translation (None in a model without language codes)."""

    source_ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    target_language: str | None = None


class Hypothesis(NamedTuple):
    """A translation: its tokens without start and end, its score, and whether it ended with the end token."""

    tokens: tuple[int, ...]
    score: float
    ended: bool

    @classmethod
    def finished(cls, before: Ints, token: int, log_prob: float, length_penalty: float) -> Self:
        """The hypothesis that `token` finishes after the tokens `before`, (length,)."""
        tokens = (*before.tolist(), token)
        score = log_prob / len(tokens) ** length_penalty
        return cls(tokens[:-1] if token == END else tokens, score, token == END)

    @property
    def with_end(self) -> list[int]:
        """The tokens as the model predicted them, the end included if it was."""
        return [*self.tokens, END] if self.ended else list(self.tokens)


class Ranking(NamedTuple):
    """The candidates of one step of a beam search, best first, and what became of them."""

    sentence: Ints  # (rows,) which sentence of the request
    beams: Ints  # (rows, candidates) the live hypothesis that each continues
    tokens: Ints  # (rows, candidates) its next token
    log_prob: NDArray[np.float64]  # (rows, candidates) of the hypothesis with it; -inf: no candidate
    ended: NDArray[np.bool_]  # (rows, candidates) finished at this step
    living: Ints  # (rows, beam) the candidate at each place of the next beam; -1: that place is empty


OnRanking = Callable[[Ranking], None]


@dataclass
class BeamState:
    """The hypotheses of all unfinished sentences. Rows leave as their sentences finish."""

    sentence: Ints  # (rows,) which sentence of the request
    tokens: Ints  # (rows, beam, length) output so far, prefix included, start not
    log_prob: NDArray[np.float64]  # (rows, beam) of the tokens after the prefix; -inf: no hypothesis there
    prefix: list[tuple[int, ...]]  # of each row
    max_length: Ints  # (rows,)
    cache: Any

    @classmethod
    def start(
        cls, sentences: Sequence[Sentence], cache: Cache, config: DecodeConfig, positions: int | None = None
    ) -> Self:
        """One empty hypothesis per sentence."""
        rows = len(sentences)
        return cls(
            sentence=np.arange(rows),
            tokens=np.zeros((rows, 1, 0), dtype=np.int64),
            log_prob=np.zeros((rows, 1)),
            prefix=[sentence.prefix for sentence in sentences],
            max_length=np.array([max_length(sentence, config, positions) for sentence in sentences]),
            cache=cache,
        )

    @property
    def length(self) -> int:
        return int(self.tokens.shape[-1])

    def last(self) -> Ints:
        """The token that the model reads next, (rows, beam)."""
        return self.tokens[..., -1] if self.length else np.full(self.log_prob.shape, START, dtype=np.int64)

    def select(self, rows: Ints, beams: Ints) -> BeamState:
        """Beams `beams` (kept, new beam) of the rows `rows` (kept,)."""
        return BeamState(
            self.sentence[rows],
            self.tokens[rows[:, None], beams],
            self.log_prob[rows[:, None], beams],
            [self.prefix[row] for row in rows],
            self.max_length[rows],
            self.cache.select(rows, beams),
        )

    def append(self, tokens: Ints, log_prob: NDArray[np.float64]) -> BeamState:
        """One more token for every hypothesis, (rows, beam), and their log-probabilities with it."""
        longer = np.concatenate([self.tokens, tokens[..., None]], axis=-1)  # (rows, beam, length + 1)
        return replace(self, tokens=longer, log_prob=log_prob)


def default_max_length(source_length: int) -> int:
    """The maximum number of steps for a source of so many tokens, unless a request sets another."""
    return 3 * source_length + 10


def max_length(sentence: Sentence, config: DecodeConfig, positions: int | None = None) -> int:
    """The maximum number of steps for a sentence, the end token counted: as configured, else `default_max_length` after
    the prefix (and room for `min_length`); never more than the positions that a model has."""
    default = default_max_length(len(sentence.source_ids)) + len(sentence.prefix)
    wanted = config.max_length or max(default, config.min_length + 1)
    return wanted if positions is None else min(wanted, positions)


def hypotheses(config: DecodeConfig) -> int:
    """How many hypotheses of a sentence are searched at once."""
    return config.beam if config.strategy == "beam" else config.n_best


def search_tokens(sentence: Sentence, config: DecodeConfig, positions: int | None = None) -> int:
    """The maximum number of tokens that the search for a sentence computes, over all its hypotheses."""
    return hypotheses(config) * max_length(sentence, config, positions)
