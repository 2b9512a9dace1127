"""Hugging Face MarianMT of the same shape, in the loop that its Trainer runs without the Trainer's extras.

MarianMT is post-norm always; a norm before or after a sublayer costs the same.
"""

from __future__ import annotations

from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from benchmarks.peers.array_batches import Tensors
from benchmarks.peers.array_train import train
from benchmarks.peers.training_start import start
from benchmarks.peers.transformers_models import sizes


def main() -> None:
    begun = start()
    dropout = {"dropout": begun.about["dropout"], "attention_dropout": 0.0, "activation_dropout": 0.0}
    model = MarianMTModel(MarianConfig(**sizes(begun.about), **dropout))

    def logits(batch: Tensors) -> Tensor:
        output = model(
            input_ids=batch.source,
            attention_mask=batch.source_real.long(),
            decoder_input_ids=batch.target_in,
            use_cache=False,
        )
        found: Tensor = output.logits
        return found

    train(model, logits, begun)


if __name__ == "__main__":
    main()
