"""The filter of training pairs. Every reason for leaving a pair out is counted, reported, and can be switched off."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from pellucid.config import FilterConfig
from pellucid.text.pair import Pair

REASONS = {
    "empty": "empty side",
    "long": "too long",
    "ratio": "length ratio",
    "identical": "identical sides",
    "duplicate": "duplicate",
}
RATIO_SLACK = 20  # bytes: between short texts a large ratio means nothing ("No." - "Das ist nicht der Fall.")
EXAMPLES = 3
EXAMPLE_CHARACTERS = 40


class PairFilter:
    """Filters pair after pair; it remembers a hash of each, to find duplicates."""

    def __init__(self, config: FilterConfig) -> None:
        self._config = config
        self._seen = HashSet()

    def reason(self, pair: Pair) -> str | None:
        """The key in `REASONS` for leaving the pair out, or None."""
        config = self._config
        source, target = pair.source, pair.target
        if config.drop_empty and not (source and target):
            return "empty"
        if config.max_characters and max(len(source), len(target)) > config.max_characters:
            return "long"
        if config.max_ratio and _ratio(source, target) > config.max_ratio:
            return "ratio"
        if config.identical_words and source == target and len(source.split()) >= config.identical_words:
            return "identical"
        if config.drop_duplicates and not self._seen.add(_hash(pair)):
            return "duplicate"
        return None


def _ratio(source: str, target: str) -> float:
    """In bytes, not characters: a Chinese character carries as much as about three Latin letters."""
    shorter, longer = sorted((len(source.encode()), len(target.encode())))
    return (longer + RATIO_SLACK) / (shorter + RATIO_SLACK)


def _hash(pair: Pair) -> int:
    """64 bits: among ten million pairs, the chance that any two differ and share one is about 1 in 400,000."""
    return int.from_bytes(blake2b(f"{pair.source}\0{pair.target}".encode(), digest_size=8).digest(), "big")


class HashSet:
    """64-bit numbers in about 9 bytes each, where Python's set takes 60: sorted arrays, one for each first 12 bits."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(1 << 12)]

    def add(self, number: int) -> bool:
        """Add a number; False if it was there."""
        bucket = self._buckets[number >> 52]
        place = bisect_left(bucket, number)
        if place < len(bucket) and bucket[place] == number:
            return False
        bucket.insert(place, number)
        return True


@dataclass
class Report:
    """The counts of all pairs read: read = used + left out, by reason."""

    used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Pair]] = field(default_factory=dict)
    directions: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)  # of the used pairs

    @property
    def read(self) -> int:
        return self.used + self.left_out.total()

    def count(self, pair: Pair, reason: str | None) -> None:
        if reason is None:
            self.used += 1
            self.directions[pair.source_language, pair.target_language] += 1
            return
        self.left_out[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(pair)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "read": self.read,
            "used": self.used,
            "left_out": {reason: self.left_out[reason] for reason in REASONS},
            "examples": {
                reason: [{"place": pair.place, "source": pair.source, "target": pair.target} for pair in pairs]
                for reason, pairs in self.examples.items()
            },
            "directions": [
                {"source": source, "target": target, "pairs": count}
                for (source, target), count in self.directions.items()
            ],
        }

    def __str__(self) -> str:
        """A small table; under each reason a few of the pairs it took."""
        rows = [_row("pairs read", self.read), _row("used", self.used)]
        rows += [
            _row(f"  {source} → {target}", n) for (source, target), n in self.directions.items() if source and target
        ]
        rows.append(_row("left out", self.left_out.total()))
        for reason in filter(self.left_out.get, REASONS):
            rows.append(_row(f"  {REASONS[reason]}", self.left_out[reason]))
            for pair in self.examples[reason]:
                rows.append(f"    {pair.place}: {_short(pair.source)} | {_short(pair.target)}")
        return "\n".join(rows)


def _row(name: str, count: int) -> str:
    return f"{name:<18}{count:>12,}"


def _short(text: str) -> str:
    """The text as one line of bounded length."""
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "�" for character in line)
    return line if len(line) <= EXAMPLE_CHARACTERS else line[: EXAMPLE_CHARACTERS - 1] + "…"
