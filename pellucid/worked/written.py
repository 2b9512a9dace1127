"""Numbers as people write them: `0,25`, `2/3`, `66.7 %`, `≈ 0.67`, `−1.5`, and the digits that each claims."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

PLAIN = r"(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,3})?"
NUMBER = re.compile(
    rf"(?P<about>[≈~]\s*)?(?P<sign>[+-]?)\s*(?P<top>{PLAIN})(?:\s*[/⁄]\s*(?P<bottom>{PLAIN}))?\s*(?P<percent>%)?"
)
NOT_FINITE = {"inf": "inf", "∞": "inf", "nan": "nan"}


@dataclass(frozen=True)
class WrittenNumber:
    """A number in a notation that TOML does not have: its text, its value, and the unit of its last digit.

    A fraction of whole numbers claims to be exact: its unit is 0.
    """

    text: str
    value: float
    unit: float


def read_number(text: str) -> WrittenNumber | None:
    """The number that a text is; None if it is none."""
    plain = text.strip().replace("−", "-").replace("\u202f", " ").replace("\xa0", " ")
    sign = -1 if plain.startswith("-") else 1
    if plain.lstrip("+-").lower() in NOT_FINITE:
        return WrittenNumber(text, sign * float(NOT_FINITE[plain.lstrip("+-").lower()]), 1.0)
    found = NUMBER.fullmatch(plain)
    if not found:
        return None
    try:
        top, bottom = (Decimal((found[part] or "1").replace(",", ".")) for part in ("top", "bottom"))
        scale = (-1 if found["sign"] == "-" else 1) / (bottom * (100 if found["percent"] else 1))
        value, unit = float(top * scale), float(abs(Decimal(1).scaleb(int(top.as_tuple().exponent)) * scale))
    except (InvalidOperation, ArithmeticError, ValueError):
        return None
    whole = found["bottom"] and not found["about"] and all(map(_is_whole, (top, bottom)))
    return WrittenNumber(text, value, 0.0 if whole else unit)


def _is_whole(number: Decimal) -> bool:
    return int(number.as_tuple().exponent) >= 0
