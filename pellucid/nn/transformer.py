"""The Transformer: `encode`, `decode`, `step`, and `forward` for training."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pellucid.config import ModelConfig
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.checksums import update_checksums
from pellucid.model_directory.weights import CONFIG, WEIGHTS, write_weights
from pellucid.nn.cache import Cache
from pellucid.nn.decoder import Decoder
from pellucid.nn.embedding import Embedding, Output
from pellucid.nn.encoder import Encoder
from pellucid.nn.initialise import initialise
from pellucid.text.ids import check_ids


class Transformer(nn.Module):
    """An encoder-decoder of any `ModelConfig`. `source_real` and `target_real` are True at real tokens."""

    def __init__(self, config: ModelConfig, seed: int = 1) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = Embedding(config.source_tokens, config)
        shared = config.tie == "all"
        self.target_embedding = self.source_embedding if shared else Embedding(config.target_tokens, config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = Output(config, None if config.tie == "none" else self.target_embedding.weight)
        initialise(self, config.d_model, seed)

    def encode(self, source: Tensor, source_real: Tensor) -> Tensor:
        """Source ids and which of them are real, both (batch, source) -> memory (batch, source, d_model)."""
        _check("source", source, self.config.source_tokens)
        memory: Tensor = self.encoder(self.source_embedding(source), source_real)
        return memory

    def decode(
        self, target_in: Tensor, memory: Tensor, source_real: Tensor, target_real: Tensor | None = None
    ) -> Tensor:
        """The whole shifted target at once -> logits (batch, target, vocabulary)."""
        logits: Tensor = self.output(self.features(target_in, memory, source_real, target_real))
        return logits

    def features(
        self, target_in: Tensor, memory: Tensor, source_real: Tensor, target_real: Tensor | None = None
    ) -> Tensor:
        """`decode` before the last matrix: (batch, target, d_model). The loss projects only what it counts."""
        _check("target", target_in, self.config.target_tokens)
        features: Tensor = self.decoder(self.target_embedding(target_in), target_real, memory, source_real)
        return features

    def forward(
        self, source: Tensor, source_real: Tensor, target_in: Tensor, target_real: Tensor | None = None
    ) -> Tensor:
        """Both stacks: logits (batch, target, vocabulary)."""
        return self.decode(target_in, self.encode(source, source_real), source_real, target_real)

    def start(self, memory: Tensor, source_real: Tensor) -> Cache:
        """The cache before the first step: one empty hypothesis per sentence."""
        return self.decoder.start(memory, source_real)

    def step(self, tokens: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """One token per hypothesis: (sentences, beam) -> logits (sentences, beam, vocabulary) and the longer cache."""
        _check("target", tokens, self.config.target_tokens)
        x, cache = self.decoder.step(self.target_embedding(tokens), cache)
        return self.output(x), cache

    def weights(self) -> dict[str, Tensor]:
        """What a file holds: each parameter and running statistic once, under the first of its names."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}

    def set_weights(self, weights: dict[str, Tensor]) -> None:
        """Take over weights that were checked against the config, converted to the type of the model."""
        with torch.no_grad():
            for name, mine in self.weights().items():
                mine.copy_(weights[name])

    def arrays(self, dtype: torch.dtype = torch.float32) -> dict[str, NDArray[Any]]:
        """The weights as NumPy arrays, as `ModelDirectory.save` takes them."""
        return {name: value.detach().cpu().to(dtype).numpy() for name, value in self.weights().items()}

    def save(self, directory: str | Path, dtype: torch.dtype = torch.float32) -> None:
        """Write config.json and model.safetensors; equal models give equal bytes."""
        Path(directory).mkdir(parents=True, exist_ok=True)
        write_weights(Path(directory), self.config, self.arrays(dtype))
        update_checksums(Path(directory), CONFIG, WEIGHTS)

    @classmethod
    def load(cls, directory: ModelDirectory | str | Path) -> Self:
        """The model of a model directory, in evaluation mode."""
        directory = ModelDirectory.at(directory)
        model = cls(directory.config)
        model.set_weights({name: torch.from_numpy(value) for name, value in directory.weights().items()})
        return model.eval()


def _check(side: str, ids: Tensor, vocabulary: int) -> None:
    check_ids(side, ids.cpu().numpy(), vocabulary)
