"""Greedy and beam search over a step function: `step(tokens so far)` gives the (log-)probability of each next token.

Beam search has several right versions, which differ in what becomes of a hypothesis that has ended and in what a length
costs. A function is right if on every model it finds what one of them finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from pellucid.worked.code.process import Answer, as_array
from pellucid.worked.code.task import Array, Case, Failure, Fill, Knobs, MisfitError, Property, Reading, Run, Size, Task
from pellucid.worked.code.tasks import oracle
from pellucid.worked.code.tasks.models import END, START, Model, random_table

SEEN: dict[str, tuple[Knobs, ...]] = {
    "step is given the last token only, not all tokens so far": ({"seen": "last only"},),
    "step is given the tokens without the start": ({"seen": "no start"},),
}
GREEDY_SLIPS: dict[str, tuple[Knobs, ...]] = {
    "the least likely token is taken, not the likeliest": ({"choice": "worst"},),
    "the second likeliest token is taken": ({"choice": "second"},),
    "the chosen token is not added to the sequence": ({"choice": "none"},),
    "the chosen token is not fed back: step always sees the start only": ({"seen": "start only"},),
    **SEEN,
    "the search goes on after the end": ({"stop": "never"},),
}
BEAM_SLIPS: dict[str, tuple[Knobs, ...]] = {
    "the score of a hypothesis is that of its last token: log-probabilities are not added up": ({"total": "last"},),
    "probabilities are added up, not multiplied: their logarithms should be": ({"total": "probabilities"},),
    "the worst hypotheses are kept, not the best": ({"order": "worst"}, {"order": "worst", "result": "best"}),
    "the worst hypothesis is returned, not the best": ({"result": "worst"},),
    "the first hypothesis that ended is returned, not the best": (
        {"result": "first finished"},
        {"until": "any end"},
    ),
    "only the best hypothesis is continued: this is greedy search": ({"expand": "best"}, {"width": "1"}),
    "hypotheses that have ended are lost": ({"finished": "lost"},),
    "a hypothesis is continued after its end": ({"stop": "never"},),
    "the score is multiplied by the length, not divided": ({"norm": "times"},),
    **SEEN,
}


def _build(fill: Fill, size: Size, reading: Reading) -> Case:
    vocabulary, length, beam, endless = size
    if reading["model"] == "matrix":
        rows = [random_table(fill, vocabulary, bool(endless))["0"] for _ in range(length)]
        return {"table": np.array(rows), "end": END, "length": length}
    table = random_table(fill, vocabulary, bool(endless))
    logs = {context: np.log(row).tolist() for context, row in table.items()}
    model = Model(step=table)
    return {"step": model, "start": START, "end": END, "length": length, "beam": beam, "logs": logs}


def _arguments(case: Case, reading: Reading) -> Case:
    given = dict(case)
    logs = reading["given"] == "log-probabilities"
    if "table" in case:
        return {**given, "table": np.log(case["table"]) if logs else case["table"]}
    return {**given, "step": Model(step=case["logs"])} if logs else given


def _next_logs(case: Case) -> oracle.NextLogs:
    if "table" in case:
        rows = np.log(case["table"] + 1e-12).tolist()
        return lambda tokens: rows[len(tokens) - 1]
    logs = case["logs"]
    return lambda tokens: logs[",".join(map(str, tokens[-2:]))]


def _greedy(case: Case, reading: Reading, **knobs: str) -> Array:
    if reading["model"] == "matrix" and "seen" in knobs:
        raise MisfitError
    length = case["length"] - (reading["counts"] == "with the start")
    end = END if reading["ends"] else -1
    return _ids(oracle.greedy(_next_logs(case), START, end, length, knobs))


def _beam(case: Case, reading: Reading, **knobs: str) -> Array:
    length = case["length"] - (reading["counts"] == "with the start")
    own = {name: reading[name] for name in ("finished", "cut", "until", "norm")}
    return _ids(oracle.beam_search(_next_logs(case), START, END, length, case["beam"], own | knobs))


def _ids(tokens: list[int]) -> Array:
    """Without the start before and the end after them, which some return and some do not."""
    while tokens[:1] == [START]:
        tokens = tokens[1:]
    return np.array(tokens[:-1] if tokens[-1:] == [END] else tokens, dtype=np.int64)


def _read(answer: Answer) -> list[Array]:
    """The tokens of the best sequence: alone, with a score before or after it, or first of several."""
    tokens = _sequence(answer.value)
    return [] if tokens is None else [_ids(tokens)]


def _sequence(value: Any) -> list[int] | None:
    array = as_array(value)
    if array is not None and array.ndim and array.dtype.kind in "iu":
        return [int(token) for token in array.reshape(-1, array.shape[-1])[0]]
    if isinstance(value, dict) and value.get("items") == []:
        return []
    if not isinstance(value, dict) or "items" not in value:
        return None
    return next((tokens for item in value["items"] if (tokens := _sequence(item)) is not None), None)


def _greedy_readings(roles: Mapping[str, str], source: str) -> list[Reading]:
    model = "matrix" if "table" in roles else "step"
    counts = ["without the start", "with the start"] if "length" in roles and model == "step" else ["without the start"]
    given = _given(roles.get("step", roles.get("table", "")), source)
    return [
        {"model": model, "counts": count, "given": given[0], "ends": "end" in roles or model == "step"}
        for count in counts
    ]


def _beam_readings(roles: Mapping[str, str], source: str) -> list[Reading]:
    names = ("given", "counts", "norm", "finished", "cut", "until")
    every = product(
        _given(roles["step"], source),
        ("without the start", "with the start"),
        ("", "length", "with start"),
        ("refill", "all", "shrink", "stay"),
        ("all", "finished"),
        ("", "enough", "first end"),
    )
    return [{"model": "step", **dict(zip(names, choice, strict=True))} for choice in every]


def _given(name: str, source: str) -> list[str]:
    """Whether step gives probabilities or their logarithms: by its name, or by whether the source takes logarithms."""
    if "log" in name.lower():
        return ["log-probabilities"]
    if "prob" in name.lower():
        return ["probabilities"]
    return ["probabilities", "log-probabilities"] if "log(" in source else ["log-probabilities", "probabilities"]


def _words(reading: Reading) -> list[str]:
    what = (
        f"a row of {reading['given']} for each step"
        if reading["model"] == "matrix"
        else f"step gives {reading['given']}"
    )
    words = [what]
    if reading["counts"] == "with the start":
        words.append("the maximum length counts the start")
    norms = {
        "length": "scores are divided by the length",
        "with start": "scores are divided by the length with the start",
    }
    return [*words, norms[reading["norm"]]] if reading.get("norm") else words


def finds(run: Run, case: Case, right: Array) -> Failure | None:
    """The tokens are those of the search."""
    outcome = run(case)
    answer, found = outcome.answer, outcome.value
    if answer.error:
        return Failure(f"error {answer.error}", f"{answer.error}: {answer.message}", None, right, answer)
    if found is None:
        return Failure("nothing", f"it returns {answer.described()}, not tokens", None, right, answer)
    if np.array_equal(found, right):
        return None
    return Failure("numbers", f"it finds {_words_of(found)}, right is {_words_of(right)}", found, right, answer)


def _words_of(tokens: Array) -> str:
    return "[" + ", ".join(map(str, tokens.tolist())) + "]"


def repeats(run: Run, case: Case, right: Array) -> Failure | None:
    """The same model gives the same tokens. The case has one more field, so that it is not answered from memory."""
    first, second = run(case), run({**case, "length": case["length"], "again": 1})
    if first.value is None or second.value is None:
        return finds(run, case, right)
    if np.array_equal(first.value, second.value):
        return None
    words = f"called twice, it finds {_words_of(first.value)}, then {_words_of(second.value)}"
    return Failure("changed", words, first.value, right)


STEP = {
    "step": (
        *(
            "step",
            "step_fn",
            "model",
            "next_probs",
            "next_log_probs",
            "log_probs",
            "log_prob",
            "probs_fn",
            "log_probs_fn",
        ),
        *("fn", "f", "score_fn", "predict", "next_token_probs", "step_function", "decoder", "logits_fn", "next_logits"),
        *("log_prob_fn", "prob_fn", "next_token", "next_distribution", "log_p", "get_probs", "get_log_probs"),
    ),
    "start": (
        *("start", "bos", "sos", "start_token", "start_id", "bos_id", "sos_id", "bos_token", "start_symbol", "begin"),
    ),
    "end": ("end", "eos", "end_token", "end_id", "eos_id", "eos_token", "stop", "end_symbol", "stop_token"),
    "length": (
        "max_length",
        "max_len",
        "length",
        "max_steps",
        "steps",
        "max_tokens",
        "maxlen",
        "limit",
        "max_new_tokens",
    ),
}
MATRIX = ("probs", "probabilities", "logits", "table", "distributions", "scores", "p", "rows", "matrix", "steps_probs")
GREEDY = Task(
    name="greedy",
    names=("greedy", "greedy_decode", "greedy_search", "greedy_decoding", "greedy_generate"),
    signatures=(("step", "start", "end", "length"), ("table", "end"), ("table",)),
    roles=STEP | {"table": MATRIX},
    readings=_greedy_readings,
    words=_words,
    read=_read,
    built_by=("model",),
    plain_cases=5,
    sizes=(
        (3, 1, 1, 0),
        (3, 2, 1, 0),
        (3, 2, 1, 1),
        (4, 3, 1, 0),
        (4, 4, 1, 1),
        (5, 5, 1, 0),
        (5, 6, 1, 1),
        (6, 6, 1, 0),
    ),
    build=_build,
    arguments=_arguments,
    right=_greedy,
    slipped=_greedy,
    slips=GREEDY_SLIPS,
    properties=(
        Property(
            "the same model gives the same tokens",
            check=repeats,
            cause="tokens are drawn at random: greedy search takes the likeliest",
        ),
        Property("each step takes the likeliest token, until the end or the maximum length", check=finds),
    ),
)
BEAM_SEARCH = Task(
    name="beam_search",
    names=("beam_search", "beam", "beam_decode", "beam_search_decode", "beam_decoding"),
    signatures=(("step", "start", "end", "beam", "length"),),
    roles=STEP | {"beam": ("beam", "beam_size", "beam_width", "k", "width", "num_beams", "n_beams", "b", "beams")},
    readings=_beam_readings,
    words=_words,
    read=_read,
    built_by=("model",),
    combined=False,  # too many versions
    plain_cases=8,  # several right versions mostly agree
    sizes=(
        (3, 1, 2, 0),
        (3, 2, 2, 0),
        (3, 2, 3, 0),
        (4, 3, 2, 0),
        (4, 4, 2, 0),
        (4, 4, 3, 0),
        (4, 4, 3, 1),
        (5, 4, 2, 0),
    ),
    build=_build,
    arguments=_arguments,
    right=_beam,
    slipped=_beam,
    slips=BEAM_SLIPS,
    properties=(
        Property("it finds the best of the hypotheses that a beam search keeps", check=finds),
        Property("a beam of one is greedy search", check=finds, sizes=((3, 2, 1, 0), (4, 4, 1, 0), (5, 5, 1, 0))),
        Property(
            "a beam that keeps everything finds the best sequence of all",
            check=finds,
            sizes=((3, 2, 40, 0), (3, 3, 60, 0), (4, 3, 80, 0)),
        ),
    ),
)
