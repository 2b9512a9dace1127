"""What a toolkit with batches of its own must be told, so that its updates train on as many real tokens as ours.

Each counts a batch in its own way, padding included; so its way of cutting is followed here, and the size is searched
for. Runs inside the environments of the peers: nothing but Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

SAMPLE = 2**16  # pairs
Lengths = tuple[int, int]  # tokens of a source and of its target, no special token among them


def lengths(folder: Path) -> list[Lengths]:
    """Those of the first pairs of a work."""
    with (
        (folder / "pieces.source").open(encoding="utf-8") as sources,
        (folder / "pieces.target").open(encoding="utf-8") as targets,
    ):
        pairs = zip(sources, targets, strict=True)
        return [(len(source.split()), len(target.split())) for source, target in islice(pairs, SAMPLE)]


def fitting_size(tokens: float, cut: Callable[[int], Iterable[list[Lengths]]]) -> int:
    """The largest size whose batches, as `cut` makes them, have no more than so many real tokens in the mean."""
    low, high = 1, round(4 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        batches = list(cut(middle))
        if batches and sum(map(_tokens, batches)) / len(batches) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _tokens(batch: list[Lengths]) -> int:
    """With an end on both sides."""
    return sum(source + target + 2 for source, target in batch)
