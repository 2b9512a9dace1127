"""The alignment heads of a model: the cross-attention heads whose weights follow the words best.

Their mean says which source words a target word translates, and so where the markup of a text belongs in its
translation. They are chosen on pairs of text (`recipes/align.py`) and stored as `alignment.json` in the model
directory. Without that file they are all heads of the last decoder layer but one, the layer that is known to follow
the words best: the last one gathers what the next token needs, from wherever it is.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from pellucid.config import ModelConfig
from pellucid.errors import UserError

FILE = "alignment.json"


@dataclass(frozen=True)
class AlignmentHeads:
    """Heads of one decoder layer, both counted from 0."""

    layer: int
    heads: tuple[int, ...]

    @classmethod
    def default(cls, config: ModelConfig) -> Self:
        return cls(max(0, config.decoder_layers - 2), tuple(range(config.heads)))

    @classmethod
    def load(cls, directory: Path, config: ModelConfig) -> Self:
        path = directory / FILE
        if not path.exists():
            return cls.default(config)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            layer, heads = values["layer"], values["heads"]
            numbers = [layer, *heads]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"cannot be used: {error!r}", str(path), "copy the model again, whole") from error
        known = set(range(config.heads))
        if (
            any(type(number) is not int for number in numbers)
            or not 0 <= layer < config.decoder_layers
            or not heads
            or len({*heads} & known) < len(heads)
        ):
            what = f"layer {layer!r} has no such heads {heads!r}"
            raise UserError(what, str(path), "copy the model again, whole")
        return cls(layer, tuple(heads))

    def save(self, directory: Path) -> None:
        (directory / FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @property
    def tap(self) -> str:
        """The name of the attention weights of their layer, (batch, heads, target, source)."""
        return f"decoder.layers.{self.layer}.cross_attention.weights"
