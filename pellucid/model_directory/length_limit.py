"""The length limit of a model: maximum tokens of a source sentence. A longer one is cut where it is translated.

A model translates sentences longer than its training sentences badly: it loses its place and repeats itself until the
search ends. So a model directory records how long they were, in `limits.json`. Measured with a tiny model of everyday
sentences on 60 sentences of 110 tokens (twelve joined by "and"): chrF 45 in 2 seconds with a limit of 32 tokens, chrF
27 in 16 seconds with a limit of 256.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import UserError

if TYPE_CHECKING:
    from pellucid.text.corpus import Corpus

FILE, FIELD = "limits.json", "longest_source"
DEFAULT = 256  # where the file is missing: what training takes by default
MINIMUM = 32  # nothing shorter is cut, however short the pairs were
ROWS_PER_BLOCK = 1 << 16
# How much longer a source may be where the model also learned from paragraphs. Measured with a tiny model, whose limit
# for sentences is 78, on 5 long sentences joined by semicolons: chrF 50.6 with a limit of 64 tokens, 48.5 with 100,
# 41.8 with 180, 37.5 with 234.
PARAGRAPH = 1.3
QUANTILE = 0.99  # of the sentence lengths: from the few longer ones a model learned little


def learn_length_limit(corpus: Corpus, paragraphs: bool = False) -> int:
    """The limit, special tokens included. Where the source is not in a language (a report to be summarised), nothing is
    cut that is as short as the longest training source: its parts mean nothing alone. A model that also learned from
    `paragraphs` of several pairs translates somewhat longer ones."""
    counts = np.zeros(corpus.longest + 1, np.int64)  # of the sources by their length
    for start in range(0, len(corpus), ROWS_PER_BLOCK):
        lengths, _ = corpus.lengths(np.arange(start, min(start + ROWS_PER_BLOCK, len(corpus))))
        counts += np.bincount(lengths, minlength=len(counts))
    if not corpus.in_languages:
        return max(DEFAULT, int(np.flatnonzero(counts)[-1]))
    single = int(np.searchsorted(counts.cumsum(), QUANTILE * counts.sum()))
    return max(MINIMUM, min(corpus.longest, round(PARAGRAPH * single)) if paragraphs else single)


def load_length_limit(directory: Path) -> int:
    path = directory / FILE
    if not path.exists():
        return DEFAULT
    try:
        longest = json.loads(path.read_text(encoding="utf-8"))[FIELD]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"cannot be used: {error!r}", str(path), "copy the model again, whole") from error
    if type(longest) is not int or longest < MINIMUM:
        what = f"{longest!r} is not a number from {MINIMUM} on"
        raise UserError(what, f"{path}: {FIELD}", "copy the model again, whole")
    return longest


def save_length_limit(directory: Path, longest: int) -> None:
    (directory / FILE).write_text(json.dumps({FIELD: longest}) + "\n", encoding="utf-8")
