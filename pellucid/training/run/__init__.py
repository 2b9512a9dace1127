"""A run: its directory, settings, budget, checkpoints, log and display. Importing this loads no torch."""

from pellucid.training.run.directory import Run
from pellucid.training.run.settings import Settings

__all__ = ["Run", "Settings"]
