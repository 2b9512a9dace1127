"""Pairs of text, tokenised once and kept on disk, so that a training of any size starts at once and fits in memory.

A corpus is a directory: the ids and the texts of both sides as flat arrays with offsets, where each pair was read, its
languages, the tokenizers that made the ids, and `about.json`. It appears whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pellucid.errors import UserError
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.pair import Pair
from pellucid.text.ragged import Ragged, RaggedWriter, close_safely, mapped
from pellucid.text.tokenizer import END, Tokenizers, well_formed

VERSION = 1
CHUNK = 8192  # pairs encoded at a time
EXAMPLES = 5


class Side(NamedTuple):
    """One side of all pairs."""

    ids: Ragged  # without special ids
    text: Ragged  # UTF-8


class Corpus:
    """The pairs of a directory. `both_ways` doubles them: pair n + i is pair i with its sides exchanged."""

    def __init__(self, directory: Path, both_ways: bool = False) -> None:
        if not is_whole(directory):
            raise UserError("there is no whole corpus here", str(directory), "delete the directory and build it again")
        self.directory = directory
        self.both_ways = both_ways
        self.about: dict[str, Any] = _read_about(directory)
        self.tokenizers = Tokenizers.load(directory)
        if both_ways and not (self.tokenizers.joint and self.tokenizers.source.languages):
            raise UserError(
                "both ways need one joint vocabulary with language tags",
                str(directory),
                "give the languages of both sides",
            )
        self._sides = [
            Side(Ragged(directory / f"{name}.ids", self.about["id_type"]), Ragged(directory / f"{name}.text", "u1"))
            for name in ("source", "target")
        ]
        self._languages = mapped(directory / "languages", "u1").reshape(-1, 2)  # (pairs, sides)
        self._places = mapped(directory / "places", "<u4").reshape(-1, 2)  # (pairs, file and line)

    @classmethod
    def build(
        cls,
        pairs: Iterable[Pair],
        tokenizers: Tokenizers,
        directory: Path,
        longest: int = 512,
        both_ways: bool = False,
    ) -> Self:
        """Tokenise `pairs` into `directory`, in place of what was there. A pair with a side of more than `longest`
        tokens, special ones included, is left out and counted."""
        directory.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        try:
            _Writer(draft, tokenizers, longest).write(pairs)
            _move(draft, directory)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return cls(directory, both_ways)

    @property
    def stored(self) -> int:
        """Pairs on disk: as many as the corpus has, or half of them when it goes both ways."""
        return len(self._sides[0].ids)

    def __len__(self) -> int:
        return self.stored * (1 + self.both_ways)

    def source_ids(self, pair: int, dropout: BpeDropout | None = None, epoch: int = 0) -> list[int]:
        """The tag of the target language if there are tags, the ids, END."""
        row, source, target = self._find(pair)
        head = self.tokenizers.head(self._language(row, target))
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
        head = 1 if self.tokenizers.source.languages else 0
        return np.where(reverse, second, first) + head + 1, np.where(reverse, first, second) + 1

    def text(self, pair: int) -> tuple[str, str]:
        """Source and target as they were read."""
        row, source, target = self._find(pair)
        return self._text(row, source), self._text(row, target)

    def languages(self, pair: int) -> tuple[str | None, str | None]:
        row, source, target = self._find(pair)
        return self._language(row, source), self._language(row, target)

    def place(self, pair: int) -> str:
        """Where the pair was read: `train.tsv:12`."""
        file, line = self._places[self._find(pair)[0]].tolist()
        name: str = self.about["files"][file]
        return f"{name}:{line}" if line else name

    def split(self, share: float, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The pairs to train on, and a share of all of them, at least one, held out by the seed. A pair that is held
        out is held out both ways."""
        count = min(max(1, round(self.stored * share)), self.stored)
        rows = np.random.default_rng([seed, self.stored]).choice(self.stored, count, replace=False, shuffle=False)
        held_out = np.sort(rows).astype(np.uint32)
        if self.both_ways:
            held_out = np.concatenate([held_out, held_out + np.uint32(self.stored)])
        kept = np.ones(len(self), bool)
        kept[held_out] = False
        return np.arange(len(self), dtype=np.uint32)[kept], held_out

    def _find(self, pair: int) -> tuple[int, int, int]:
        """The row on disk, and which stored side is the source and which the target."""
        if not 0 <= pair < len(self):
            raise IndexError(f"pair {pair} of {len(self)}")
        pair = int(pair)
        return (pair, 0, 1) if pair < self.stored else (pair - self.stored, 1, 0)

    def _text(self, row: int, side: int) -> str:
        return self._sides[side].text[row].tobytes().decode()

    def _language(self, row: int, side: int) -> str | None:
        number = int(self._languages[row, side])
        return self.about["languages"][number - 1] if number else None


class _Writer:
    """Writes the files of a corpus, a chunk of pairs at a time."""

    def __init__(self, directory: Path, tokenizers: Tokenizers, longest: int) -> None:
        self.directory = directory
        self.tokenizers = tokenizers
        self.longest = longest
        largest = max(len(tokenizers.source), len(tokenizers.target))
        self.id_type = "<u2" if largest <= 2**16 else "<u4"
        self.ids = [RaggedWriter(directory / f"{name}.ids", self.id_type) for name in ("source", "target")]
        self.texts = [RaggedWriter(directory / f"{name}.text", "u1") for name in ("source", "target")]
        self.languages_file = (directory / "languages").open("wb")
        self.places_file = (directory / "places").open("wb")
        self.languages: dict[str | None, int] = {None: 0}
        self.files: dict[str, int] = {}
        self.used = 0
        self.too_long = 0
        self.too_long_places: list[str] = []

    def write(self, pairs: Iterable[Pair]) -> None:
        remaining = iter(pairs)
        while chunk := list(islice(remaining, CHUNK)):
            self._write_chunk(chunk)
        for writer in (*self.ids, *self.texts):
            writer.close()
        close_safely([self.languages_file, self.places_file])
        if not self.used:
            raise UserError(
                f"no pair is left to train on: {self.too_long:,} have a side of more than {self.longest} tokens",
                remedy="give pairs, or allow longer ones",
            )
        self.tokenizers.save(self.directory)
        for path in self.directory.glob("tokenizer*.json"):
            _sync(path)
        self._write_about()

    def _write_chunk(self, chunk: list[Pair]) -> None:
        sources = self.tokenizers.source.encode_batch([pair.source for pair in chunk])
        targets = self.tokenizers.target.encode_batch([pair.target for pair in chunk])
        room = self.longest - 1 - bool(self.tokenizers.source.languages)  # for the end and the tag
        fitting = [len(source) <= room and len(target) <= room for source, target in zip(sources, targets, strict=True)]
        rows = [row for row, fits in enumerate(fitting) if fits]
        left_out = [pair.place for pair, fits in zip(chunk, fitting, strict=True) if not fits]
        self.too_long += len(left_out)
        self.too_long_places += left_out[: EXAMPLES - len(self.too_long_places)]
        used = [chunk[row] for row in rows]
        self.used += len(used)
        self.ids[0].extend([sources[row] for row in rows])
        self.ids[1].extend([targets[row] for row in rows])
        self.texts[0].extend([well_formed(pair.source).encode() for pair in used])
        self.texts[1].extend([well_formed(pair.target).encode() for pair in used])
        languages = [(self._number(pair.source_language), self._number(pair.target_language)) for pair in used]
        self.languages_file.write(np.array(languages, "u1").tobytes())
        self.places_file.write(np.array([self._place(pair.place) for pair in used], "<u4").tobytes())

    def _number(self, language: str | None) -> int:
        if language not in self.languages and language is not None and self.tokenizers.source.languages:
            self.tokenizers.source.tag(language)  # a language without a tag is told now, not in the middle of training
        return self.languages.setdefault(language, len(self.languages))

    def _place(self, place: str) -> tuple[int, int]:
        """The number of the file and the line; line 0 where the place has none."""
        file, colon, line = place.rpartition(":")
        if not (colon and line.isascii() and line.isdigit()):
            file, line = place, "0"
        return self.files.setdefault(file, len(self.files)), int(line)

    def _write_about(self) -> None:
        about: Mapping[str, Any] = {
            "version": VERSION,
            "pairs": self.used,
            "longest": self.longest,
            "too_long": {"pairs": self.too_long, "places": self.too_long_places},
            "languages": [language for language in self.languages if language is not None],
            "files": list(self.files),
            "id_type": self.id_type,
            "sizes": {path.name: path.stat().st_size for path in sorted(self.directory.iterdir())},
        }
        with (self.directory / "about.json").open("wb") as file:
            file.write(json.dumps(about, ensure_ascii=False, indent=1).encode())
            close_safely([file])


def is_whole(directory: Path) -> bool:
    """Whether a corpus of this version is there with all its bytes."""
    try:
        about = _read_about(directory)
        return about["version"] == VERSION and all(
            (directory / name).stat().st_size == size for name, size in about["sizes"].items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read_about(directory: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((directory / "about.json").read_text(encoding="utf-8"))
    return about


def _move(draft: Path, directory: Path) -> None:
    """Put a finished draft in its place; an older corpus there makes way. Programs that read it keep their maps."""
    _sync(draft)
    if directory.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        with suppress(FileNotFoundError):  # another process was faster
            directory.rename(old / "old")
        draft.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    else:
        draft.rename(directory)
    _sync(directory.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
