"""Every template worked by other code than the checker's own, a step at a time; and workings written as files."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.worked import CheckedStep, check, read, templates
from pellucid.worked.examples import read_text

Array = NDArray[Any]
Values = dict[str, Any]
Worked = list[tuple[str, Callable[[Values], Any]]]


def softmax_by_rows(scores: Array) -> Array:
    rows = [[math.exp(score - max(row)) for score in row] for row in np.atleast_2d(scores).tolist()]
    return np.array([[value / math.fsum(row) for value in row] for row in rows])


def positions(length: int, d_model: int) -> Array:
    wave = (math.sin, math.cos)
    return np.array(
        [[wave[i % 2](row / 10000 ** ((i - i % 2) / d_model)) for i in range(d_model)] for row in range(length)]
    )


def head(v: Values, columns: slice) -> Array:
    q, k, value = v["Q"][:, columns], v["K"][:, columns], v["V"][:, columns]
    return np.asarray(softmax_by_rows(np.einsum("qd,kd->qk", q, k) / math.sqrt(2)) @ value)


def turned(x: Array, positions: Array) -> Array:
    """Pairs of neighbours as complex numbers, turned by position / 10000^(2i / d)."""
    size = x.shape[1]
    angles = np.array([[p / 10000 ** (i / size) for i in range(0, size, 2)] for p in positions])
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def pairs(v: Values, text: str) -> Array:
    found = list(zip(v[text][:-1], v[text][1:], strict=True))
    return np.array([float(found.count(pair)) for pair in zip(v["pairs_first"], v["pairs_second"], strict=True)])


WORKINGS: dict[str, Worked] = {
    "softmax": [
        ("exponentials", lambda v: np.exp(v["scores"])),
        ("total", lambda v: sum(v["exponentials"])),
        ("weights", lambda v: v["exponentials"] / v["total"]),
    ],
    "attention": [
        ("scores", lambda v: np.einsum("qd,kd->qk", v["Q"], v["K"])),
        ("scaled", lambda v: v["scores"] / math.sqrt(v["d_k"])),
        ("weights", lambda v: softmax_by_rows(v["scaled"])),
        ("output", lambda v: np.einsum("qk,kd->qd", v["weights"], v["V"])),
    ],
    "masked": [
        ("Q", lambda v: np.einsum("td,de->te", v["X"], v["W_Q"])),
        ("K", lambda v: np.einsum("td,de->te", v["X"], v["W_K"])),
        ("V", lambda v: np.einsum("td,de->te", v["X"], v["W_V"])),
        ("scaled", lambda v: np.einsum("qd,kd->qk", v["Q"], v["K"]) / math.sqrt(v["d_k"])),
        (
            "masked",
            lambda v: np.array(
                [[x if k <= q else -math.inf for k, x in enumerate(r)] for q, r in enumerate(v["scaled"])]
            ),
        ),
        ("weights", lambda v: softmax_by_rows(v["masked"])),
        ("output", lambda v: np.einsum("qk,kd->qd", v["weights"], v["V"])),
    ],
    "positions": [
        ("positions", lambda v: positions(int(v["length"]), int(v["d_model"]))),
        ("embedded", lambda v: v["embeddings"] + v["positions"]),
    ],
    "layer-norm": [
        ("z", lambda v: v["x"] + v["sublayer"]),
        ("mean", lambda v: sum(v["z"]) / len(v["z"])),
        ("variance", lambda v: sum((z - sum(v["z"]) / len(v["z"])) ** 2 for z in v["z"]) / len(v["z"])),
        ("sd", lambda v: np.sqrt(v["variance"])),
        ("normalised", lambda v: (v["z"] - v["mean"]) / np.float64(v["sd"])),
        ("output", lambda v: v["gamma"] * v["normalised"] + v["beta"]),
    ],
    "feed-forward": [
        ("first_layer", lambda v: np.einsum("ti,ij->tj", v["x"], v["W1"]) + v["b1"]),
        ("hidden", lambda v: np.where(v["first_layer"] > 0, v["first_layer"], 0.0)),
        ("output", lambda v: np.einsum("ti,ij->tj", v["hidden"], v["W2"]) + v["b2"]),
    ],
    "greedy": [
        ("probabilities", lambda v: softmax_by_rows(v["scores"])),
        ("chosen", lambda v: np.array([row.tolist().index(max(row)) for row in v["probabilities"]])),
        ("words", lambda v: np.array([v["vocabulary"][int(place)] for place in v["chosen"]])),
        ("probability", lambda v: math.prod(max(row) for row in v["probabilities"])),
    ],
    "multi-head": [
        *((n, lambda v, n=n: np.einsum("td,de->te", v["X"], v[f"W_{n}"])) for n in ("Q", "K", "V")),
        ("head_1", lambda v: head(v, slice(0, 2))),
        ("head_2", lambda v: head(v, slice(2, 4))),
        ("concatenated", lambda v: np.hstack([v["head_1"], v["head_2"]])),
        ("output", lambda v: np.einsum("td,de->te", v["concatenated"], v["W_O"])),
    ],
    "cross-entropy": [
        ("probabilities", lambda v: softmax_by_rows(v["logits"])),
        (
            "of_targets",
            lambda v: np.array([row[int(t)] for row, t in zip(v["probabilities"], v["targets"], strict=True)]),
        ),
        ("losses", lambda v: -np.log(v["of_targets"])),
        ("loss", lambda v: np.float64(sum(v["losses"]) / len(v["losses"]))),
        ("perplexity", lambda v: np.exp(v["loss"])),
    ],
    "rnn": [
        ("from_input", lambda v: np.einsum("i,ij->j", v["x"], v["W"])),
        ("from_state", lambda v: np.einsum("i,ij->j", v["h"], v["U"])),
        ("total", lambda v: v["from_input"] + v["from_state"] + v["b"]),
        ("state", lambda v: np.tanh(v["total"])),
    ],
    "perceptron": [
        ("total", lambda v: np.float64(sum(a * b for a, b in zip(v["w"], v["x"], strict=True)) + v["b"])),
        ("output", lambda v: 1.0 if v["total"] > 0 else 0.0),
        ("error", lambda v: v["target"] - v["output"]),
        ("w_new", lambda v: v["w"] + v["rate"] * v["error"] * v["x"]),
        ("b_new", lambda v: v["b"] + v["rate"] * v["error"]),
    ],
    "backpropagation": [
        ("z", lambda v: np.einsum("i,ij->j", v["x"], v["W1"]) + v["b1"]),
        ("h", lambda v: np.where(v["z"] > 0, v["z"], 0.0)),
        ("y", lambda v: np.float64(sum(v["h"] * v["W2"]) + v["b2"])),
        ("loss", lambda v: 0.5 * (v["y"] - v["target"]) ** 2),
        ("dy", lambda v: v["y"] - v["target"]),
        ("dW2", lambda v: v["dy"] * v["h"]),
        ("dh", lambda v: v["dy"] * v["W2"]),
        ("dz", lambda v: np.where(v["z"] > 0, v["dh"], 0.0)),
        ("dW1", lambda v: np.outer(v["x"], v["dz"])),
        ("db1", lambda v: v["dz"]),
    ],
    "beam": [
        ("p_first", lambda v: softmax_by_rows(v["first"])[0]),
        ("p_second", lambda v: softmax_by_rows(v["second"])),
        ("beam", lambda v: np.array(sorted(range(4), key=lambda at: -v["p_first"][at])[:2])),
        ("pairs", lambda v: np.array([v["p_first"][int(at)] * v["p_second"][int(at)] for at in v["beam"]])),
        ("likeliest", lambda v: np.float64(max(map(max, v["pairs"])))),
        (
            "greedy",
            lambda v: np.float64(
                max(v["p_first"]) * max(v["p_second"][v["p_first"].tolist().index(max(v["p_first"]))])
            ),
        ),
    ],
    "rope": [
        ("q_turned", lambda v: turned(v["q"], v["positions"])),
        ("k_turned", lambda v: turned(v["k"], v["positions"])),
        ("scores", lambda v: np.einsum("qd,kd->qk", v["q_turned"], v["k_turned"])),
        ("five_later", lambda v: turned(v["q"], v["positions"] + 5) @ turned(v["k"], v["positions"] + 5).T),
    ],
    "rms-norm": [
        ("mean_square", lambda v: np.float64(sum(x * x for x in v["x"]) / len(v["x"]))),
        ("rms", lambda v: np.sqrt(v["mean_square"])),
        ("normalised", lambda v: v["x"] / np.float64(v["rms"])),
        ("output", lambda v: v["gamma"] * v["normalised"]),
    ],
    "bleu": [
        ("in_candidate", lambda v: np.array([float(list(v["candidate"]).count(word)) for word in v["words"]])),
        ("in_reference", lambda v: np.array([float(list(v["reference"]).count(word)) for word in v["words"]])),
        ("clipped", lambda v: np.minimum(v["in_candidate"], v["in_reference"])),
        ("precision_1", lambda v: np.float64(sum(v["clipped"]) / 6)),
        ("pairs_candidate", lambda v: pairs(v, "candidate")),
        ("pairs_reference", lambda v: pairs(v, "reference")),
        ("precision_2", lambda v: np.float64(np.minimum(v["pairs_candidate"], v["pairs_reference"]).sum() / 5)),
        ("brevity", lambda _: math.exp(1 - 7 / 6)),
        ("bleu", lambda v: v["brevity"] * np.sqrt(v["precision_1"] * v["precision_2"])),
    ],
}
FIXED = frozenset(("d_k", "d_head", "length", "d_model", "vocabulary", "targets", "target", "rate", "positions"))
FIXED |= {"candidate", "reference", "words", "pairs_first", "pairs_second"}  # inputs that fix shapes, or are given


def random_inputs(kind: str, seed: int) -> Values:
    """The template's inputs with other numbers, of two decimals."""
    random = np.random.default_rng(seed)
    return {
        name: value[()] if name in FIXED else np.round(random.uniform(-3, 3, value.shape), 2)
        for name, value in read(str(templates()[kind])).inputs.items()
    }


def as_toml(value: Any, digits: int) -> str:
    if isinstance(value, list | np.ndarray):
        return "[" + ", ".join(as_toml(item, digits) for item in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value) if isinstance(value, int | np.integer) else f"{float(value):.{digits}f}"


def checked(kind: str, inputs: Values, written: Values, digits: int | dict[str, int]) -> dict[str, CheckedStep]:
    """The template as a file with these inputs and statements, checked."""
    each = dict.fromkeys(written, digits) if isinstance(digits, int) else digits
    lines = ["[inputs]", *(f"{name} = {as_toml(value, 2)}" for name, value in inputs.items())]
    for step in tomllib.loads(templates()[kind].read_text(encoding="utf-8"))["steps"]:
        lines += ["[[steps]]", f'name = "{step["name"]}"', f'expression = "{step["expression"]}"']
        lines += [f"stated = {as_toml(written[step['name']], each[step['name']])}"]
    return {step.step.name: step for step in check(read_text("\n".join(lines), "test")).steps}
