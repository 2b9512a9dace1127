"""From ids to vectors, from vectors to what the first layer sees, and from the last layer to logits."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from pellucid.config import ModelConfig
from pellucid.nn.dropout import Dropout
from pellucid.nn.norms import make_norm
from pellucid.nn.positions import sinusoidal
from pellucid.nn.taps import Tapped
from pellucid.text.ids import check_length


class Embedding(nn.Module):
    """A row of the table for every id, times sqrt(d_model): (batch, length) -> (batch, length, d_model)."""

    def __init__(self, tokens: int, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(tokens, config.d_model))
        self.scale = sqrt(config.d_model) if config.embedding_scale else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.weight) * self.scale


class Input(Tapped):
    """Embedding plus position, normalised if asked for: what the first layer of a stack sees."""

    tap_names: tuple[str, ...] = ("embedding", "position", "output")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.positions = nn.Embedding(config.max_length, config.d_model) if config.positions == "learned" else None
        self.norm = make_norm(config) if config.embedding_norm else None
        self.dropout = Dropout(config.dropout)
        if config.positions not in ("sinusoidal", "learned"):
            self.tap_names = ("embedding", "output")  # no position is added, so there is none to show
        self.table = torch.empty(0, config.d_model)  # sinusoids of the longest sequence so far, made once and reused

    def forward(self, embedded: Tensor, start: int = 0, real: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), the first token at position `start`."""
        x = self.show("embedding", embedded)
        position = self._position(start, start + embedded.shape[1], embedded)
        if position is not None:
            x = x + self.show("position", position)
        if self.norm is not None:
            x = self.norm(x, real)
        dropped: Tensor = self.dropout(self.show("output", x))
        return dropped

    def _position(self, start: int, end: int, like: Tensor) -> Tensor | None:
        """(length, d_model), or None where positions are not added."""
        check_length(end, self.config)
        if self.positions is not None:
            return self.positions.weight[start:end]
        if self.config.positions != "sinusoidal":
            return None
        table = self.table  # one look: threads that train side by side may both be making a longer one
        if len(table) < end or table.dtype != like.dtype or table.device != like.device:
            table = sinusoidal(0, max(end, 2 * len(table)), self.config.d_model, self.config.position_layout).to(like)
            self.table = table
        return table[start:end]


class Output(Tapped):
    """Logits over the vocabulary: (..., d_model) -> (..., vocabulary). Tied, the matrix is the target embedding's."""

    tap_names = ("logits",)

    def __init__(self, config: ModelConfig, tied: nn.Parameter | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.target_tokens, config.d_model)) if tied is None else tied
        self.bias = nn.Parameter(torch.zeros(config.target_tokens)) if config.output_bias else None

    def forward(self, x: Tensor) -> Tensor:
        return self.show("logits", functional.linear(x, self.weight, self.bias))
