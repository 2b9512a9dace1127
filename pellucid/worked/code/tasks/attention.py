"""attention, without and with a mask."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

import numpy as np

from pellucid import reference
from pellucid.worked.code.task import (
    Array,
    Case,
    Failure,
    Fill,
    Property,
    Reading,
    Run,
    Size,
    Task,
    close,
    compare,
    unchanged,
)
from pellucid.worked.code.tasks.attention_slips import MASKS, RETURNED, SLIPS, slipped_attention
from pellucid.worked.code.tasks.softmax import OVERFLOW, whole_numbers

NO_KEY = "NaN on a fully masked row: softmax of minus infinity alone divides 0 by 0"
FORMATS = {
    "keep": "a boolean mask, True = may attend",
    "masked": "a boolean mask, True = masked",
    "ones": "a mask of numbers, 1 = may attend",
    "ones masked": "a mask of numbers, 1 = masked",
    "added large": "a mask that is added, 0 = may attend, -1e9 = masked",
    "added": "a mask that is added, 0 = may attend, minus infinity = masked",
}


def formatted(keep: Array, mask_format: str) -> Array:
    """The mask as the function wants it."""
    numbers = {
        "ones": keep.astype(np.float64),
        "ones masked": (~keep).astype(np.float64),
        "added": np.where(keep, 0.0, -np.inf),
        "added large": np.where(keep, 0.0, -1e9),
    }
    return numbers.get(mask_format, keep if mask_format == "keep" else ~keep)


BATCHES: dict[Size, str] = {
    (): "matrices of (tokens, features)",
    (2,): "a batch axis before the tokens",
    (2, 2): "axes of the batch and of the heads before the tokens",
}


def _readings(masked: bool, roles: Mapping[str, str], _source: str) -> list[Reading]:
    projections = ["x @ W", "x @ W.T"] if "x" in roles else [""]
    if not masked:
        masks: list[str] = [""]
    elif "mask" not in roles:
        masks = ["causal"]
    else:
        # a name that says what True means
        masks = ["keep", "ones"] if roles["mask"] in ("keep", "allowed", "visible") else list(FORMATS)
    every = product(masks, projections, BATCHES)
    return [{"mask": mask, "projection": projection, "lead": lead} for mask, projection, lead in every]


def _words(reading: Reading) -> list[str]:
    words = [BATCHES[reading["lead"]]]
    if reading["projection"]:
        words.append(f"projections are {reading['projection']}")
    if reading["mask"]:
        words.append("no token sees a later one" if reading["mask"] == "causal" else FORMATS[reading["mask"]])
    return words


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    queries, keys, d_k, d_v = size
    if reading["mask"] == "causal" or reading["projection"]:
        keys = queries
    lead = reading["lead"]
    if reading["projection"]:
        weights = {name: fill(d_k, d_k) for name in ("w_q", "w_k", "w_v")}
        case: Case = {"x": fill(*lead, queries, d_k), **weights}
    else:
        case = {"q": fill(*lead, queries, d_k), "k": fill(*lead, keys, d_k), "v": fill(*lead, keys, d_v)}
    if reading["mask"]:
        # each query sees the keys up to its own place
        case["keep"] = np.tri(queries, keys, dtype=bool)
    return case


def _arguments(case: Case, reading: Reading) -> Case:
    given = {role: value for role, value in case.items() if role != "keep"}
    if "keep" in case:
        keep = np.broadcast_to(case["keep"], (*reading["lead"], *case["keep"].shape[-2:])).copy()
        given["mask"] = formatted(keep, reading["mask"]) if reading["mask"] != "causal" else None
        given["causal"] = True
    return given


def _projected(case: Case, reading: Reading) -> tuple[Array, Array, Array]:
    if not reading["projection"]:
        return case["q"], case["k"], case["v"]
    weights = (case[f"w_{name}"] for name in "qkv")
    q, k, v = (case["x"] @ (weight if reading["projection"] == "x @ W" else weight.T) for weight in weights)
    return q, k, v


def _right(case: Case, reading: Reading) -> Array:
    return reference.attention(*_projected(case, reading), case.get("keep"))[0]


def _slipped(case: Case, reading: Reading, **knobs: str) -> Array:
    return slipped_attention(*_projected(case, reading), case.get("keep"), knobs)


def hides_the_future(run: Run, case: Case, right: Array) -> Failure | None:
    """Other later keys and values leave the earlier rows of the output as they were."""
    place = right.shape[-2] - 1
    if place < 1:
        return None
    later = {role: value.copy() for role, value in case.items() if role in ("k", "v", "x")}
    for value in later.values():
        value[..., place:, :] += 2000.0
    before, after = run(case), run({**case, **later})
    if before.value is None or after.value is None or before.value.shape != right.shape:
        return compare(before, right) or compare(after, right)
    rows, changed = (outcome.value[..., :place, :] for outcome in (before, after) if outcome.value is not None)
    if close(rows, changed):
        return None
    words = f"2000 added to the last token changes the rows before it: {_row(rows)} becomes {_row(changed)}"
    return Failure("leak", words, after.value, right)


def _row(rows: Array) -> str:
    return "[" + " ".join(f"{number:.4g}" for number in rows.reshape(-1, rows.shape[-1])[0][:4]) + "]"


def without_a_key(case: Case) -> Case:
    keep = case["keep"].copy()
    keep[0] = False
    return {**case, "keep": keep}


def finite_without_a_key(run: Run, case: Case, right: Array) -> Failure | None:
    """A query that may attend to nothing gets some number: the reference gives zeros, an average is common too."""
    outcome = run(case)
    if outcome.value is None or outcome.value.shape != right.shape:
        return compare(outcome, right)
    if np.isfinite(outcome.value).all():
        return None
    return Failure("not finite", "the result is not a number (nan)", outcome.value, right)


QKV = {
    "q": ("q", "query", "queries", "qs"),
    "k": ("k", "key", "keys", "ks"),
    "v": ("v", "value", "values", "val", "vs"),
    "x": ("x", "inputs", "tokens", "embeddings", "emb", "hidden"),
    "w_q": ("w_q", "wq", "wquery", "w_query", "query_weight", "q_weight", "q_w"),
    "w_k": ("w_k", "wk", "wkey", "w_key", "key_weight", "k_weight", "k_w"),
    "w_v": ("w_v", "wv", "wvalue", "w_value", "value_weight", "v_weight", "v_w"),
}
MASK = {
    "mask": ("mask", "m", "attn_mask", "attention_mask", "keep", "allowed", "visible", "bias", "attn_bias"),
    "causal": ("causal", "is_causal", "use_mask", "masked", "use_causal_mask"),
}
SIZES: tuple[Size, ...] = (
    (1, 1, 1, 1),
    (1, 2, 1, 1),
    (2, 2, 1, 1),
    (2, 2, 2, 2),
    (2, 3, 2, 2),
    (3, 3, 2, 2),
    (2, 3, 2, 4),
    (4, 4, 3, 3),
    (5, 5, 3, 3),
)
FORMULA = Property("the output is softmax(Q K^T / sqrt(d_k)) V")
LAST: tuple[Property, ...] = (
    Property("large scores do not overflow", values=(0.0, 1.0, 40.0), cause=OVERFLOW),
    Property("its arguments are left as they were", check=unchanged, cause="an in-place change of the input"),
    Property(
        "whole numbers are numbers too",
        change=whole_numbers,
        cause="a wrong dtype: the result is kept in an array of integers",
        applies=lambda reading: reading["library"] == "numpy",
    ),
)

ATTENTION = Task(
    name="attention",
    names=(
        *("attention", "attn", "sdpa", "scaled_dot_product_attention", "dot_product_attention", "scaled_attention"),
        *("self_attention", "cross_attention", "single_head_attention", "attention_head", "scaled_dot_product"),
    ),
    signatures=(("q", "k", "v"), ("x", "w_q", "w_k", "w_v")),
    roles=QKV,
    readings=partial(_readings, False),
    words=_words,
    sizes=SIZES,
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS | RETURNED,
    properties=(FORMULA, *LAST),
)

MASKED_ATTENTION = Task(
    name="masked_attention",
    names=(
        *("masked_attention", "causal_attention", "masked_self_attention", "causal_self_attention"),
        *("decoder_attention", "masked_scaled_dot_product_attention", "attention_with_mask", "masked_attn"),
    ),
    signatures=(
        ("q", "k", "v"),
        ("q", "k", "v", "mask"),
        ("x", "w_q", "w_k", "w_v"),
        ("x", "w_q", "w_k", "w_v", "mask"),
    ),
    roles=QKV | MASK,
    readings=partial(_readings, True),
    words=_words,
    sizes=SIZES,
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS | RETURNED | MASKS,
    properties=(
        FORMULA,
        Property(
            "no token is changed by a later one",
            check=hides_the_future,
            cause="leaking mask: a later token changes what comes before it",
        ),
        Property(
            "a row that may attend to nothing is a number",
            change=without_a_key,
            check=finite_without_a_key,
            cause=NO_KEY,
            applies=lambda reading: reading["mask"] != "causal",
        ),
        *LAST,
    ),
)
