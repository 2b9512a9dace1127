"""The components of a model and their costs, computed from its config alone."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from math import prod
from time import perf_counter
from typing import Any, Literal

from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import Shape, weight_shapes

BYTES = 4  # of a float32
ADAM = 2  # numbers that Adam stores for each parameter: the first and the second moment
SENTENCE, BEAM = 32, 5  # the sentence whose cache is shown: tokens on each side, hypotheses
PAPER_VOCABULARY = 37_000
PAPER_FLOPS = {"base": 3.3e18, "big": 2.3e19}  # training cost as the paper gives it: GPU time at 9.5 TFLOP/s

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Component:
    """One matrix, table or norm. A component of a layer occurs once in each of `layers` layers."""

    name: str  # encoder.layers.*.self_attention.query
    shape: Shape
    layers: int
    weights: int  # of one layer, as the next two
    biases: int
    multiply_adds: int  # for each token of `side` that passes; norms and look-ups do not count
    side: Side

    @property
    def parameters(self) -> int:
        return self.layers * (self.weights + self.biases)

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        return {"part": values.pop("name"), "token": values.pop("side"), "parameters": self.parameters, **values}


@dataclass(frozen=True)
class Description:
    """The numbers that follow from a config."""

    config: ModelConfig
    components: list[Component]

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.components)

    @property
    def qkv_weights(self) -> int:
        """Weights of the query, key and value projections of one attention, without biases."""
        return (self.config.heads + 2 * self.config.key_heads) * self.config.d_head * self.config.d_model

    @property
    def qkv_biases(self) -> int:
        return (self.config.heads + 2 * self.config.key_heads) * self.config.d_head if self.config.bias else 0

    def multiply_adds(self, side: Side) -> int:
        """Multiply-adds of the matrix products for one token of a side."""
        return sum(part.layers * part.multiply_adds for part in self.components if part.side == side)

    @property
    def multiply_adds_per_key(self) -> int:
        """Multiply-adds of one query of one attention for each key: its score, and its weighted value."""
        return 2 * self.config.d_model

    @property
    def attentions(self) -> int:
        return self.config.encoder_layers + 2 * self.config.decoder_layers

    @property
    def memory(self) -> dict[str, int]:
        """Bytes in float32. Training also holds the activations of a batch, which depend on its size."""
        weights = BYTES * self.parameters
        return {"weights": weights, "gradients": weights, "optimiser": ADAM * weights}

    @property
    def cache(self) -> dict[str, int]:
        """Bytes in float32: keys and values in every decoder layer per token; a source is held once."""
        token = BYTES * 2 * self.config.decoder_layers * self.config.key_heads * self.config.d_head
        return {"source_token": token, "target_token": token, "sentence": token * SENTENCE * (1 + BEAM)}

    def training_flops(self, tokens: float) -> float:
        """Of so many source and target tokens: 2 per multiply-add, times 3 with the backward pass."""
        return 6.0 * tokens * (self.multiply_adds("source") + self.multiply_adds("target"))

    def training(self, tokens: float) -> dict[str, float]:
        """An estimate of a training on so many tokens, by the rate of matrix products measured on this machine."""
        flops, rate = self.training_flops(tokens), matmul_rate()
        return {
            "tokens": tokens,
            "flops": flops,
            "paper_base_flops": PAPER_FLOPS["base"],
            "paper_big_flops": PAPER_FLOPS["big"],
            "measured_flops_a_second": rate,
            "seconds": flops / rate,
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "config": self.config.to_dict(),
            "parameters": self.parameters,
            "d_head": self.config.d_head,
            "qkv_weights": self.qkv_weights,
            "qkv_biases": self.qkv_biases,
            "multiply_adds": {
                "source_token": self.multiply_adds("source"),
                "target_token": self.multiply_adds("target"),
                "query_and_key": self.multiply_adds_per_key,
            },
            "memory": self.memory,
            "cache": self.cache,
            "parts": [part.to_dict() for part in self.components],
        }


def describe(config: ModelConfig) -> Description:
    """All parts of a model, in the order of its file."""
    shapes = weight_shapes(config)
    parts: dict[str, Component] = {}
    for name, shape in shapes.items():
        place, kind = name.rsplit(".", 1)
        if kind != "weight":
            continue  # a bias is counted with its weight; running statistics are not parameters
        part = re.sub(r"\blayers\.\d+\.", "layers.*.", place)
        layers = parts[part].layers + 1 if part in parts else 1
        weights, biases = prod(shape), prod(shapes.get(f"{place}.bias", (0,)))
        # A token is multiplied by this matrix, unless it is looked up in it, or normalised element by element.
        multiply_adds = 0 if part.endswith(("embedding", "positions", "norm")) else weights
        parts[part] = Component(part, shape, layers, weights, biases, multiply_adds, _side(part))
    if config.tie != "none":  # the matrix is an embedding's: it costs no weights, but the product is done
        size = (config.target_tokens, config.d_model)
        bias = config.target_tokens if config.output_bias else 0
        parts["output"] = Component("output", size, 1, 0, bias, prod(size), "target")
    return Description(config, list(parts.values()))


def _side(part: str) -> Side:
    """Whose tokens pass: cross-attention takes its keys and values from the source."""
    memory = part.endswith(("cross_attention.key", "cross_attention.value"))
    return "source" if memory or part.startswith(("source", "encoder")) else "target"


def matmul_rate(seconds: float = 0.5, size: int = 1024) -> float:
    """Floating-point operations a second that this machine does in large float32 matrix products."""
    import numpy as np

    matrix = np.random.default_rng(1).random((size, size), np.float32)
    product = matrix @ matrix  # the first one also wakes the threads
    count, start = 0, perf_counter()
    while (elapsed := perf_counter() - start) < seconds or not count:
        np.matmul(matrix, matrix, out=product)
        count += 1
    return 2.0 * size**3 * count / elapsed
