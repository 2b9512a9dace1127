"""eole by its own trainer, on the same pairs and vocabulary, with batches of its own.

Its token batches count the longer side, padding included: half our count makes its source and target together as many.
Batches are made in the training process (num_workers=0): its loader processes would go on filling their queues while
the others are measured. The entropy of attention is not logged (log_attention_entropy): that costs it its fused kernel.
The gate stands before each of its training steps, so a measured time holds everything of its loop.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from eole.config.run import TrainConfig
from eole.train_single import main as train
from eole.trainer import Trainer

from benchmarks.peers.channel import Channel
from benchmarks.peers.gate import Gate

NEVER = 10**9
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
            "batch_size": about["batch_tokens"] // 2,
            "bucket_size": 2**16,  # pairs sorted by length together, as many as Pellucid sorts
            "num_workers": 0,
            "log_attention_entropy": False,
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
        },
    }


def hold(gate: Gate) -> None:
    """Let every training step of eole wait at the gate."""
    step = Trainer._train_step
    done = 0

    def gated(self: Any, batches: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal done
        gate.pass_through(done)
        padding = self.train_loss.padding_idx
        done += sum(int(batch["srclen"].sum()) + int(batch["tgt"][:, 1:].ne(padding).sum()) for batch in batches)
        return step(self, batches, *arguments, **named)

    Trainer._train_step = gated


def main() -> None:
    channel = Channel()
    folder = Path(sys.argv[1])
    about = json.loads((folder / "work.json").read_text(encoding="utf-8"))
    torch.set_num_threads(about["threads"])
    shutil.rmtree(folder / "eole", ignore_errors=True)
    hold(Gate(channel))
    train(TrainConfig(**config(folder, about)), CPU)


if __name__ == "__main__":
    main()
