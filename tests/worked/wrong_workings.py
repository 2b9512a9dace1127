"""Every slip of the list, worked by hand in NumPy on the inputs of its example: name of the slip -> what is worked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

V = dict[str, Any]
erf = np.vectorize(math.erf)


def soft(x: Any, axis: int | None = -1) -> Any:
    e = np.exp(x - np.max(x))
    return e / e.sum(axis=axis, keepdims=True)


def masked(x: Any, keep: Any, instead: float = -np.inf) -> Any:
    return soft_safe(np.where(keep, x, instead))


def soft_safe(x: Any) -> Any:
    """Row by row; a row of -inf alone gives zeros."""
    rows = []
    for row in x:
        e = np.exp(row - (row.max() if np.isfinite(row.max()) else 0))
        rows.append(e / e.sum() if e.sum() else e)
    return np.array(rows)


def tri(n: int, k: int = 0) -> Any:
    return np.tril(np.ones((n, n)), k) > 0


def norm(x: Any, g: Any = 1.0, b: Any = 0.0) -> Any:
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * g + b


def rms(x: Any) -> Any:
    return x / np.sqrt((x**2).mean(-1, keepdims=True))


def att(q: Any, k: Any, v: Any) -> Any:
    return soft(q @ k.T / math.sqrt(q.shape[1])) @ v if q.shape == k.shape else None


def wave(length: int, d: int, angle: Callable[[int, int], float], swapped: bool = False) -> Any:
    functions = (math.cos, math.sin) if swapped else (math.sin, math.cos)
    return np.array([[functions[i % 2](angle(p, i)) for i in range(d)] for p in range(length)])


def usual(d: int, base: float = 10000.0) -> Callable[[int, int], float]:
    return lambda p, i: p / base ** ((i - i % 2) / d)


def turned(x: Any, positions: Any) -> Any:
    out = np.array(x)
    d = x.shape[1]
    for r, p in enumerate(positions):
        for i in range(0, d, 2):
            a = p / 10000 ** (i / d)
            out[r, i] = x[r, i] * math.cos(a) - x[r, i + 1] * math.sin(a)
            out[r, i + 1] = x[r, i] * math.sin(a) + x[r, i + 1] * math.cos(a)
    return out


def turned_halves(x: Any) -> Any:
    order = [0, 2, 1, 3]
    out = np.empty_like(x)
    out[:, order] = turned(x[:, order], [0, 1, 2])
    return out


def relu(x: Any) -> Any:
    return np.where(x > 0, x, 0.0)


def hidden(v: V) -> Any:
    return v["x"] @ v["W1"] + v["b1"]


def S(v: V) -> Any:
    return v["scores"]


def Q(v: V) -> Any:
    return v["Q"]


def K(v: V) -> Any:
    return v["K"]


WRONG: dict[str, Callable[[V], Any]] = {
    "the brevity penalty": lambda v: v["p"],
    "no exponential": lambda v: S(v) / S(v).sum(1, keepdims=True),
    "the exponential forgotten": lambda v: S(v) * 2,
    "not normalised": lambda v: np.exp(S(v)),
    "softmax over the wrong axis: the columns": lambda v: soft(S(v), 0),
    "softmax over the whole matrix": lambda v: soft(S(v), None) @ v["V"],
    "softmax over the wrong axis: each column": lambda v: np.exp(S(v)) / np.exp(S(v)).sum(1),
    "an overflow": lambda v: np.exp(1000 * S(v)) / np.exp(1000 * S(v)).sum(1, keepdims=True),
    "softmax taken twice": lambda v: soft(soft(S(v))),
    "powers of 2": lambda v: 2 ** S(v) / (2 ** S(v)).sum(1, keepdims=True),
    "powers of 10": lambda v: 10 ** S(v) / (10 ** S(v)).sum(1, keepdims=True),
    "a sign lost: the exponent": lambda v: soft(-S(v)),
    "signs lost: the softmax": lambda v: soft(abs(S(v))),
    "the logarithm of the softmax": lambda v: np.log(soft(S(v))),
    "the softmax instead of its logarithm": lambda v: soft(S(v)),
    "all weight on the largest": lambda v: v["V"][S(v).argmax(1)],
    "sigmoid instead of softmax": lambda v: 1 / (1 + np.exp(-S(v))),
    "divided by the largest exponential": lambda v: np.exp(S(v)) / np.exp(S(v)).max(1, keepdims=True),
    "scaled after the softmax": lambda v: soft(S(v)) / 2,
    "divided by v, the variance": lambda v: (v["z"] - v["m"]) / v["v"],
    "only the mean subtracted": lambda v: v["z"] - v["m"],
    "a missing scale: not divided": lambda v: soft(Q(v) @ K(v).T),
    "a doubled scale: divided": lambda v: Q(v) @ K(v).T / 5,
    "divided by d_k instead of its root": lambda v: Q(v) @ K(v).T / 5,
    "multiplied by sqrt(d_k) instead": lambda v: Q(v) @ K(v).T * 5**0.5,
    "divided by sqrt(d_model) instead": lambda v: v["x"] / 6**0.5,
    "divided the wrong way round": lambda v: v["total"] / v["exponentials"],
    "a transposed matrix: Q and K swapped": lambda v: K(v) @ Q(v).T + 1,
    "element by element": lambda v: Q(v) * K(v),
    "keys for values": lambda v: att(v["Q"], v["K"], v["K"]),
    "values for keys": lambda v: att(v["Q"], v["V"], v["V"]),
    "queries for keys": lambda v: att(v["Q"], v["Q"], v["V"]),
    "queries and keys swapped": lambda v: att(v["K"], v["Q"], v["V"]),
    "the weights are transposed": lambda v: soft(S(v)).T @ v["V"],
    "the mean of the values": lambda v: np.tile(v["V"].mean(0), (3, 1)),
    "the weighted sum divided": lambda v: soft(S(v)) @ v["V"] / 4,
    "the softmax forgotten": lambda v: S(v) @ v["V"],
    "the mask applied after": lambda v: soft(S(v)) * tri(4),
    "masked with 0": lambda v: masked(S(v), tri(4), 0),
    "masked with -1": lambda v: masked(S(v), tri(4), -1),
    "the mask transposed": lambda v: masked(S(v), tri(4).T),
    "the mask hides the token itself": lambda v: masked(S(v), tri(4, -1)),
    "the mask begins one token": lambda v: masked(S(v), tri(4, 1)),
    "the mask forgotten": lambda v: soft(S(v)),
    "the mask added": lambda v: soft(S(v) + tri(4)),
    "divided by the variance instead": lambda v: norm(v["x"]) / v["x"].std(1, keepdims=True),
    "the mean forgotten": lambda v: v["x"] / v["x"].std(1, keepdims=True) * v["gamma"] + v["beta"],
    "the mean added": lambda v: (v["z"] + v["m"]) / v["s"],
    "the variance about 0": lambda v: (v["x"] ** 2).mean(),
    "the standard deviation instead": lambda v: v["x"].std(),
    "sample instead of population": lambda v: norm(v["x"]) * 0.8**0.5,
    "mean absolute deviation": lambda v: abs(v["x"] - v["x"].mean()).mean(),
    "epsilon outside": lambda v: (v["x"] - v["m"]) / (v["v"] ** 0.5 + 0.1),
    "epsilon forgotten": lambda v: (v["x"] - v["m"]) / v["v"] ** 0.5,
    "gamma and beta swapped": lambda v: v["beta"] * v["normalised"] + v["gamma"],
    "gamma forgotten": lambda v: norm(v["x"]) + v["beta"],
    "beta forgotten": lambda v: norm(v["x"]) * v["gamma"],
    "normalised over the columns": lambda v: (v["x"] - v["x"].mean(0)) / v["x"].std(0),
    "normalised over the whole": lambda v: (v["x"] - v["x"].mean()) / v["x"].std(),
    "the residual forgotten: x": lambda v: norm(v["sublayer"]),
    "normalised before instead of after adding x": lambda v: v["x"] + norm(v["sublayer"]),
    "RMS norm instead": lambda v: rms(v["x"]),
    "layer norm instead": lambda v: norm(v["x"]),
    "divided by the mean square": lambda v: v["x"] / (v["x"] ** 2).mean(1, keepdims=True),
    "divided by the length": lambda v: v["x"] / np.linalg.norm(v["x"], axis=1, keepdims=True),
    "one frequency": lambda v: v["x"] + wave(3, 6, lambda p, _: p),
    "sine and cosine swapped": lambda v: wave(4, 6, usual(6), True) * v["s"],
    "degrees": lambda v: v["x"] + wave(3, 6, lambda p, i: math.radians(usual(6)(p, i))),
    "positions counted from 1": lambda v: v["x"] + wave(4, 6, usual(6))[1:],
    "all sines first": lambda v: v["x"] + wave(3, 6, usual(6))[:, [0, 2, 4, 1, 3, 5]],
    "the exponent is i": lambda v: v["x"] + wave(3, 6, lambda p, i: p / 10000 ** ((i // 2) / 6)),
    "each dimension has": lambda v: v["x"] + wave(3, 6, lambda p, i: p / 10000 ** (i / 6)),
    "1000 instead": lambda v: v["x"] + wave(3, 6, usual(6, 1000.0)),
    "positions multiplied": lambda v: v["x"] * wave(3, 6, usual(6)),
    "positions forgotten": lambda v: v["x"],
    "rotated the wrong way": lambda v: turned(v["x"], [0, -1, -2]),
    "not rotated": lambda v: v["x"],
    "halves rotated": lambda v: turned_halves(v["x"]),
    "ReLU of the output": lambda v: relu(hidden(v) @ v["W2"] + v["b2"]),
    "the bias added after": lambda v: relu(v["x"] @ v["W"]) + v["b"],
    "a missing ReLU": lambda v: v["x"],
    "absolute values": lambda v: abs(v["x"]),
    "ReLU keeps the negative": lambda v: np.minimum(v["x"], 0),
    "GELU instead": lambda v: v["x"] * 0.5 * (1 + erf(v["x"] / 2**0.5)),
    "ReLU instead": lambda v: relu(v["x"]),
    "tanh instead": lambda v: np.tanh(v["x"]),
    "sigmoid instead of tanh": lambda v: 1 / (1 + np.exp(-v["x"])),
    "the tanh forgotten": lambda v: v["x"] @ v["W"] + v["h"] @ v["U"] + v["b"],
    "the bias forgotten": lambda v: v["x"] @ v["W"],
    "the bias subtracted": lambda v: v["x"] @ v["W"] - v["b"],
    "the order of a product": lambda v: v["W"] @ v["x"] + 1,
    "the derivative of sigmoid": lambda v: v["d"] * v["s"],
    "the derivative of the activation": lambda v: v["d"],
    "a step uphill": lambda v: v["w"] + 0.3 * v["gradient"],
    "the learning rate forgotten": lambda v: v["w"] - v["gradient"],
    "heads interleaved": lambda v: np.dstack([v["a"], v["b"]]).reshape(3, 4),
    "heads in the wrong order": lambda v: np.hstack([v["b"], v["a"]]) @ v["W"],
    "heads added": lambda v: v["a"] + v["b"],
    "heads below": lambda v: np.vstack([v["a"], v["b"]]),
    "the output projection": lambda v: np.hstack([v["a"], v["b"]]),
    "columns of a head": lambda v: v["Q"][:, [0, 2]],
    "a logarithm to base 10": lambda v: -np.log10(v["p"]).mean(),
    "a logarithm to base 2": lambda v: -np.log2(v["p"]).mean(),
    "the logarithm forgotten": lambda v: -v["p"].mean(),
    "log(1 - p)": lambda v: -np.log(1 - v["p"] / 3),
    "a sign lost": lambda v: np.log(v["p"]).mean(),
    "the arithmetic instead": lambda v: v["p"].mean(),
    "sum instead of mean": lambda v: -np.log(v["p"]).sum(),
    "mean instead of sum": lambda v: (v["x"] * v["y"]).mean(),
    "probabilities added": lambda v: v["p"].sum(),
    "counted from 1": lambda v: v["p"].argmax(1) + 1,
    "the smallest instead": lambda v: v["p"].argmin(1),
    "the row before": lambda v: soft(v["logits"][1]),
    "the row after": lambda v: soft(v["logits"][3]),
    "clipping forgotten": lambda v: v["a"].sum(),
    "sum over the wrong axis: 0": lambda v: np.exp(v["s"]) / np.exp(v["s"]).sum(0),
    "sum over the wrong axis: 1": lambda v: v["x"].sum(1),
    "sum over the whole matrix": lambda v: v["e"] / v["e"].sum(),
    "mean over the wrong axis: 0": lambda v: v["x"] - v["x"].mean(0),
    "mean over the whole matrix": lambda v: v["x"] - v["x"].mean(),
    "a square forgotten": lambda v: (v["x"] - v["m"]).sum(),
    "doubled instead": lambda v: 2 * (v["x"] - v["m"]).sum(),
    "a root forgotten": lambda v: v["v"],
    "the wrong way round": lambda v: v["output"] - v["target"],
    "a missing scale: not multiplied": lambda v: v["x"] + v["p"],
    "a doubled scale: multiplied": lambda v: v["x"] * 0.09,
    "a sign lost: y subtracted": lambda v: v["x"] - v["y"],
    "a sign lost: y added": lambda v: v["x"] + v["y"],
    "a term forgotten: y is not added": lambda v: v["x"],
    "a term forgotten: y is not subtracted": lambda v: v["x"],
    "added instead of multiplied": lambda v: v["x"] + v["y"],
    "multiplied instead of added": lambda v: v["x"] * v["y"],
    "powers forgotten": lambda v: v["x"] * 3,
}
