"""Token ids, checked before they go through a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig
from pellucid.errors import UserError


def check_ids(side: str, ids: NDArray[np.integer], vocabulary: int) -> None:
    """Ids must be a batch with something in it, all of them in the vocabulary."""
    if ids.ndim != 2 or ids.size == 0:
        remedy = "give ids (batch, length), at least one"
        raise UserError(f"an empty batch or a wrong shape: {ids.shape}", f"{side} ids", remedy)
    if not np.issubdtype(ids.dtype, np.integer):
        raise UserError(f"are {ids.dtype}, not whole numbers", f"{side} ids", "give token ids")
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest < 0 or highest >= vocabulary:
        worst = lowest if lowest < 0 else highest
        remedy = "was the text encoded by another model's tokenizer?"
        raise UserError(f"id {worst} is outside the vocabulary of {vocabulary}", f"{side} ids", remedy)


def check_length(length: int, config: ModelConfig) -> None:
    """A table of learned positions ends somewhere; the other position schemes do not."""
    if config.max_positions is not None and length > config.max_positions:
        remedy = "cut the text, or train with a larger max_length or other positions"
        raise UserError(f"{length} tokens, but the learned positions end at {config.max_length}", "max_length", remedy)
