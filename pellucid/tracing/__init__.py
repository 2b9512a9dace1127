"""See one translation from the inside: its trace, its pictures, and a report that opens anywhere."""

from pellucid.tracing.explain import explain
from pellucid.tracing.learning import Learning, watch
from pellucid.tracing.trace import Trace

__all__ = ["Learning", "Trace", "explain", "watch"]
