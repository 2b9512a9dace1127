"""Sinusoidal positional encodings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from pellucid import reference
from pellucid.worked.code.task import Array, Case, Fill, Knobs, MisfitError, Property, Reading, Size, Task

SLIPS: dict[str, tuple[Knobs, ...]] = {
    "sine and cosine are swapped": ({"waves": "cos sin"},),
    "sine only: the odd dimensions have no cosine": ({"waves": "sin sin"},),
    "cosine only: the even dimensions have no sine": ({"waves": "cos cos"},),
    "the odd dimensions are left at 0": ({"waves": "sin none"},),
    "one frequency for all dimensions": ({"frequency": "one"},),
    "wrong exponent: 2i counts every dimension, where i should count pairs of dimensions": ({"frequency": "doubled"},),
    "wrong exponent: i / d_model for 2i / d_model": ({"frequency": "halved"},),
    "the cosine has another frequency than the sine of its pair": (
        {"frequency": "own"},
        {"frequency": "next"},
        {"frequency": "next doubled"},
    ),
    "the position is multiplied by 10000^(2i / d_model), not divided: the exponent has the wrong sign": (
        {"frequency": "inverse"},
    ),
    "10000 is another number": tuple({"frequency": f"base {base}"} for base in (10, 100, 1000, 100000)),
    "the exponent is not divided by d_model": ({"frequency": "undivided"},),
    "degrees for radians": ({"angle": "degrees"}, {"angle": "to degrees"}),
    "positions from 1, not from 0": ({"start": "1"},),
    "the result is transposed: (d_model, length)": ({"shape": "transposed"},),
    "a wrong dtype: the result is kept in an array of integers": ({"shape": "integers"},),
    "the sign of the position is lost or turned": ({"start": "negative"},),
}


def slipped_positions(positions: Array, d_model: int, layout: str, **knobs: str) -> Array:
    """sin and cos of position / 10000^(2i / d_model), with its parts to be changed."""
    how, start = knobs.get("frequency", ""), knobs.get("start", "0")
    positions = -positions if start == "negative" else positions + float(start)
    pair = np.arange(0, d_model, 2) / d_model
    own = (np.arange(1, d_model + 1, 2) if how == "own" else np.arange(2, d_model + 2, 2)) / d_model
    exponents: dict[str, tuple[Array, Array]] = {
        "one": (0 * pair, 0 * pair),
        # 2i / d_model with the dimension itself for i
        "doubled": (2 * pair, 2 * (pair + 1 / d_model)),
        "halved": (pair / 2, pair / 2),
        "own": (pair, own),
        "next": (pair, own),
        "next doubled": (2 * pair, 2 * pair),
        "inverse": (-pair, -pair),
        "undivided": (pair * d_model, pair * d_model),
    }
    base = float(how.removeprefix("base ")) if how.startswith("base") else 10000.0
    first, second = exponents.get(how, (pair, pair))
    unit = {"degrees": np.pi / 180, "to degrees": 180 / np.pi}.get(knobs.get("angle", ""), 1.0)
    waves: dict[str, Callable[[Array], Array]] = {"sin": np.sin, "cos": np.cos, "none": np.zeros_like}
    names = knobs.get("waves", "sin cos").split()
    angles = [positions[:, None] * base**-exponent * unit for exponent in (first, second)]
    even, odd = (np.asarray(waves[name](angle)) for name, angle in zip(names, angles, strict=True))
    parts = np.concatenate([even, odd], axis=-1) if layout == "halves" else np.stack([even, odd], axis=-1)
    # (length, d_model / 2, 2) -> (length, d_model)
    table = parts.reshape(len(positions), d_model)
    if knobs.get("shape") == "transposed":
        return table.T
    return np.trunc(table).astype(np.int64) if knobs.get("shape") == "integers" else table


def _readings(_roles: Mapping[str, str], _source: str) -> list[Reading]:
    every = product(("count", "array", "one"), ("interleaved", "halves"))
    return [{"positions": positions, "layout": layout} for positions, layout in every]


def _words(reading: Reading) -> list[str]:
    given = {
        "count": "called with the number of positions",
        "array": "called with the positions as an array",
        "one": "called with one position",
    }
    layouts = {"interleaved": "sine on even, cosine on odd dimensions", "halves": "all sines, then all cosines"}
    return [given[reading["positions"]], layouts[reading["layout"]]]


def _build(_fill: Fill, size: Size, _reading: Reading) -> Case:
    return {"length": size[0], "d_model": size[1]}


def _arguments(case: Case, reading: Reading) -> Case:
    length = case["length"]
    given = {"count": length, "array": np.arange(length), "one": length - 1}
    return {"length": given[reading["positions"]], "d_model": case["d_model"]}


def _right(case: Case, reading: Reading) -> Array:
    table = reference.sinusoidal(case["length"], case["d_model"], reading["layout"])
    return table[-1] if reading["positions"] == "one" else table


def _slipped(case: Case, reading: Reading, **knobs: str) -> Array:
    table = slipped_positions(np.arange(case["length"], dtype=float), case["d_model"], reading["layout"], **knobs)
    if reading["positions"] == "one":
        if "shape" in knobs and knobs["shape"] == "transposed":
            raise MisfitError
        return np.asarray(table[-1])
    return table


POSITIONAL_ENCODING = Task(
    name="positional_encoding",
    names=(
        *("positional_encoding", "positional_encodings", "position_encoding", "sinusoidal", "sinusoidal_encoding"),
        *("sinusoidal_positional_encoding", "sinusoidal_positions", "pos_encoding", "pos_enc", "pe", "positional"),
        *("positional_embedding", "sinusoidal_embedding", "sinusoidal_position_encoding", "encode_positions"),
    ),
    signatures=(("length", "d_model"),),
    roles={
        "length": (
            *("length", "seq_len", "seq_length", "sequence_length", "max_len", "max_length", "n", "l", "t", "num"),
            *("positions", "position", "pos", "n_positions", "num_positions", "tokens", "seqlen", "maxlen", "count"),
        ),
        "d_model": ("d_model", "d", "dim", "dmodel", "depth", "size", "width", "embed_dim", "emb_dim", "features"),
    },
    readings=_readings,
    words=_words,
    # Small: an angle that is multiplied instead of divided grows until float32 cannot hold its sine.
    sizes=((1, 2), (2, 2), (2, 4), (3, 4), (2, 6)),
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS,
    properties=(
        Property("dimensions 2i and 2i + 1 are sine and cosine of position / 10000^(2i / d_model)"),
        Property("it is defined for one position", sizes=((1, 4),)),
        Property("it is right for long texts and wide models", sizes=((50, 16), (1000, 4))),
    ),
)
