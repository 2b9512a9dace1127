"""Pairs of text, tokenised once and kept on disk, so that a training of any size starts at once and fits in memory.

A corpus is a directory: the ids and the texts of both sides as flat arrays with offsets, where each pair was read, its
languages, the tokenizers that made the ids, and `about.json`. It appears whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import UserError
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus.row_store import RowStore, mapped
from pellucid.text.corpus.writer import is_whole, read_about, write_corpus
from pellucid.text.languages import Direction, is_language
from pellucid.text.pair import Pair
from pellucid.text.readers.pair_filter import Report
from pellucid.text.tokenizer import END, Tokenizers

ROWS_PER_BLOCK = 65_536  # processed at a time


class Side(NamedTuple):
    """One side of all pairs."""

    ids: RowStore  # without special ids
    text: RowStore  # UTF-8


class Corpus:
    """The pairs of a directory. `both_ways` doubles them: pair n + i is pair i with its sides exchanged."""

    def __init__(self, directory: Path, both_ways: bool = False) -> None:
        if not is_whole(directory):
            remedy = "delete the directory and build it again"
            raise UserError("there is no complete corpus here", str(directory), remedy)
        self.directory = directory
        self.both_ways = both_ways
        self.about: dict[str, Any] = read_about(directory)
        self.tokenizers = Tokenizers.load(directory)
        self._sides = [
            Side(RowStore(directory / f"{name}.ids", self.about["id_type"]), RowStore(directory / f"{name}.text", "u1"))
            for name in ("source", "target")
        ]
        self._languages = mapped(directory / "languages", "u1").reshape(-1, 2)  # (pairs, sides)
        self._places = mapped(directory / "places", "<u4").reshape(-1, 2)  # (pairs, file and line)
        if both_ways and not self._reversible():
            what = "both directions need one joint vocabulary with a tag for each language"
            raise UserError(what, str(directory), "give the languages of both sides")

    @classmethod
    def build(
        cls,
        pairs: Iterable[Pair],
        tokenizers: Tokenizers,
        directory: Path,
        longest: int = 512,
        both_ways: bool = False,
        report: Report | None = None,
    ) -> Self:
        """Tokenise `pairs` into `directory`, in place of an older corpus there. A pair with a side of more than
        `longest` tokens, special ones included, is left out and counted in `about`, where also the `report` of the
        reader is kept."""
        write_corpus(pairs, tokenizers, directory, longest, report)
        return cls(directory, both_ways)

    @property
    def stored(self) -> int:
        """Number of pairs on disk: all pairs of the corpus, or half of them with `both_ways`."""
        return len(self._sides[0].ids)

    def __len__(self) -> int:
        return self.stored * (1 + self.both_ways)

    def source_ids(self, pair: int, dropout: BpeDropout | None = None, epoch: int = 0) -> list[int]:
        """The tag of the target language if there are tags, the ids, END."""
        row, source, target = self._find(pair)
        head = self.tokenizers.language_tag(self._language(row, target))
        ids: list[int] = self._sides[source].ids[row].tolist()
        if dropout is not None:
            dropped = dropout.source(self._text(row, source), epoch, pair)
            ids = dropped if len(head) + len(dropped) < self.longest else ids
        return [*head, *ids, END]

    def target_ids(self, pair: int, dropout: BpeDropout | None = None, epoch: int = 0) -> list[int]:
        """The ids, END."""
        row, _, target = self._find(pair)
        ids: list[int] = self._sides[target].ids[row].tolist()
        if dropout is not None:
            dropped = dropout.target(self._text(row, target), epoch, pair)
            ids = dropped if len(dropped) < self.longest else ids
        return [*ids, END]

    @property
    def longest(self) -> int:
        """Tokens of a side at most. Where BPE dropout would make it longer, the plain ids are used."""
        return int(self.about["longest"])

    def lengths(self, pairs: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tokens of the sources and of the targets, special ones included."""
        reverse = pairs >= self.stored
        rows = np.where(reverse, pairs - self.stored, pairs) if self.both_ways else pairs
        first, second = (side.ids.lengths(rows) for side in self._sides)
        special = 2 if self.tokenizers.source.languages else 1  # the tag, if there are tags, and END
        return np.where(reverse, second, first) + special, np.where(reverse, first, second) + 1

    def text(self, pair: int) -> tuple[str, str]:
        """Source and target as they were read."""
        row, source, target = self._find(pair)
        return self._text(row, source), self._text(row, target)

    def languages(self, pair: int) -> tuple[str | None, str | None]:
        row, source, target = self._find(pair)
        return self._language(row, source), self._language(row, target)

    @property
    def in_languages(self) -> bool:
        """Whether every language of a text is known and is one, unlike report and summary."""
        languages = self.about["languages"]
        return bool(languages) and all(map(is_language, languages)) and bool(self._languages.all())

    def named_direction(self) -> Direction | None:
        """The languages of every pair, where all have the same two."""
        source, target = self.languages(0)
        same = bool((self._languages == self._languages[0]).all())
        return (source, target) if same and source and target else None

    def place(self, pair: int) -> str:
        """Where the pair was read: `train.tsv:12`."""
        file, line = self._places[self._find(pair)[0]].tolist()
        name: str = self.about["files"][file]
        return f"{name}:{line}" if line else name

    @property
    def digest(self) -> str:
        """A hash of all ids: equal for corpora that train alike."""
        return str(self.about["digest"])

    def pairs_from(self, files: Collection[str]) -> NDArray[np.uint32]:
        """The pairs that were read from these files."""
        numbers = [number for number, name in enumerate(self.about["files"]) if name in files]
        rows = np.isin(self._places[:, 0], numbers)
        return np.flatnonzero(np.tile(rows, 1 + self.both_ways)).astype(np.uint32)

    def split(
        self, share: float, seed: int, pairs: NDArray[np.uint32] | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """`pairs` (default: all) to train on, and a share of them, drawn by the seed, that is held out: at least one,
        never the last. A pair is held out in both directions."""
        pairs = np.arange(len(self), dtype=np.uint32) if pairs is None else pairs
        rows = pairs[pairs < self.stored]
        count = min(max(1, round(len(rows) * share)), len(rows) - 1)
        random = np.random.default_rng([seed, len(rows)])
        held_out = np.sort(rows[random.choice(len(rows), count, replace=False, shuffle=False)])
        if self.both_ways:
            held_out = np.concatenate([held_out, held_out + np.uint32(self.stored)])
        return self.others(held_out, pairs), held_out

    def others(self, pairs: NDArray[np.uint32], among: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """The pairs of `among` (default: all) that are not in `pairs`, with one byte a pair to find them."""
        chosen = np.ones(len(self), bool)
        chosen[pairs] = False
        return np.flatnonzero(chosen).astype(np.uint32) if among is None else among[chosen[among]]

    def used_target_tokens(self) -> dict[str | None, NDArray[np.bool_]]:
        """For each language of a target, which tokens its texts use: (vocabulary,)."""
        used: dict[str | None, NDArray[np.bool_]] = {}
        for side in (1, 0) if self.both_ways else (1,):
            ids, numbers = self._sides[side].ids, self._languages[:, side]
            for first in range(0, self.stored, ROWS_PER_BLOCK):
                rows = np.arange(first, min(first + ROWS_PER_BLOCK, self.stored))
                tokens = ids.values[ids.offsets[rows[0]] : ids.offsets[rows[-1] + 1]]
                number_of = np.repeat(numbers[rows], ids.lengths(rows))  # (tokens,)
                for number in np.unique(numbers[rows]).tolist():
                    mask = used.setdefault(self._named(number), np.zeros(len(self.tokenizers.target), bool))
                    mask[tokens[number_of == number]] = True
        return used

    def _reversible(self) -> bool:
        tagged = set(self.about["languages"]) <= set(self.tokenizers.source.languages)
        return self.tokenizers.joint and tagged and bool(self._languages.all())

    def _find(self, pair: int) -> tuple[int, int, int]:
        """The row on disk, and which stored side is the source and which the target."""
        if not 0 <= pair < len(self):
            raise IndexError(f"pair {pair} of {len(self)}")
        pair = int(pair)
        return (pair, 0, 1) if pair < self.stored else (pair - self.stored, 1, 0)

    def _text(self, row: int, side: int) -> str:
        return self._sides[side].text[row].tobytes().decode()

    def _language(self, row: int, side: int) -> str | None:
        return self._named(int(self._languages[row, side]))

    def _named(self, number: int) -> str | None:
        return self.about["languages"][number - 1] if number else None
