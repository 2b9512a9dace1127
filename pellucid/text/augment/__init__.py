"""Augmentation: the variety that clean pairs lack, made from the pairs themselves (see `augmentation.py`)."""

from pellucid.text.augment.augmentation import Augmentation
from pellucid.text.augment.derived import DERIVED, derived_pairs

__all__ = ["DERIVED", "Augmentation", "derived_pairs"]
