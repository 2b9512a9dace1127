"""The model in plain NumPy float64: the oracle of every engine and the source of every trace."""

from pellucid.reference.cache import Cache
from pellucid.reference.functions import (
    attention,
    attention_scores,
    batch_norm,
    causal,
    cross_entropy,
    gelu,
    layer_norm,
    linear,
    log_softmax,
    relu,
    rms_norm,
    rotate,
    silu,
    sinusoidal,
    softmax,
)
from pellucid.reference.model import Transformer

__all__ = [
    "Cache",
    "Transformer",
    "attention",
    "attention_scores",
    "batch_norm",
    "causal",
    "cross_entropy",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "relu",
    "rms_norm",
    "rotate",
    "silu",
    "sinusoidal",
    "softmax",
]
