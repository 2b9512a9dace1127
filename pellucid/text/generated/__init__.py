"""Corpora that the project makes itself, as pure functions of a seed: nothing to download, no licence to read."""

from __future__ import annotations

from collections.abc import Callable

from pellucid.text.generated import dates, reports
from pellucid.text.generated.splits import Split
from pellucid.text.pair import Pair

__all__ = ["CORPORA", "Split"]

CORPORA: dict[str, Callable[[int, int, Split], list[Pair]]] = {"dates": dates.pairs, "reports": reports.pairs}
"""Each is called with how many pairs, the seed, and the split they are for."""
