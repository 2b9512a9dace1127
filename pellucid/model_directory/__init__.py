"""A model on disk: found, opened, checked, saved and described. Other packages receive a `ModelDirectory`."""

from pellucid.model_directory.directory import Metadata, ModelDirectory
from pellucid.model_directory.find import shipped_models

__all__ = ["Metadata", "ModelDirectory", "shipped_models"]
