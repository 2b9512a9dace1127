"""The tree of a beam: by hand, and against scores computed without any search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.decode.hypotheses import Ranking
from pellucid.text.tokenizer import END, Tokenizer
from pellucid.tracing import explain
from pellucid.tracing.beam import path, tree

MakeModel = Callable[..., Path]


def ranking(
    beams: list[int], tokens: list[int], probabilities: list[float], ended: list[int], living: list[int]
) -> Ranking:
    return Ranking(
        sentence=np.array([0]),
        beams=np.array([beams]),
        tokens=np.array([tokens]),
        log_prob=np.log(np.array([probabilities])),
        ended=np.isin(np.arange(len(tokens)), ended)[None],
        living=np.array([living]),
    )


def test_a_tree_by_hand(tokenizer: Tokenizer) -> None:
    a, b, c = tokenizer.encode("a b c")[-3:]
    rankings = [
        ranking([0, 0, 0], [a, b, c], [0.5, 0.3, 0.2], ended=[], living=[0, 1]),
        ranking([0, 1, 0, 1], [b, END, c, a], [0.25, 0.24, 0.2, 0.01], ended=[1], living=[0, 2]),
        ranking([1, 0], [END, END], [0.19, 0.05], ended=[0, 1], living=[-1, -1]),
    ]
    nodes = tree(rankings, 1.0, [a, c, END], tokenizer)
    assert [node.step for node in nodes] == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert [node.parent for node in nodes] == [-1, -1, -1, 0, 1, 0, 1, 5, 3]
    assert [node.fate for node in nodes] == [
        *("lived", "lived", "died"),
        *("lived", "ended", "lived", "died"),
        *("ended", "ended"),
    ]
    assert [place for place, node in enumerate(nodes) if node.best] == [0, 5, 7]
    assert [node.id for node in path(nodes, 7)] == [END, c, a]
    assert nodes[4].score == pytest.approx(np.log(0.24) / 2)
    assert nodes[7].score == pytest.approx(np.log(0.19) / 3)


def test_places_without_a_hypothesis_have_no_node(tokenizer: Tokenizer) -> None:
    with np.errstate(divide="ignore"):
        rankings = [ranking([0, 0], [5, 6], [1.0, 0.0], ended=[], living=[0, -1])]
    assert [node.id for node in tree(rankings, 1.0, [5], tokenizer)] == [5]


@pytest.mark.parametrize("seed", range(4))
def test_every_node_has_the_score_of_its_tokens(seed: int, make_model: MakeModel) -> None:
    directory = make_model(seed=seed)
    trace = explain(directory, "the cat sat on the mat", "en", "de")
    reference = pellucid.load(directory, "reference").open("reference")
    source = [token.id for token in trace.source_tokens]
    nodes = trace.beam.nodes
    paths = [[node.id for node in path(nodes, place)][::-1] for place in range(len(nodes))]
    scores = reference.score([(source, tokens) for tokens in paths])
    for node, tokens, log_probs in zip(nodes, paths, scores, strict=True):
        assert len(tokens) == node.step + 1
        assert node.log_prob == pytest.approx(log_probs.sum())
        assert node.score == pytest.approx(log_probs.sum() / len(tokens))


@pytest.mark.parametrize("seed", range(4))
def test_the_beam_keeps_its_rules(seed: int, make_model: MakeModel) -> None:
    trace = explain(make_model(seed=seed), "a dog ran to the house", "en", "de")
    beam = trace.beam
    for step in range(1 + max(node.step for node in beam.nodes)):
        here = [node for node in beam.nodes if node.step == step]
        assert sum(node.fate == "lived" for node in here) <= beam.width
        assert [node.log_prob for node in here] == sorted((node.log_prob for node in here), reverse=True)
        assert all(node.parent < 0 or beam.nodes[node.parent].fate == "lived" for node in here)
    ended = [node for node in beam.nodes if node.fate == "ended"]
    assert [each.score for each in beam.finished] == sorted((node.score for node in ended), reverse=True)[: beam.width]
    best = [node for node in beam.nodes if node.best]
    assert [node.step for node in best] == list(range(len(best)))
    assert best[-1].score == pytest.approx(beam.finished[0].score)


def test_tells_whether_the_engine_agrees(make_model: MakeModel) -> None:
    trace = explain(pellucid.load(make_model(), "torch"), "the cat", "en", "de")
    assert trace.beam.agrees
    assert trace.beam.finished[0].text == trace.translation
    assert [node.id for node in trace.beam.nodes if node.best] == [token.id for token in trace.target_out]
