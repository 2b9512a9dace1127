"""The settings of decoding: how a translation is searched for, and which engine runs the search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pellucid.errors import Problem
from pellucid.fields import Config, setting

Strategy = Literal["greedy", "beam", "sample"]
Stopping = Literal["ctranslate2", "exact"]
EngineChoice = Literal["auto", "ctranslate2", "torch", "reference"]
ComputeType = Literal["float32", "int8"]


class DecodeConfig(Config):
    """How a translation is searched for. A score is the log-probability divided by length ** length_penalty."""

    strategy: Strategy = setting(
        "beam", "greedy: the most probable token at each step; beam: beam search; sample: tokens drawn at random"
    )
    beam: int = setting(5, "beam size: number of hypotheses kept at each step", minimum=1)
    length_penalty: float = setting(
        1.0, "exponent of the length that the log-probability is divided by; 0: no division", minimum=-10, maximum=10
    )
    top_k: int | None = setting(None, "sample from the k most probable tokens", minimum=1)
    top_p: float | None = setting(
        None, "sample from the smallest set of tokens whose total probability exceeds p", minimum=0, maximum=1
    )
    temperature: float = setting(
        1.0, "divides the logits before sampling; below 1 sharpens the distribution", minimum=0
    )
    seed: int | None = setting(None, "random seed of the sampling; equal seeds give equal translations", minimum=0)
    n_best: int = setting(1, "number of translations returned per sentence", minimum=1)
    min_length: int = setting(0, "minimum number of output tokens before the end token", minimum=0)
    max_length: int | None = setting(
        None, "maximum number of output tokens; default: 3 × source length + 10", minimum=1
    )
    repetition_penalty: float = setting(1.0, "above 1: tokens already in the output become less probable", minimum=0.01)
    no_repeat_ngram: int = setting(0, "no n-gram of this size occurs twice; 0: off", minimum=0)
    stopping: Stopping = setting(
        "ctranslate2",
        "when a beam search ends: with `beam` finished hypotheses (ctranslate2), or when no unfinished hypothesis "
        "can still score higher (exact)",
    )
    scores: bool = setting(True, "compute the score of each translation; greedy is faster without")

    def conflicts(self) -> Iterator[Problem]:
        if self.strategy == "beam" and self.n_best > self.beam:
            yield Problem(f"{self.n_best} is more than beam {self.beam}", "n_best", "raise beam")
        if self.strategy == "greedy" and self.n_best > 1:
            yield Problem("greedy finds one translation", "n_best", "use strategy 'beam' or 'sample'")
        if self.max_length is not None and self.max_length < self.min_length:
            yield Problem(f"{self.max_length} is below min_length {self.min_length}", "max_length", "raise it")
        for name, neutral in (("top_k", None), ("top_p", None), ("temperature", 1.0)):
            if self.strategy != "sample" and getattr(self, name) != neutral:
                yield Problem(f"has no meaning with strategy {self.strategy!r}", name, "choose the strategy 'sample'")


class EngineConfig(Config):
    """Which implementation of the model is used, and in which arithmetic it computes."""

    engine: EngineChoice = setting(
        "auto",
        "implementation of the model; auto: the first of ctranslate2, torch, reference that supports the request",
    )
    compute_type: ComputeType | None = setting(
        None,
        "arithmetic of ctranslate2: int8 (faster) or float32 (more exact); default: that of the shipped "
        "conversion, else int8",
    )

    def conflicts(self) -> Iterator[Problem]:
        if self.compute_type is not None and self.engine in ("torch", "reference"):
            yield Problem(f"{self.engine} has one compute type only", "compute_type", "leave it out, or the engine")
