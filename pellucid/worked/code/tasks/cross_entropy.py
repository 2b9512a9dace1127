"""Cross-entropy against the true tokens."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from pellucid import reference
from pellucid.worked.code.task import Array, Case, Fill, Knobs, MisfitError, Property, Reading, Size, Task, unchanged
from pellucid.worked.code.tasks.softmax import slipped_softmax

VANISHED = "the logarithm of a probability that is rounded to 0: log softmax is x - max - log(sum(exp(x - max)))"
SLIPS: dict[str, tuple[Knobs, ...]] = {
    "a sign is missing: the loss is negative": ({"sign": "plus"},),
    "no softmax: the logarithm is taken of the logits themselves": ({"of": "nothing"},),
    "no softmax: the logit of the target is taken as if it were its log-probability": (
        {"of": "nothing", "log": "none"},
    ),
    "softmax twice": ({"of": "twice"},),
    "wrong axis: softmax over the tokens, not over the vocabulary": ({"over": "columns"},),
    "softmax over the whole matrix": ({"over": "everything"},),
    "an overflow: exponentials without the maximum of each row subtracted first": ({"shift": "none"},),
    "the logarithm to base 10, not to base e": ({"log": "10"},),
    "the logarithm to base 2, not to base e": ({"log": "2"},),
    "no logarithm: the probability of the target itself": ({"log": "none"}, {"log": "none", "sign": "plus"}),
    "the mean runs over tokens and vocabulary: it should be over the tokens": ({"mean": "everything"},),
    "the likeliest token is used for the target": ({"pick": "likeliest"},),
    "the probability of not being the target: log(1 - p)": ({"pick": "not the target"},),
    "all targets are picked in every row: logits[:, targets] for logits[arange(n), targets]": (
        {"pick": "all pairs"},
        {"pick": "all pairs", "mean": "tokens"},
    ),
    "the first rows are picked, not the targets": ({"pick": "first"},),
    "targets are off by one": ({"pick": "shifted"}, {"pick": "shifted back"}),
    "the exponential of the loss: perplexity": ({"mean": "perplexity"},),
    "the logarithm of the mean probability, not the mean of the logarithms": ({"mean": "of probabilities"},),
    VANISHED: ({"log": "of the probability"},),
}


def slipped_cross_entropy(x: Array, targets: Array, given: str, reduction: str, **knobs: str) -> Array:
    """-log of the probability of each target, reduced, with its parts to be changed. x is (tokens, vocabulary)."""
    of, over, shift = knobs.get("of", ""), knobs.get("over", "rows"), knobs.get("shift", "own maximum")
    log, pick, mean = knobs.get("log", "e"), knobs.get("pick", ""), knobs.get("mean", "")
    with np.errstate(all="ignore"):
        if given == "log-probabilities":
            probabilities, logs = np.exp(x), x
        elif of == "nothing" or given == "probabilities":
            probabilities, logs = x, np.log(x)
        else:
            probabilities = slipped_softmax(x, over=over, shift=shift)
            exact = shift == "own maximum" and over == "rows" and log != "of the probability"
            logs = reference.log_softmax(x) if exact else np.log(probabilities)
        if of == "twice":
            probabilities = reference.softmax(probabilities)
            logs = np.log(probabilities)
        if log in ("2", "10"):
            logs = logs / np.log(float(log))
        values = probabilities if log == "none" else logs
        values = np.log(1 - probabilities) if pick == "not the target" else values
        picked = _picked(values, probabilities, targets, pick)
        losses = picked if knobs.get("sign") == "plus" else -picked
        return _reduced(losses, x, reduction, mean)


def _picked(values: Array, probabilities: Array, targets: Array, pick: str) -> Array:
    rows, vocabulary = np.arange(len(values)), values.shape[-1]
    if pick == "all pairs":
        return np.asarray(values[:, targets])
    columns = {
        "likeliest": probabilities.argmax(axis=-1),
        "first": 0 * targets,
        "shifted": (targets + 1) % vocabulary,
        "shifted back": targets - 1,
    }.get(pick, targets)
    return np.asarray(values[rows, columns])


def _reduced(losses: Array, x: Array, reduction: str, mean: str) -> Array:
    if mean == "everything":
        return np.asarray(losses.sum() / x.size)
    if mean == "perplexity":
        return np.asarray(np.exp(losses.mean()))
    if mean == "of probabilities":
        return np.asarray(-np.log(np.exp(-losses).mean()))
    if mean == "tokens":
        return np.asarray(losses.sum() / len(x))
    if reduction == "a loss for each token":
        return losses
    return np.asarray(losses.mean() if reduction == "mean" else losses.sum())


GIVEN = {  # names that say what is given
    "logits": "logits",
    "scores": "logits",
    "z": "logits",
    "probs": "probabilities",
    "probabilities": "probabilities",
    "prob": "probabilities",
    "p": "probabilities",
    "log_probs": "log-probabilities",
    "logprobs": "log-probabilities",
    "log_probabilities": "log-probabilities",
}


def _readings(roles: Mapping[str, str], _source: str) -> list[Reading]:
    name = roles["predicted"].lower().strip("_")
    given = [GIVEN[name]] if name in GIVEN else ["logits", "probabilities", "log-probabilities"]
    every = product(given, (2, 1, 3), ("ids", "one-hot"), ("mean", "sum", "a loss for each token"))
    return [
        {"given": kind, "rank": rank, "targets": targets, "reduction": reduction}
        for kind, rank, targets, reduction in every
        if rank > 1 or reduction == "mean"
    ]


def _words(reading: Reading) -> list[str]:
    rows = {1: "of one token", 2: "of (tokens, vocabulary)", 3: "of (batch, tokens, vocabulary)"}[reading["rank"]]
    words: list[str] = [f"{reading['given']} {rows}", "targets as " + reading["targets"]]
    reductions = {"mean": "the mean over tokens", "sum": "the sum over tokens"}
    return [*words, reductions.get(reading["reduction"], str(reading["reduction"]))] if reading["rank"] > 1 else words


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    tokens, vocabulary = size
    tokens = 1 if reading["rank"] == 1 else tokens
    x, targets = fill(tokens, vocabulary), (np.abs(fill(tokens)) * 7).astype(np.int64) % vocabulary
    return {"predicted": x, "targets": targets}


def _numbers(case: Case, reading: Reading) -> Array:
    """What is given for these logits."""
    x = case["predicted"]
    if reading["given"] == "probabilities":
        return reference.softmax(x)
    return reference.log_softmax(x) if reading["given"] == "log-probabilities" else x


def _arguments(case: Case, reading: Reading) -> Case:
    x, targets = _numbers(case, reading), case["targets"]
    targets = np.eye(x.shape[-1])[targets] if reading["targets"] == "one-hot" else targets
    if reading["rank"] == 1:
        return {"predicted": x[0], "targets": targets[0] if reading["targets"] == "one-hot" else int(targets[0])}
    if reading["rank"] == 3:
        return {"predicted": x[None], "targets": targets[None]}
    return {"predicted": x, "targets": targets}


def _right(case: Case, reading: Reading) -> Array:
    total = [
        reference.cross_entropy(row[None], np.asarray([target]), np.asarray([True]))[0]
        for row, target in zip(case["predicted"], case["targets"], strict=True)
    ]
    losses = np.array(total)
    reductions = {"mean": losses.mean(), "sum": losses.sum()}
    return np.asarray(reductions.get(reading["reduction"], losses))


def _slipped(case: Case, reading: Reading, **knobs: str) -> Array:
    if reading["given"] != "logits" and {"of", "over", "shift"} & knobs.keys() - (
        {"of"} if "twice" in knobs.values() else set()
    ):
        raise MisfitError
    x = _numbers(case, reading)
    return slipped_cross_entropy(x, case["targets"], reading["given"], reading["reduction"], **knobs)


CROSS_ENTROPY = Task(
    name="cross_entropy",
    names=("cross_entropy", "cross_entropy_loss", "ce_loss", "ce", "xent", "nll_loss", "nll", "token_loss"),
    signatures=(("predicted", "targets"),),
    roles={
        "predicted": (
            *GIVEN,
            *("x", "pred", "preds", "predictions", "predicted", "y_pred", "y_hat", "yhat", "output", "outputs"),
        ),
        "targets": (
            *("targets", "target", "y", "labels", "label", "y_true", "t", "true", "ids", "gold", "truth"),
            *("target_ids", "one_hot", "onehot", "classes"),
        ),
    },
    readings=_readings,
    words=_words,
    sizes=((1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (3, 4), (4, 5), (5, 7)),
    build=_build,
    arguments=_arguments,
    right=_right,
    slipped=_slipped,
    slips=SLIPS,
    properties=(
        Property("it is -log of the probability of the target"),
        Property(
            "large logits do not overflow",
            values=(0.0, 1000.0),
            cause=VANISHED,
            applies=lambda reading: reading["given"] == "logits",
        ),
        Property("its arguments are left as they were", check=unchanged, cause="an in-place change of the input"),
    ),
)
