"""The plain data of a trace in less space, for a report: arrays as float32, of a trace under interventions only what
differs from the original, and the whole deflated. `static/packed.js` makes the plain data of it again."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.tracing.plain import plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pellucid.tracing.learning import Learning
    from pellucid.tracing.trace import Trace

BY_NAME = ("values", "norms")  # whose entries are compared one by one


def pack(array: ArrayLike) -> dict[str, Any]:
    """Numbers in the type that has seven digits; -inf is the score of what is masked. All first bytes stand together,
    then all second ones, ...: signs and exponents are alike, so they deflate well."""
    numbers = np.ascontiguousarray(array, dtype=">f4")
    planes = numbers.reshape(-1, 1).view(np.uint8).T  # (bytes of a number, numbers)
    return {"shape": [*numbers.shape], "float32": _letters(planes.tobytes())}


def packed_trace(trace: Trace) -> str:
    """As JSON that a script element can hold."""
    data = plain(trace, numbers_as=pack)
    if data["changed"]:
        data["changed"] = _difference(data["changed"], data)
    return _deflated(data)


def packed_learning(learning: Learning) -> str:
    """As JSON that a script element can hold."""
    data = learning.to_dict()
    for moment in data["moments"]:
        moment["alignment"] = pack(moment["alignment"])
        moment["values"] = {name: value | {"values": pack(value["values"])} for name, value in moment["values"].items()}
    return _deflated(data)


def _difference(changed: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """What a reader of the original has to be told. The formulas are the same but for what was changed in them."""
    found = {name: value for name, value in changed.items() if value != original[name] and name != "changed"}
    for name in BY_NAME:
        found[name] = {key: value for key, value in changed[name].items() if value != original[name].get(key)}
    found["formulas"] = {each["value"]: each["changed"] for each in changed["formulas"] if each["changed"]}
    if any(len(changed[side]) != len(original[side]) for side in ("source_tokens", "target_in")):
        found["formulas"] = changed["formulas"]  # they have other shapes
    return found


def _deflated(data: dict[str, Any]) -> str:
    whole = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    return json.dumps({"deflated": _letters(zlib.compress(whole, 9))})


def _letters(data: bytes) -> str:
    return base64.b64encode(data).decode()
