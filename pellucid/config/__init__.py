"""Every setting of a model, its training data, its training, its decoding and its service, declared once.

The same names are used in Python, in TOML and JSON files, after `--set`, as options of the command line and as HTTP
parameters.
"""

from pellucid.config.data import KEEP_ALL, DataConfig, FilterConfig, file_list
from pellucid.config.decode import DecodeConfig, EngineConfig
from pellucid.config.model import PRESETS, ModelConfig, preset
from pellucid.config.serve import ServeConfig
from pellucid.config.train import StartConfig, TrainConfig

DEFAULT_MODEL = "en-de"  # the shipped model

__all__ = [
    "DEFAULT_MODEL",
    "KEEP_ALL",
    "PRESETS",
    "DataConfig",
    "DecodeConfig",
    "EngineConfig",
    "FilterConfig",
    "ModelConfig",
    "ServeConfig",
    "StartConfig",
    "TrainConfig",
    "file_list",
    "preset",
]
