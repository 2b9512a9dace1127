"""Hugging Face MarianMT of the same shape, in the loop that its Trainer runs without the Trainer's extras.

The same batches as Pellucid, fused AdamW, the gradient clipped at 1, label smoothing over real target tokens. MarianMT
is post-norm always; a norm before or after a sublayer costs the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel

from benchmarks.peers.array_batches import batches, shape
from benchmarks.peers.channel import Channel
from benchmarks.peers.gate import Gate

IGNORE = -100


def main() -> None:
    channel = Channel()
    folder = Path(sys.argv[1])
    about = shape(folder)
    torch.set_num_threads(about["threads"])
    torch.manual_seed(1)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=about["vocabulary"],
            d_model=about["d_model"],
            encoder_layers=about["encoder_layers"],
            decoder_layers=about["decoder_layers"],
            encoder_attention_heads=about["heads"],
            decoder_attention_heads=about["heads"],
            encoder_ffn_dim=about["feed_forward"],
            decoder_ffn_dim=about["feed_forward"],
            activation_function=about["activation"],
            dropout=about["dropout"],
            attention_dropout=0.0,
            activation_dropout=0.0,
            max_position_embeddings=512,
            scale_embedding=True,
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=1,
            forced_eos_token_id=2,
        )
    ).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    gate = Gate(channel)
    tokens = 0
    for batch in batches(folder):
        gate.pass_through(tokens)
        logits = model(
            input_ids=batch.source,
            attention_mask=batch.source_keep.long(),
            decoder_input_ids=batch.target_in,
            use_cache=False,
        ).logits
        labels = batch.target_out.masked_fill(~batch.target_keep, IGNORE)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE, label_smoothing=about["label_smoothing"]
        )
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        tokens += batch.tokens


if __name__ == "__main__":
    main()
