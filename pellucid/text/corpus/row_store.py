"""Rows of different lengths in two files (values and offsets), appended when written, memory-mapped when read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

OFFSET = np.dtype("<u8")


class RowWriter:
    """Appends rows. Nothing but the length so far stays in memory."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self.values = path.open("wb")
        self.offsets = _offsets(path).open("wb")
        self.offsets.write(np.zeros(1, OFFSET).tobytes())

    def extend(self, rows: Sequence[Sequence[int]]) -> None:
        lengths = np.fromiter(map(len, rows), OFFSET, len(rows))
        added = int(lengths.sum())
        self.values.write(np.fromiter(chain.from_iterable(rows), self.dtype, added).tobytes())
        self.offsets.write((self.length + np.cumsum(lengths, dtype=OFFSET)).tobytes())
        self.length += added

    def close(self) -> None:
        self.values.close()
        self.offsets.close()


class RowStore:
    """The rows of two such files. They stay on disk; the system keeps in memory what is used while there is room."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.values = mapped(path, dtype)
        self.offsets = mapped(_offsets(path), OFFSET)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        return np.asarray(self.offsets[rows + 1] - self.offsets[rows], np.int64)


def mapped(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """A file as an array that is read when it is used."""
    if path.stat().st_size == 0:  # cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))  # a plain view: slices of a memmap object cost ten times more


def _offsets(path: Path) -> Path:
    return path.with_name(path.name + ".offsets")
