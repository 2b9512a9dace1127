"""The Transformer of "Attention Is All You Need", clear all the way through.

>>> import pellucid
>>> pellucid.load().translate("Where is the station?", target="de").text  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pellucid.config import DecodeConfig, ModelConfig, TrainConfig
    from pellucid.decode.translation import Translation
    from pellucid.decode.translator import Translator, load
    from pellucid.errors import UserError
    from pellucid.nn import Transformer
    from pellucid.tracing import Trace, explain, watch
    from pellucid.training.loop import train

__all__ = [
    "DecodeConfig",
    "ModelConfig",
    "Trace",
    "TrainConfig",
    "Transformer",
    "Translation",
    "Translator",
    "UserError",
    "explain",
    "load",
    "train",
    "watch",
]

# Where each name lives. It is imported when first used: most uses need no torch, and none needs everything.
_HOMES = {
    "DecodeConfig": "pellucid.config",
    "ModelConfig": "pellucid.config",
    "TrainConfig": "pellucid.config",
    "Trace": "pellucid.tracing",
    "Transformer": "pellucid.nn",
    "Translation": "pellucid.decode.translation",
    "Translator": "pellucid.decode.translator",
    "UserError": "pellucid.errors",
    "explain": "pellucid.tracing",
    "load": "pellucid.decode.translator",
    "train": "pellucid.training.loop",
    "watch": "pellucid.tracing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
