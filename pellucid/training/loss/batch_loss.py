"""The loss of a batch: forward pass, then cross-entropy of the real target tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.training.loss.cross_entropy import cross_entropy
from pellucid.training.loss.r_drop import r_drop_cross_entropy


def batch_loss(model: Transformer, batch: Batch, label_smoothing: float = 0.0, r_drop: float = 0.0) -> Tensor:
    """The loss summed over the real target tokens. With `r_drop` the batch passes twice, with other dropout."""
    device = model.source_embedding.weight.device
    passes = 2 if r_drop else 1
    source, source_real, target_in, target_real, target_out = (
        # (rows, length) -> (passes * rows, length)
        torch.from_numpy(array).to(device).repeat(passes, 1)
        for array in (batch.source, batch.source_real, batch.target_in, batch.target_real, batch.target_out)
    )
    features = model.features(target_in, model.encode(source, source_real), source_real, target_real)
    real = target_real.flatten().nonzero().squeeze(1)  # (passes * rows, target) -> (real tokens of all passes,)
    # (passes * rows, target, d_model) -> (real tokens of all passes, d_model)
    features = features.flatten(0, 1).index_select(0, real)
    targets = target_out.flatten().index_select(0, real)  # (real tokens of all passes,)
    output = model.output.weight, model.output.bias
    if r_drop:
        return r_drop_cross_entropy(features, *output, targets[: len(targets) // 2], label_smoothing, r_drop)
    return cross_entropy(features, *output, targets, label_smoothing)
