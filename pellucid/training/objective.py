"""What training makes small: the loss of a batch, of one pass through the model or of two that should agree."""

from __future__ import annotations

import torch
from torch import Tensor

from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.training.agreement import agreeing_cross_entropy
from pellucid.training.loss import cross_entropy


def batch_loss(model: Transformer, batch: Batch, label_smoothing: float = 0.0, r_drop: float = 0.0) -> Tensor:
    """The summed loss of a batch's real target tokens; padding is not even projected. `r_drop`: of two passes, and how
    far these are from agreeing."""
    device = model.source_embedding.weight.device
    passes = 2 if r_drop else 1
    source, source_keep, target_in, target_keep, target_out = (
        # (rows, length) -> (passes * rows, length)
        torch.from_numpy(array).to(device).repeat(passes, 1)
        for array in (batch.source, batch.source_keep, batch.target_in, batch.target_keep, batch.target_out)
    )
    features = model.features(target_in, model.encode(source, source_keep), source_keep, target_keep)
    real = target_keep.flatten().nonzero().squeeze(1)  # (passes * rows, target) -> (real tokens of all passes,)
    # (passes * rows, target, d_model) -> (real tokens of all passes, d_model)
    features = features.flatten(0, 1).index_select(0, real)
    targets = target_out.flatten().index_select(0, real)  # (real tokens of all passes,)
    output = model.output.weight, model.output.bias
    if not r_drop:
        return cross_entropy(features, *output, targets, label_smoothing)
    first, second = features.chunk(2)  # each (real tokens, d_model)
    return agreeing_cross_entropy(first, second, *output, targets[: len(first)], label_smoothing, r_drop)
