"""C11: the dates and their alignment read back as text, and verdicts on made-up measurements."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from pellucid.labs.cross import MONTHS, ORDERS, SOURCE_LENGTH, decide, draw_dates, readable


def test_a_source_and_its_target_are_the_same_date_in_every_order() -> None:
    dates = draw_dates(np.random.default_rng(1), 300)
    orders = set()
    for source, target, aligned in zip(*dates, strict=True):
        words, digits = [readable(token) for token in source[:-1]], "".join(readable(token) for token in target[:-1])
        day = date.fromisoformat(digits)
        month = MONTHS[day.month - 1]
        parts = {"y": f"{day.year}", "m": month, "d": f"{day.day:02}."}
        [order] = [order for order in ORDERS if "".join(words) == "".join(parts[part] for part in order)]
        orders.add(order)
        for digit, place in zip(digits, aligned, strict=True):
            assert words[place] in (digit, month)
        assert len(source) == SOURCE_LENGTH
    assert orders == set(ORDERS)


def test_the_criterion_on_made_up_measurements() -> None:
    good: dict[str, Any] = {
        "right": [{"its own": 0.9, "removed": 0.3, "of another date": 0.35}] * 2,
        "other": [0.9, 0.9],
        "aligned": [0.6, 0.7],
        "order": [1e-7, 1e-7],
    }
    guessed = [{"its own": 0.33, "removed": 0.3, "of another date": 0.3}] * 2
    assert decide(good).outcome == "shown"
    assert decide(good | {"right": guessed}).outcome == "refuted"
    for worse in ({"other": [0.4, 0.4]}, {"aligned": [0.1, 0.12]}, {"order": [1e-7, 0.1]}):
        assert decide(good | worse).outcome == "not decided"
