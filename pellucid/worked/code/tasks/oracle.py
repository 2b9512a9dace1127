"""Greedy and beam search, as short as they can be: slow, obviously right, and with parts to be changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

Tokens = tuple[int, ...]
NextLogs = Callable[[Tokens], list[float]]  # the log-probability of every token, given those so far
Knobs = Mapping[str, str]
Hypothesis = tuple[Tokens, float]


def greedy(step: NextLogs, start: int, end: int, length: int, knobs: Knobs) -> list[int]:
    """The likeliest token at each step, until the end or `length` tokens."""
    tokens: Tokens = (start,)
    for _ in range(length):
        seen = {"start only": (start,), "last only": tokens[-1:], "no start": tokens[1:]}.get(
            knobs.get("seen", ""), tokens
        )
        logs = step(seen)
        order = sorted(range(len(logs)), key=lambda token: -logs[token])
        best = {"worst": order[-1], "second": order[1]}.get(knobs.get("choice", ""), order[0])
        tokens += () if knobs.get("choice") == "none" else (best,)
        if best == end and knobs.get("stop") != "never":
            break
    return list(tokens[1:])


def beam_search(step: NextLogs, start: int, end: int, length: int, beam: int, knobs: Knobs) -> list[int]:
    """The best hypothesis found when the `beam` best are kept at every step."""
    live: list[Hypothesis] = [((start,), 0.0)]
    done: list[Hypothesis] = []
    if knobs.get("width") == "1":
        beam = 1
    for _ in range(length):
        pool = _expanded(step, live, end, knobs)
        pool.sort(key=lambda it: _score(it, knobs), reverse=knobs.get("order") != "worst")
        best = pool[:beam]
        if knobs.get("stop") == "never":
            live = best
            continue
        if knobs.get("finished") == "stay":
            live = best
            if all(tokens[-1] == end for tokens, _ in best) or (knobs.get("until") and best[0][0][-1] == end):
                break
            continue
        ended = [it for it in (pool if knobs.get("finished") == "all" else best) if it[0][-1] == end]
        done += [] if knobs.get("finished") == "lost" else ended
        rest = pool if knobs.get("finished") in ("refill", "all") else best
        live = [it for it in rest if it[0][-1] != end][:beam]
        if knobs.get("until") == "first end" and best and best[0][0][-1] == end:
            break
        if not live or (knobs.get("until") == "enough" and len(done) >= beam):
            break
        if knobs.get("until") == "any end" and done:
            break
    if knobs.get("finished") == "stay":
        done = [it for it in live if it[0][-1] == end]
        final = (done or live) if knobs.get("cut") == "finished" else live
    else:
        final = (done or live) if knobs.get("cut") == "finished" else done + live
    if knobs.get("result") == "first finished" and done:
        return list(done[0][0][1:])
    if not final:
        return []
    choose = min if knobs.get("result", knobs.get("order")) == "worst" else max
    return list(choose(final, key=lambda it: _score(it, knobs))[0][1:])


def _expanded(step: NextLogs, live: list[Hypothesis], end: int, knobs: Knobs) -> list[Hypothesis]:
    """Every hypothesis with every token after it; one that has ended and stays, as it is."""
    seen = knobs.get("seen", "")
    pool = []
    for tokens, total in live[:1] if knobs.get("expand") == "best" else live:
        if tokens[-1] == end and knobs.get("finished") == "stay" and knobs.get("stop") != "never":
            pool.append((tokens, total))
            continue
        logs = step(tokens[-1:] if seen == "last only" else tokens[1:] if seen == "no start" else tokens)
        for token, log in enumerate(logs):
            new = {"last": log, "probabilities": total + math.exp(log), "minus": total - log}.get(
                knobs.get("total", ""), total + log
            )
            pool.append(((*tokens, token), new))
    return pool


def _score(hypothesis: Hypothesis, knobs: Knobs) -> float:
    tokens, total = hypothesis
    length = len(tokens) - 1
    return total / {"length": length, "with start": length + 1, "times": 1 / max(1, length)}.get(
        knobs.get("norm", ""), 1
    )
