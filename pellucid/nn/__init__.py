"""The model in PyTorch: the same parts as `pellucid.reference`, fast."""

from pellucid.nn.attention import attention
from pellucid.nn.cache import Cache
from pellucid.nn.taps import attach
from pellucid.nn.transformer import Transformer

__all__ = ["Cache", "Transformer", "attach", "attention"]
