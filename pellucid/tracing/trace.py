"""The trace of one translation: every intermediate value of the reference, and what follows from them.

Positions count from 0. A probability or weight lies between 0 and 1; a log-probability is natural.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from pellucid.config import ModelConfig
from pellucid.reference.functions import Array, Mask
from pellucid.tracing.formulas import Formula, formulas
from pellucid.tracing.formulas.cells import Numbers
from pellucid.tracing.formulas.opening import open_cell
from pellucid.tracing.interventions import NO_INTERVENTIONS, Interventions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Attention = Literal["encoder.self_attention", "decoder.self_attention", "decoder.cross_attention"]
ATTENTIONS: tuple[Attention, ...] = get_args(Attention)
Fate = Literal["lived", "ended", "died"]


@dataclass(frozen=True)
class Token:
    id: int
    text: str  # readable: a space is ▁, a byte that is not a whole character ⟨E2⟩


@dataclass(frozen=True)
class Candidate:
    """A token that could come next."""

    id: int
    text: str
    probability: float


@dataclass(frozen=True)
class Pool:
    """What a decoding rule draws the next token from: the likeliest `size` tokens, their probabilities renormalised."""

    rule: Literal["greedy", "top_k", "top_p"]
    setting: float  # k, or p; greedy is top-k with 1
    size: int
    probability: float  # of the tokens together


@dataclass(frozen=True)
class Reading:
    """The logit lens: the distribution of the next token if this decoder layer were the last."""

    layer: int
    candidates: tuple[Candidate, ...]
    probability: float  # of the token that was output
    rank: int  # of that token; 0: the likeliest


@dataclass(frozen=True)
class DecodingStep:
    """One output token: its probability, and its alternatives."""

    chosen: Candidate
    rank: int  # of the chosen token; 0: the likeliest
    entropy: float  # of the distribution, in bits
    candidates: tuple[Candidate, ...]  # the likeliest, best first
    pools: tuple[Pool, ...]
    lens: tuple[Reading, ...]
    engine: Candidate  # the engine's likeliest token here, with the probability the engine gives it
    differs: bool  # engine and reference have different likeliest tokens


@dataclass(frozen=True)
class Node:
    """A candidate of the beam search: a hypothesis and one more token."""

    step: int
    parent: int  # place of the hypothesis it continues among the nodes; -1: the start
    id: int
    text: str
    log_prob: float  # of the hypothesis up to here
    score: float  # log_prob / length ** length_penalty
    fate: Fate  # lived on (at the last step: unfinished when the search was over), ended as a whole, or died
    best: bool  # part of the best hypothesis


@dataclass(frozen=True)
class Finished:
    """A whole hypothesis of the beam search."""

    text: str
    score: float
    ended: bool  # False: cut at the greatest length


@dataclass(frozen=True)
class Beam:
    """The beam search of the reference, independent of the engine's."""

    width: int
    length_penalty: float
    nodes: tuple[Node, ...]
    finished: tuple[Finished, ...]  # best first
    agrees: bool  # the engine's search found the same best hypothesis


@dataclass(frozen=True)
class Head:
    """Where one attention head attends to: the mean weight of its queries that have such a key, None if meaningless."""

    part: Attention
    layer: int
    head: int
    itself: float | None
    previous: float | None
    next: float | None
    first: float  # the first token: the language tag of a source that has one, the start of a target
    end: float | None  # the end of the source
    spread: float  # exp of the mean entropy: among how many tokens it divides its weight

    @property
    def mainly(self) -> str:
        """Where more than half of its weight goes; empty: nowhere in particular."""
        weights = {name: getattr(self, name) or 0.0 for name in ("itself", "previous", "next", "end", "first")}
        name, weight = max(weights.items(), key=lambda item: item[1])
        return name if weight > 0.5 else ""


@dataclass(frozen=True)
class Score:
    """The score of the translation: log-probability / length ** length_penalty, as one engine computes it."""

    engine: str
    compute_type: str  # the arithmetic of the engine: int8, float32 or float64
    vocabulary: int  # tokens that share the probability: fewer where the search is restricted to those of a language
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One translation with all its intermediate values."""

    text: str  # the sentence that is explained
    translation: str  # the text of the output tokens
    source: str | None  # languages, where the model knows them
    target: str | None
    given: bool  # the target was given, not searched for
    model: str
    engine: str  # which one searched
    config: ModelConfig
    source_tokens: tuple[Token, ...]  # as the encoder reads them, with tag and end
    target_in: tuple[Token, ...]  # as the decoder reads them, after the start
    target_out: tuple[Token, ...]  # its output at each of these positions
    values: Mapping[str, Array]  # all that the reference records, under the names of the taps, without the batch axis
    masks: Mapping[Attention, Mask]  # (query, key): True = may attend
    steps: tuple[DecodingStep, ...]
    beam: Beam
    alignment: Array  # (target_out, source_tokens)
    heads: tuple[Head, ...]
    scores: tuple[Score, ...]  # of the translation, by the engine that searched and by the reference
    parameters: Mapping[str, Array]  # the weights of the model
    detected: bool = False  # the source language was detected from the text
    notes: tuple[str, ...] = ()
    interventions: Interventions = NO_INTERVENTIONS  # under which it was made
    changed: Trace | None = None  # the trace under the interventions that were asked for
    original_probabilities: tuple[float, ...] = ()  # under interventions: of each token of the original translation

    def __repr__(self) -> str:
        tokens = f"{len(self.source_tokens)} + {len(self.target_out)} tokens"
        return f"<Trace {self.text[:60]!r} → {self.translation[:60]!r}, model {self.model}, {tokens}>"

    def _repr_html_(self) -> str:
        from pellucid.tracing.pictures.notebook import trace_page

        return trace_page(self)

    def plot(self, what: str = "alignment") -> Figure:
        """A picture (matplotlib) of the alignment, the beam, or every head of an attention, by its name."""
        from pellucid.tracing.pictures.figures import figure

        return figure(self, what)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """How every value is computed, in the order of the computation."""
        plain = formulas(self.config, len(self.source_tokens), len(self.target_in))
        return tuple(replace(each, changed=self.interventions.changed(each.value)) for each in plain)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """What the rows of a stack's values stand for. In the decoder it is a step: the token read → the token that is
        predicted there."""
        steps = zip(self.target_in, self.target_out, strict=True)
        return {
            "encoder": tuple(token.text for token in self.source_tokens),
            "decoder": tuple(f"{read.text} → {predicted.text}" for read, predicted in steps),
        }

    def open(self, value: str, *index: int) -> dict[str, Any]:
        """One number of a value with its computation; its operands can be opened in turn. The index is that of the
        value's axes, such as (head, query, key)."""
        sides = ("source_tokens", "target_in", "target_out")
        tokens = {side: [token.id for token in getattr(self, side)] for side in sides}
        return open_cell(Numbers(self.config, self.formulas, self.values, self.parameters, tokens), value, index)

    def open_at(self, cell: str) -> dict[str, Any]:
        """`open` for a value and its index in one text: encoder.layers.0.self_attention.scores.2.3.5"""
        value, places = re.fullmatch(r"(.*?)((?:\.\d+)*)", cell).groups()  # type: ignore[union-attr]  # it matches any
        return self.open(value, *map(int, places.split(".")[1:]))

    def weights(self, part: Attention, layer: int) -> Array:
        """Attention weights of a layer: (heads, query, key)."""
        stack, sublayer = part.split(".")
        return self.values[f"{stack}.layers.{layer}.{sublayer}.weights"]

    def layers(self, part: Attention) -> int:
        return self.config.encoder_layers if part.startswith("encoder") else self.config.decoder_layers

    def tokens(self, part: Attention) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """The tokens that ask (queries) and those that are looked at (keys)."""
        queries = self.source_tokens if part == "encoder.self_attention" else self.target_in
        return queries, self.target_in if part == "decoder.self_attention" else self.source_tokens

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, cut to a bounded size (see `pellucid.tracing.plain`)."""
        from pellucid.tracing.plain import plain

        return plain(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)

    def to_html(self) -> str:
        """A report in one file that needs nothing else: no network, no other file."""
        from pellucid.tracing.packed import packed_trace
        from pellucid.web.bundle import offline_page

        title = f"{self.text} → {self.translation}"
        return offline_page(title, packed_trace(self), "report.js", "theme.css", "trace/trace.css", "trace/map.css")
