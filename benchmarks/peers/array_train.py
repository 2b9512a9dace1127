"""The loop of a peer that is fed by hand: Pellucid's batches, fused AdamW, the gradient clipped at 1, label smoothing
over real target tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.peers.array_batches import Tensors, batches
from benchmarks.peers.training_start import Start

IGNORE = -100


def train(model: nn.Module, logits: Callable[[Tensors], Tensor], begun: Start) -> None:
    """`logits` runs the model on a batch: (rows, target length, vocabulary)."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    smoothing = begun.about["label_smoothing"]
    tokens = 0
    for batch in batches(begun.folder):
        begun.gate.pass_through(tokens)
        labels = batch.target_out.masked_fill(~batch.target_real, IGNORE)
        loss = functional.cross_entropy(
            logits(batch).flatten(0, 1), labels.flatten(), ignore_index=IGNORE, label_smoothing=smoothing
        )
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        tokens += batch.tokens
