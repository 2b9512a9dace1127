"""Every choice of every setting of a model, for tests that try them all, or all pairs of them."""

from __future__ import annotations

from itertools import combinations, product
from random import Random
from typing import Any

Choice = dict[str, Any]

# Each line is one decision; fields that only make sense together are decided together.
SIDES = {"source_vocabulary": 17, "target_vocabulary": 23}
DECISIONS: list[list[Choice]] = [
    [
        {"positions": "sinusoidal"},
        {"positions": "sinusoidal", "position_layout": "halves"},
        {"positions": "rotary"},
        {"positions": "rotary", "position_layout": "halves"},
        {"positions": "learned", "max_length": 9},
        {"positions": "none"},
    ],
    [{"tie": "all"}, {"tie": "decoder"}, {"tie": "none"}, {"tie": "decoder", **SIDES}, {"tie": "none", **SIDES}],
    [{"activation": activation} for activation in ("relu", "gelu", "silu", "swiglu")],
    [{"norm": norm} for norm in ("layer", "rms", "batch")],
    [{"kv_heads": kv_heads} for kv_heads in (None, 2, 1)],
    [{"norm_place": place} for place in ("pre", "post")],
    [{"embedding_scale": scale} for scale in (True, False)],
    [{"embedding_norm": norm} for norm in (True, False)],
    [{"bias": bias} for bias in (True, False)],
    [{"output_bias": bias} for bias in (True, False)],
]


def merged(row: tuple[int, ...]) -> Choice:
    """The settings of a row that has one index a decision."""
    return {name: value for decision, i in zip(DECISIONS, row, strict=True) for name, value in decision[i].items()}


def pairs_of(row: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """Every two choices that a row tries together."""
    return set(combinations(enumerate(row), 2))


def covering_rows() -> list[tuple[int, ...]]:
    """Few rows in which any two choices of different decisions meet: the best of some random rows, again and again."""
    random = Random(1)
    sizes = [range(len(decision)) for decision in DECISIONS]
    missing = {((a, i), (b, j)) for a, b in combinations(range(len(sizes)), 2) for i, j in product(sizes[a], sizes[b])}
    rows = []
    while missing:
        (a, i), (b, j) = min(missing)
        candidates = []
        for _ in range(50):
            row = [random.choice(size) for size in sizes]
            row[a], row[b] = i, j
            candidates.append(tuple(row))
        best = max(candidates, key=lambda row: len(pairs_of(row) & missing))
        missing -= pairs_of(best)
        rows.append(best)
    return rows
