"""JoeyNMT by its own trainer, on the same pairs and vocabulary, with batches of its own.

Its token batches count the longer side, padding included, and are not grouped by length; their size is set so that an
update trains on as many real tokens as ours. Its one `dropout` also drops attention weights and hidden units, which
Pellucid does not: these are set to 0. The gate stands before each of its training steps, so a measured time holds
everything of its loop: making batches, forward, backward, clipping, the optimiser, its log.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from joeynmt.training import TrainManager, train
from joeynmt.transformer_layers import MultiHeadedAttention, PositionwiseFeedForward

from benchmarks.peers.gate import Gate
from benchmarks.peers.sizes import Lengths, fitting_size, lengths
from benchmarks.peers.training_start import start

NEVER = 10**9


def config(folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """What a user writes into the YAML file."""
    side = {"level": "word", "max_length": 512, "voc_file": str(folder / "pieces.vocabulary")}
    layer = {
        "type": "transformer",
        "num_heads": about["heads"],
        "embeddings": {"embedding_dim": about["d_model"], "scale": True, "dropout": about["dropout"]},
        "hidden_size": about["d_model"],
        "ff_size": about["feed_forward"],
        "dropout": about["dropout"],
        "layer_norm": about["norm_place"],
        "activation": about["activation"],
    }
    return {
        "name": "bench",
        "use_cuda": False,
        "random_seed": 1,
        "model_dir": str(folder / "joeynmt"),
        "data": {
            "train": str(folder / "pieces"),
            "dev": str(folder / "pieces.valid"),
            "dataset_type": "plain",
            "src": side | {"lang": "source"},
            "trg": side | {"lang": "target"},
        },
        "testing": {"beam_size": 1},
        "training": {
            "optimizer": "adamw",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 1e-4,
            "learning_rate_min": 0.0,
            "scheduling": "warmupinversesquareroot",
            "clip_grad_norm": 1.0,
            "label_smoothing": about["label_smoothing"],
            "loss": "crossentropy",
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": batch_size(folder, about["update_tokens"]),
            "epochs": NEVER,
            "validation_freq": NEVER,
            "logging_freq": 100,
        },
        "model": {
            "initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": layer | {"num_layers": about["encoder_layers"]},
            "decoder": layer | {"num_layers": about["decoder_layers"]},
        },
    }


def batch_size(folder: Path, tokens: float) -> int:
    """That of its token batches which come to so many real tokens in the mean."""
    pairs = lengths(folder)
    random.Random(1).shuffle(pairs)

    def cut(size: int) -> Iterator[list[Lengths]]:
        batch, longest = list[Lengths](), 0
        for pair in pairs:
            batch.append(pair)
            longest = max(longest, 1 + max(pair))
            if longest * len(batch) >= size:
                yield batch
                batch, longest = [], 0

    return fitting_size(tokens, cut)


def drop_as_we_do(model: torch.nn.Module) -> None:
    """Only embeddings and what sublayers add to the stream."""
    for module in model.modules():
        if isinstance(module, MultiHeadedAttention):
            module.dropout.p = 0.0
        elif isinstance(module, PositionwiseFeedForward):
            _, _, of_hidden_units, _, _ = module.pwff_layer
            of_hidden_units.p = 0.0


def hold(gate: Gate) -> None:
    """Let every training step of JoeyNMT wait at the gate."""
    step = TrainManager._train_step
    done = 0

    def gated(self: Any, batch: Any) -> Any:
        nonlocal done
        if not done:
            drop_as_we_do(self.model)
        gate.pass_through(done)
        done += int(batch.src_length.sum()) + int(batch.ntokens)  # with the end of sentence on both sides
        return step(self, batch)

    TrainManager._train_step = gated


def main() -> None:
    folder, about, gate = start()
    shutil.rmtree(folder / "joeynmt", ignore_errors=True)
    (folder / "joeynmt").mkdir()
    hold(gate)
    train(rank=0, world_size=1, cfg=config(folder, about), skip_test=True)


if __name__ == "__main__":
    main()
