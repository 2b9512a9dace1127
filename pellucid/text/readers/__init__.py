"""Files in, pairs out: aligned lines, TSV, JSONL and TMX, plain or compressed."""

from pellucid.text.readers.pair_filter import PairFilter, Report
from pellucid.text.readers.pairs import Aligned, Pairs

__all__ = ["Aligned", "PairFilter", "Pairs", "Report"]
