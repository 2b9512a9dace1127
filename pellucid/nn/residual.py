"""The path around a sublayer: norm(x + f(x)) as in the paper (post-norm), or x + f(norm(x)) (pre-norm)."""

from __future__ import annotations

from torch import Tensor

from pellucid.config import ModelConfig
from pellucid.nn.dropout import Dropout
from pellucid.nn.norms import make_norm
from pellucid.nn.taps import Tapped


class Residual(Tapped):
    """`after(x, f(before(x)))` is one sublayer with its residual connection and norm."""

    tap_names = ("sum", "norm")

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm_place == "pre"

    def before(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """What the sublayer reads."""
        return self._norm(x, real) if self.pre else x

    def after(self, x: Tensor, output: Tensor, real: Tensor | None = None) -> Tensor:
        """What the next sublayer gets."""
        x = self.show("sum", x + self.dropout(output))
        return x if self.pre else self._norm(x, real)

    def _norm(self, x: Tensor, real: Tensor | None) -> Tensor:
        return self.show("norm", self.norm(x, real))
