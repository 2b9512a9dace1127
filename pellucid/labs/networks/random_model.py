"""A Transformer with random weights, as the NumPy reference computes it."""

from __future__ import annotations

from math import sqrt

import numpy as np

from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import weight_shapes
from pellucid.reference.functions import Array
from pellucid.reference.model import Transformer


def random_model(config: ModelConfig, seed: int) -> Transformer:
    """Embeddings as training starts with them, matrices of variance 2 / (in + out), norms that change nothing."""
    random = np.random.default_rng(seed)
    return Transformer(config, {name: _draw(name, shape, random) for name, shape in weight_shapes(config).items()})


def _draw(name: str, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    if name.endswith("norm.weight"):
        return np.ones(shape)
    if len(shape) == 1:
        return np.zeros(shape)
    deviation = shape[1] ** -0.5 if name.endswith(("embedding.weight", "positions.weight")) else sqrt(2 / sum(shape))
    return random.normal(0.0, deviation, shape)
