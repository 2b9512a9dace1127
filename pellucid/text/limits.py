"""How long a source may be: a longer one is cut where it is translated.

A model does badly with sentences longer than those it learned from: it loses its place and repeats itself until the
search ends. So a model directory says how long they were, in `limits.json`. Measured with a tiny model of everyday
sentences on 60 of 110 tokens (twelve joined by "and"): chrF 45 and 2 seconds where they are cut at 32, 27 and 16
seconds where they are cut at 256.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import UserError
from pellucid.text.pair import is_language

if TYPE_CHECKING:
    from pellucid.text.corpus import Corpus

FILE, FIELD = "limits.json", "longest_source"
USUAL = 256  # tokens, where the file is missing: what training takes by default
LEAST = 32  # tokens: nothing shorter is cut, however short the pairs were
ROWS = 1 << 16  # looked at together
USUALLY = 0.99  # of the sentences of a language: from the few that are longer a model learned little


def learn_longest(corpus: Corpus) -> int:
    """Tokens of a source, special ones included. What is no language is cut only where nothing was as long: its parts
    mean nothing alone."""
    counts = np.zeros(corpus.longest + 1, np.int64)  # of the sources by their length
    for start in range(0, len(corpus), ROWS):
        lengths, _ = corpus.lengths(np.arange(start, min(start + ROWS, len(corpus))))
        counts += np.bincount(lengths, minlength=len(counts))
    languages = corpus.about["languages"]
    if not (languages and all(map(is_language, languages))):
        return max(USUAL, int(np.flatnonzero(counts)[-1]))
    return max(LEAST, int(np.searchsorted(counts.cumsum(), USUALLY * counts.sum())))


def load_longest(directory: Path) -> int:
    path = directory / FILE
    if not path.exists():
        return USUAL
    try:
        longest = json.loads(path.read_text(encoding="utf-8"))[FIELD]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"cannot be used: {error!r}", str(path), "copy the model again, whole") from error
    if type(longest) is not int or longest < LEAST:
        raise UserError(f"{longest!r} is no count from {LEAST} on", f"{path}: {FIELD}", "copy the model again, whole")
    return longest


def save_longest(directory: Path, longest: int) -> None:
    (directory / FILE).write_text(json.dumps({FIELD: longest}) + "\n", encoding="utf-8")
