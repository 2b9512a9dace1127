"""Pictures of what is traced: with matplotlib, and as the HTML that a notebook shows."""

from pellucid.tracing.pictures.figures import draw

__all__ = ["draw"]
