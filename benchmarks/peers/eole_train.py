"""eole by its own trainer, on the same pairs and vocabulary, with batches of its own.

Its token batches count the longer side, padding included; their size is set so that an update trains on as many real
tokens as ours. Its sources have no end, but one is counted for each, so that all contenders count the same sentences
alike. Its `dropout` also drops hidden units, which Pellucid does not: that is set to 0.
Batches are made in the training process (num_workers=0): its loader processes would go on filling their queues while
the others are measured. The entropy of attention is not logged (log_attention_entropy): that costs it its fused kernel.
The gate stands before each of its training steps, so a measured time holds everything of its loop.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
from eole.config.run import TrainConfig
from eole.modules.transformer_mlp import MLP
from eole.train_single import main as train
from eole.trainer import Trainer

from benchmarks.peers.gate import Gate
from benchmarks.peers.sizes import Lengths, fitting_size, lengths
from benchmarks.peers.training_start import start

NEVER = 10**9
BUCKET = 2**16  # pairs sorted by length together, as many as Pellucid sorts
CPU = -1


def config(folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """What a user writes into the YAML file."""
    return {
        "data": {
            "corpus": {"path_src": str(folder / "pieces.source"), "path_tgt": str(folder / "pieces.target")},
            "valid": {"path_src": str(folder / "pieces.valid.source"), "path_tgt": str(folder / "pieces.valid.target")},
        },
        "src_vocab": str(folder / "pieces.vocabulary"),
        "src_vocab_size": about["vocabulary"],
        "tgt_vocab_size": about["vocabulary"],
        "share_vocab": True,
        "seed": 1,
        "model": {
            "architecture": "transformer",
            "hidden_size": about["d_model"],
            "heads": about["heads"],
            "transformer_ff": about["feed_forward"],
            "mlp_activation_fn": about["activation"],
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"word_vec_size": about["d_model"], "position_encoding_type": "SinusoidalInterleaved"},
            "encoder": {"encoder_type": "transformer", "layers": about["encoder_layers"]},
            "decoder": {"decoder_type": "transformer", "layers": about["decoder_layers"]},
        },
        "training": {
            "model_path": str(folder / "eole"),
            "compute_dtype": "fp32",
            "use_amp": False,
            "optim": "adamw",
            "adam_beta2": 0.98,
            "learning_rate": 1e-4,
            "max_grad_norm": 1.0,
            "label_smoothing": about["label_smoothing"],
            "dropout": [about["dropout"]],
            "attention_dropout": [0.0],
            "param_init_method": "xavier_uniform",
            "normalization": "tokens",
            "batch_type": "tokens",
            "batch_size": batch_size(folder, about["update_tokens"]),
            "bucket_size": BUCKET,
            "num_workers": 0,
            "log_attention_entropy": False,
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
        },
    }


def batch_size(folder: Path, tokens: float) -> int:
    """That of its token batches which come to so many real tokens in the mean."""
    several = islice(cycle(enumerate(lengths(folder))), BUCKET)  # a small corpus several times over
    pairs = sorted(several, key=lambda pair: pair[1])

    def cut(size: int) -> Iterator[list[Lengths]]:
        batch, longest = dict[int, Lengths](), 0
        for number, (source, target) in pairs:
            if number in batch:  # no batch holds a pair twice
                continue
            longest = max(longest, source, target + 2)  # a target has a start and an end
            if batch and longest * (len(batch) + 1) > size:
                yield list(batch.values())
                batch, longest = {}, max(source, target + 2)
            batch[number] = source, target

    return fitting_size(tokens, cut)


def drop_as_we_do(model: torch.nn.Module) -> None:
    """Only embeddings and what sublayers add to the stream."""
    for module in model.modules():
        if isinstance(module, MLP):
            module.dropout_1.p = 0.0


def hold(gate: Gate) -> None:
    """Let every training step of eole wait at the gate."""
    step = Trainer._train_step
    done = 0

    def gated(self: Any, batches: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal done
        if not done:
            drop_as_we_do(self.model)
        gate.pass_through(done)
        padding = self.train_loss.padding_idx
        for batch in batches:
            done += int(batch["srclen"].sum()) + len(batch["srclen"])  # with the end that it does not have
            done += int(batch["tgt"][:, 1:].ne(padding).sum())
        return step(self, batches, *arguments, **named)

    Trainer._train_step = gated


def main() -> None:
    folder, about, gate = start()
    shutil.rmtree(folder / "eole", ignore_errors=True)
    hold(gate)
    train(TrainConfig(**config(folder, about)), CPU)


if __name__ == "__main__":
    main()
