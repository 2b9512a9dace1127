"""Multi-head attention: projections, heads side by side, the output projection."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from pellucid import reference
from pellucid.reference.functions import join_heads, split_heads
from pellucid.worked.code.task import Array, Case, Fill, Knobs, MisfitError, Property, Reading, Size, Task
from pellucid.worked.code.tasks.attention import BATCHES, LAST, QKV
from pellucid.worked.code.tasks.attention_slips import SLIPS, slipped_attention

HEADS: dict[str, tuple[Knobs, ...]] = {
    "wrong scale: scores are divided by sqrt(d_model), not by the root of a head's size": ({"scale": "d_model"},),
    "heads interleaved: a head takes every h-th feature, not features that stand side by side": (
        {"split": "interleaved"},
        {"split": "interleaved", "join": "interleaved"},
    ),
    "wrong reshape: tokens are cut into heads, without the transpose of tokens and heads": (
        {"split": "untransposed"},
        {"split": "untransposed", "join": "untransposed"},
    ),
    "wrong reshape: heads are joined without the transpose back to tokens": ({"join": "untransposed"},),
    "heads joined in the wrong order: their features are interleaved": ({"join": "interleaved"},),
    "heads are joined in reverse": ({"join": "reversed"},),
    "missing output projection: W_O is not used": ({"output": "none"},),
    "one weight is transposed: W_O": ({"output": "transposed"},),
    "one weight is transposed: W_Q": ({"input": "q"},),
    "one weight is transposed: W_K": ({"input": "k"},),
    "one weight is transposed: W_V": ({"input": "v"},),
    "one head only: the features are not split": ({"split": "none"},),
    "heads attend to tokens of other heads: softmax over the heads": ({"over": "heads"},),
}


def slipped_heads(case: Case, layout: str, **knobs: str) -> Array:
    """x -> Q, K, V -> heads -> attention of each -> joined -> W_O, with its parts to be changed."""
    split, join = knobs.pop("split", ""), knobs.pop("join", "")
    transposed, output = knobs.pop("input", ""), knobs.pop("output", "")
    heads = case["heads"]
    parts = [
        _projected(case, name, layout if name != transposed else _other(layout)).reshape(-1, *case["x"].shape[-2:])
        for name in "qkv"
    ]
    batch, length, d_model = parts[0].shape
    if split == "none":
        heads = 1
    if knobs.get("scale") == "d_model":
        knobs.pop("scale")
        parts[0] = parts[0] * (1 / heads) ** 0.5
    if knobs.get("over") == "heads":
        knobs.pop("over")
        q, k, v = (_split(part, heads, split) for part in parts)
        scores = q @ np.swapaxes(k, -1, -2) / (d_model // heads) ** 0.5
        result = np.moveaxis(reference.softmax(np.moveaxis(scores, 1, -1)), -1, 1) @ v
    else:
        q, k, v = (_split(part, heads, split) for part in parts)
        result = slipped_attention(q, k, v, None, knobs)
    # (batch, heads, length, size) -> (batch, length, d_model)
    if result.shape != (batch, heads, length, d_model // heads):
        raise MisfitError
    concatenated = _join(result, join).reshape(case["x"].shape)
    if output == "none" or "w_o" not in case:
        return concatenated
    return np.asarray(concatenated @ _weight(case["w_o"], _other(layout) if output == "transposed" else layout))


def _other(layout: str) -> str:
    return "x @ W.T" if layout == "x @ W" else "x @ W"


def _weight(weight: Array, layout: str) -> Array:
    return weight if layout == "x @ W" else weight.T


def _projected(case: Case, name: str, layout: str) -> Array:
    source: Array = case[name] if name in case else case["x"]
    return np.asarray(source @ _weight(case[f"w_{name}"], layout)) if f"w_{name}" in case else source


def _split(x: Array, heads: int, how: str) -> Array:
    batch, length, width = x.shape
    if how == "interleaved":
        return x.reshape(batch, length, width // heads, heads).transpose(0, 3, 1, 2)
    if how == "untransposed":
        return x.reshape(batch, heads, length, width // heads)
    return split_heads(x, heads)


def _join(x: Array, how: str) -> Array:
    batch, heads, length, size = x.shape
    if how == "interleaved":
        return x.transpose(0, 2, 3, 1).reshape(batch, length, heads * size)
    if how == "untransposed":
        return x.reshape(batch, length, heads * size)
    return join_heads(x[:, ::-1] if how == "reversed" else x)


def _readings(roles: Mapping[str, str], _source: str) -> list[Reading]:
    layouts = ["x @ W", "x @ W.T"] if "w_q" in roles else [""]
    shapes = ["whole", "a head each"] if "w_q" in roles and "heads" not in roles else ["whole"]
    every = product(layouts, shapes, [lead for lead in BATCHES if len(lead) < 2])
    own = "x" if "x" in roles else "qkv"
    return [
        {"projection": layout, "weights": weights, "lead": lead, "input": own, "projected": "w_q" in roles}
        for layout, weights, lead in every
    ]


def _words(reading: Reading) -> list[str]:
    words = [BATCHES[reading["lead"]]]
    if reading["projected"]:
        words.append(f"projections are {reading['projection']}")
    if reading["weights"] == "a head each":
        words.append("W_Q, W_K and W_V hold a matrix for each head")
    return words


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    tokens, heads, head_size = size
    d_model = heads * head_size
    case: Case = {"x": fill(*reading["lead"], tokens, d_model), "heads": heads}
    if reading["input"] == "qkv":
        case = {"x": case["x"], **{name: fill(*reading["lead"], tokens, d_model) for name in "qkv"}, "heads": heads}
    if reading["projected"]:
        case |= {f"w_{name}": fill(d_model, d_model) for name in "qkvo"}
    return case


def _arguments(case: Case, reading: Reading) -> Case:
    given = dict(case)
    if reading["weights"] == "a head each":
        for name in ("w_q", "w_k", "w_v"):
            # (d_model, heads * size) -> (heads, d_model, size)
            parts = np.split(case[name] if reading["projection"] == "x @ W" else case[name].T, case["heads"], axis=1)
            given[name] = np.stack([part if reading["projection"] == "x @ W" else part.T for part in parts])
    return given


def _right(case: Case, reading: Reading) -> Array:
    def projected(name: str) -> Array:
        source: Array = case[name] if name in case else case["x"]
        if not reading["projected"]:
            return np.asarray(source)
        weight = case[f"w_{name}"]
        return reference.linear(source, weight.T if reading["projection"] == "x @ W" else weight)

    shape = case["x"].shape
    q, k, v = (split_heads(projected(name).reshape(-1, *shape[-2:]), case["heads"]) for name in "qkv")
    concatenated = join_heads(reference.attention(q, k, v)[0]).reshape(shape)
    if not reading["projected"]:
        return concatenated
    return reference.linear(concatenated, case["w_o"].T if reading["projection"] == "x @ W" else case["w_o"])


def _slipped(case: Case, reading: Reading, **knobs: str) -> Array:
    return slipped_heads(case, reading["projection"], **knobs)


WEIGHTS = ("w_q", "w_k", "w_v", "w_o")
MULTI_HEAD_ATTENTION = Task(
    name="multi_head_attention",
    names=(
        *("multi_head_attention", "multi_headed_attention", "mha", "multi_head", "multi_head_self_attention"),
        *("multi_head_attn", "mhsa", "multi_attention"),
    ),
    signatures=(
        ("x", *WEIGHTS, "heads"),
        ("q", "k", "v", *WEIGHTS, "heads"),
        ("q", "k", "v", "heads"),
        ("x", *WEIGHTS),
        ("q", "k", "v", *WEIGHTS),
    ),
    roles=QKV
    | {
        "w_o": ("w_o", "wo", "woutput", "w_output", "w_out", "output_weight", "o_weight", "out_weight", "o_w"),
        "heads": ("heads", "h", "num_heads", "n_heads", "nheads", "n_head", "num_head", "nhead", "head_count"),
    },
    readings=_readings,
    words=_words,
    sizes=((1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 2), (4, 2, 3), (5, 2, 3), (5, 3, 2)),
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=HEADS | SLIPS,
    properties=(Property("it attends in each head, joins the heads, and applies W_O"), *LAST),
)
