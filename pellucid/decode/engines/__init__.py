"""Engines turn source ids into target ids. They compute the same model, in float64, float32 or int8 (which rounds)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pellucid.config import DecodeConfig
from pellucid.config.decode import ComputeType as ComputeType
from pellucid.decode.hypotheses import Hypothesis, OnToken, Sentence, Stop
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory

EngineName = Literal["ctranslate2", "torch", "reference"]
Ids = Sequence[int]


class Engine(Protocol):
    """An implementation of the model."""

    name: EngineName

    @property
    def compute_type(self) -> str:
        """The arithmetic of its matrix products: int8, float32 or float64."""
        ...

    def unsupported(self, config: DecodeConfig, longest: int) -> str:
        """Why this engine cannot do what is asked of a source of `longest` tokens; empty: it can."""
        ...

    def search(
        self,
        sentences: Sequence[Sentence],
        config: DecodeConfig,
        on_token: OnToken | None = None,
        stop: Stop | None = None,
    ) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses of every sentence. No sentence's result depends on the others. Soon after `stop`
        returns True the search ends with `StoppedError`."""
        ...

    def align(self, pairs: Sequence[tuple[Sentence, Ids]]) -> list[NDArray[np.floating]]:
        """The mean cross-attention of the alignment heads, as each token of a given target, its end included, is
        predicted: (target, source) for every pair."""
        ...

    def logits(self, source: Ids, target: Ids) -> NDArray[np.floating]:
        """The logits at each position of a given target, its end included: (target, vocabulary)."""
        ...

    def score(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[NDArray[np.floating]]:
        """Log-probabilities of given targets, token by token, the end included: (target,) for every pair."""
        ...


def open_engine(name: EngineName, directory: ModelDirectory, compute_type: ComputeType | None = None) -> Engine:
    """Open the engine of that name. Its module is imported only now."""
    if name == "ctranslate2":
        from pellucid.decode.engines.ctranslate2.engine import CTranslate2Engine

        return CTranslate2Engine(directory, compute_type)
    if name == "torch":
        if find_spec("torch") is None:
            remedy = "pip install 'pellucid[train]', or use another engine"
            raise UserError("PyTorch is not installed", "engine", remedy)
        from pellucid.decode.engines.torch import TorchEngine

        return TorchEngine(directory)
    from pellucid.decode.engines.reference import ReferenceEngine

    return ReferenceEngine(directory)
