"""Small models of the labs: how they are trained, and what they generate. Batch, loss and search are the product's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.config import DecodeConfig, ModelConfig
from pellucid.decode.engines.batches import equal_lengths
from pellucid.decode.hypotheses import Sentence
from pellucid.decode.logit_filters import Floats, Ints
from pellucid.decode.search import search
from pellucid.labs.parts.lab import Progress, Steps
from pellucid.nn.embedding import Embedding, Output
from pellucid.nn.encoder import Encoder
from pellucid.nn.initialise import initialise
from pellucid.text.batch import Batch
from pellucid.text.tokenizer import END
from pellucid.training.loss.batch_loss import batch_loss
from pellucid.training.loss.cross_entropy import cross_entropy

WARMUP = 0.1  # share of the updates in which the learning rate rises; then it falls to 0 in a line
SHOWN = 40  # points of a curve

Ids = Sequence[int]


def small(vocabulary: int | None = None, **shape: Any) -> ModelConfig:
    """The shape of a model that learns a toy task in seconds. Without dropout: there is no end of new examples."""
    usual = {"d_model": 64, "heads": 4, "feed_forward": 128, "encoder_layers": 1, "decoder_layers": 1}
    return ModelConfig(**({"vocabulary": vocabulary, **usual, "norm_place": "pre", "dropout": 0.0} | shape))


def train(
    model: nn.Module,
    loss_of: Callable[[int], Tensor],
    updates: int,
    learning_rate: float,
    progress: Callable[[float, int, float], Progress],
) -> Steps[list[tuple[int, float]]]:
    """Minimise `loss_of(update)`, the mean loss of a new batch. Returns some of the losses as they were met, each with
    its update. `progress(done, update, loss)` is what is reported of them."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    warmup, every = max(1, round(WARMUP * updates)), max(1, updates // SHOWN)
    losses = []
    model.train()
    for update in range(1, updates + 1):
        rate = learning_rate * min(update / warmup, (updates + 1 - update) / (updates + 1 - warmup))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(update)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % every == 0 or update == 1:
            losses.append((update, float(loss.detach())))
            yield progress(update / updates, *losses[-1])
    model.eval()
    return losses


def mean_loss(model: Any, batch: Batch) -> Tensor:
    """The product's loss, per token."""
    return batch_loss(model, batch) / batch.target_tokens


@torch.inference_mode()
def generate(model: Any, sources: Sequence[Ids], config: DecodeConfig | None = None) -> list[tuple[int, ...]]:
    """What the model says to each source, token by token, without the end: the product's search, greedy by default."""
    config = config or DecodeConfig(strategy="greedy")
    found: list[tuple[int, ...]] = [()] * len(sources)

    def step(tokens: Ints, cache: Any) -> tuple[Floats, Any]:
        logits, cache = model.step(torch.from_numpy(np.ascontiguousarray(tokens)), cache)
        return logits.numpy(), cache

    for places in equal_lengths([(len(source),) for source in sources], rows=256):
        ids = torch.tensor([sources[place] for place in places])
        real = torch.ones_like(ids, dtype=torch.bool)
        cache = model.start(model.encode(ids, real), real)
        sentences = [Sentence(tuple(sources[place])) for place in places]
        for place, [best] in zip(places, search(step, cache, sentences, config), strict=True):
            found[place] = best.tokens
    return found


def right_tokens(found: Sequence[Ids], wanted: Sequence[Ids]) -> float:
    """The share of the wanted tokens that stand at their place. `wanted` may end with END; it is not counted."""
    right = count = 0
    for mine, target in zip(found, wanted, strict=True):
        body = [token for token in target if token != END]
        right += sum(a == b for a, b in zip(mine, body, strict=False))
        count += len(body)
    return right / count


class Tagger(nn.Module):
    """An encoder of the product that names every position: ids (rows, length) -> features (rows, length, d_model)."""

    def __init__(self, config: ModelConfig, seed: int) -> None:
        super().__init__()
        self.embedding = Embedding(config.source_tokens, config)
        self.encoder = Encoder(config)
        self.output = Output(config, None)
        initialise(self, config.d_model, seed)

    def forward(self, ids: Tensor) -> Tensor:
        features: Tensor = self.encoder(self.embedding(ids), torch.ones_like(ids, dtype=torch.bool))
        return features

    def loss(self, ids: Ints, names: Ints) -> Tensor:
        """The mean loss of the names (rows, length); where a name is negative, none is asked for."""
        asked = torch.from_numpy(names.reshape(-1)) >= 0
        features = self(torch.from_numpy(ids)).flatten(0, 1)[asked]  # (rows * length, d_model) -> (asked, d_model)
        targets = torch.from_numpy(names.reshape(-1))[asked]
        return cross_entropy(features, self.output.weight, None, targets) / len(targets)

    @torch.inference_mode()
    def right(self, ids: Ints, names: Ints) -> float:
        """The share of the names that are right."""
        found = self.output(self(torch.from_numpy(ids))).argmax(dim=-1).numpy()
        return float((found == names)[names >= 0].mean())
