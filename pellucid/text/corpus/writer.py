"""Writes a corpus: pairs are appended one by one, and the directory appears when all of it is on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import UserError
from pellucid.storage import content_hash, new_directory
from pellucid.text.corpus.row_store import RowWriter
from pellucid.text.pair import Pair
from pellucid.text.readers.pair_filter import Report
from pellucid.text.tokenizer import Tokenizers
from pellucid.text.unicode import well_formed

VERSION = 2
PAIRS_PER_CHUNK = 8192  # encoded at a time
EXAMPLES = 5  # places named of pairs that are too long


def write_corpus(
    pairs: Iterable[Pair], tokenizers: Tokenizers, directory: Path, longest: int, report: Report | None = None
) -> None:
    """Write a corpus whole, in place of an older one, unless another process has just written the same."""
    if directory.exists() and not (directory / "about.json").exists() and any(directory.iterdir()):
        raise UserError("is there already and is not a corpus", str(directory), "choose another directory")
    with new_directory(directory, keep=_is_same) as draft:
        _Writer(draft, tokenizers, longest).write(pairs, report)


class _Writer:
    """The open files of a corpus and the counts so far."""

    def __init__(self, directory: Path, tokenizers: Tokenizers, longest: int) -> None:
        self.directory = directory
        self.tokenizers = tokenizers
        self.longest = longest
        self.id_type = "<u2" if max(len(tokenizers.source), len(tokenizers.target)) <= 2**16 else "<u4"
        self.ids = [RowWriter(directory / f"{name}.ids", self.id_type) for name in ("source", "target")]
        self.texts = [RowWriter(directory / f"{name}.text", "u1") for name in ("source", "target")]
        self.languages_file = (directory / "languages").open("wb")
        self.places_file = (directory / "places").open("wb")
        self.languages: dict[str | None, int] = {None: 0}
        self.files: dict[str, int] = {}
        self.used = 0
        self.too_long = 0
        self.too_long_places: list[str] = []

    def write(self, pairs: Iterable[Pair], report: Report | None) -> None:
        remaining = iter(pairs)
        try:
            while chunk := list(islice(remaining, PAIRS_PER_CHUNK)):
                self._write_chunk(chunk)
        finally:
            self.languages_file.close()
            self.places_file.close()
            for writer in (*self.ids, *self.texts):
                writer.close()
        if not self.used:
            what = f"no pair is left to train on: {self.too_long:,} have a side of more than {self.longest} tokens"
            raise UserError(what, remedy="give pairs, or allow longer ones")
        self.tokenizers.save(self.directory)
        self._write_about(report)

    def _write_chunk(self, chunk: list[Pair]) -> None:
        sources = self.tokenizers.source.encode_batch([pair.source for pair in chunk])
        targets = self.tokenizers.target.encode_batch([pair.target for pair in chunk])
        room = self.longest - 1 - bool(self.tokenizers.source.languages)  # beside the end and the tag
        fits = [max(len(source), len(target)) <= room for source, target in zip(sources, targets, strict=True)]
        rows = [row for row, fit in enumerate(fits) if fit]
        used = [chunk[row] for row in rows]
        too_long = [pair.place for pair, fit in zip(chunk, fits, strict=True) if not fit]
        self.used += len(used)
        self.too_long += len(too_long)
        self.too_long_places += too_long[: EXAMPLES - len(self.too_long_places)]
        self.ids[0].extend([sources[row] for row in rows])
        self.ids[1].extend([targets[row] for row in rows])
        self.texts[0].extend([well_formed(pair.source).encode() for pair in used])
        self.texts[1].extend([well_formed(pair.target).encode() for pair in used])
        languages = [(self._number(pair.source_language), self._target_number(pair)) for pair in used]
        self.languages_file.write(np.array(languages, "u1").tobytes())
        self.places_file.write(np.array([self._place(pair.place) for pair in used], "<u4").tobytes())

    def _target_number(self, pair: Pair) -> int:
        tags = self.tokenizers.source.languages
        if tags and pair.target_language not in tags:
            known = f"known: {', '.join(tags)}"
            if pair.target_language is None:
                raise UserError("its target language is not given", pair.place, f"add --from and --to; {known}")
            what = f"the tokenizer has no tag for its target language, {pair.target_language}"
            raise UserError(what, pair.place, known)
        return self._number(pair.target_language)

    def _number(self, language: str | None) -> int:
        """0 for an unknown language."""
        return self.languages.setdefault(language, len(self.languages))

    def _place(self, place: str) -> tuple[int, int]:
        """The number of the file, and the line; line 0 where the place has none."""
        file, colon, line = place.rpartition(":")
        if not (colon and line.isascii() and line.isdigit()):
            file, line = place, "0"
        return self.files.setdefault(file, len(self.files)), int(line)

    def _write_about(self, report: Report | None) -> None:
        about = {
            "version": VERSION,
            "pairs": self.used,
            "longest": self.longest,
            "too_long": {"pairs": self.too_long, "places": self.too_long_places},
            "languages": [language for language in self.languages if language is not None],
            "files": list(self.files),
            "id_type": self.id_type,
            "report": None if report is None else {**report.to_dict(), "text": str(report)},
            "digest": content_hash(sorted(self.directory.glob("*.ids*"))),
            "sizes": {path.name: path.stat().st_size for path in sorted(self.directory.iterdir())},
        }
        # ASCII, because a file may have a name that is no UTF-8
        (self.directory / "about.json").write_text(json.dumps(about, indent=1), encoding="ascii")


def read_about(directory: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((directory / "about.json").read_text(encoding="ascii"))
    return about


def is_whole(directory: Path) -> bool:
    """Whether a corpus of this version is there with all its bytes."""
    try:
        about = read_about(directory)
        sizes = about["sizes"].items()
        return about["version"] == VERSION and all((directory / name).stat().st_size == size for name, size in sizes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _is_same(existing: Path, draft: Path) -> bool:
    return is_whole(existing) and read_about(existing) == read_about(draft)
