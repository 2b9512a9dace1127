"""Random models for searches: tables of what comes next after the last two tokens."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from pellucid.worked.code.task import Fill

START, END = 0, 1


class Model(dict[str, Any]):
    """A step function as it is sent to the process: for the last two tokens, the probabilities of the next."""


def random_table(fill: Fill, vocabulary: int, rarely_ends: bool) -> dict[str, list[float]]:
    """Probabilities in hundredths, no two alike, the start hardly ever again."""
    contexts = ["", *map(str, range(vocabulary)), *(f"{a},{b}" for a, b in product(range(vocabulary), repeat=2))]
    table = {}
    for context in contexts:
        order = np.argsort(fill(vocabulary - 1), kind="stable")
        shares = np.abs(fill(vocabulary - 1)) + 0.3 + 0.017 * np.arange(vocabulary - 1)
        row = np.concatenate([[0.0], np.roll(shares, order[0])])
        row[END] = 0.01 if rarely_ends else row[END]
        row = np.round(row / row.sum(), 2) + 1e-4 * np.arange(vocabulary) + 1e-5
        table[context] = [float(share) for share in row / row.sum()]
    return table
