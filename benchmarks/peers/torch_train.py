"""torch.nn.Transformer with one embedding for source, target and output, trained on the same batches.

Its one `dropout` also drops attention weights and hidden units, which Pellucid does not: these are set to 0.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.peers.array_batches import Tensors
from benchmarks.peers.array_train import train
from benchmarks.peers.training_start import start

LONGEST = 512


class Model(nn.Module):
    """What a tutorial builds around nn.Transformer."""

    def __init__(self, about: dict[str, Any]) -> None:
        super().__init__()
        self.scale = sqrt(about["d_model"])
        self.embedding = nn.Embedding(about["vocabulary"], about["d_model"])
        nn.init.normal_(self.embedding.weight, std=about["d_model"] ** -0.5)
        self.dropout = nn.Dropout(about["dropout"])
        self.transformer = nn.Transformer(
            d_model=about["d_model"],
            nhead=about["heads"],
            num_encoder_layers=about["encoder_layers"],
            num_decoder_layers=about["decoder_layers"],
            dim_feedforward=about["feed_forward"],
            dropout=about["dropout"],
            activation=about["activation"],
            batch_first=True,
            norm_first=about["norm_place"] == "pre",
        )
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
            layer.dropout.p = 0.0  # of hidden units
            layer.self_attn.dropout = 0.0
        for layer in self.transformer.decoder.layers:
            layer.multihead_attn.dropout = 0.0
        self.register_buffer("positions", _sinusoids(LONGEST, about["d_model"]))

    def forward(self, batch: Tensors) -> Tensor:
        """Logits (rows, target length, vocabulary)."""
        features = self.transformer(
            self._embed(batch.source),
            self._embed(batch.target_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(batch.target_in.shape[1]),
            src_key_padding_mask=~batch.source_real,
            memory_key_padding_mask=~batch.source_real,
            tgt_is_causal=True,
        )
        return functional.linear(features, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.embedding(ids) * self.scale + self.get_buffer("positions")[: ids.shape[1]])
        return embedded


def _sinusoids(length: int, size: int) -> Tensor:
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def main() -> None:
    begun = start()
    model = Model(begun.about)
    train(model, model, begun)


if __name__ == "__main__":
    main()
