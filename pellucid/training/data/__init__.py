"""The pairs of a run: read, filtered, tokenised, stored, split into training and validation pairs."""

from pellucid.training.data.data import Data
from pellucid.training.data.prepare import prepare_data

__all__ = ["Data", "prepare_data"]
