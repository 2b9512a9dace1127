"""C19: what is counted of the searches, by hand."""

from __future__ import annotations

from math import log

import pytest

from pellucid.decode.hypotheses import Hypothesis
from pellucid.labs.decoding import Run, decide, different, examples, falls_from, log_prob


def test_the_log_probability_of_a_score() -> None:
    """Three tokens and the end with probabilities 1/2 each: a score is divided by 4 ** penalty."""
    total = 4 * log(0.5)
    for penalty in (0.0, 1.0, 0.5):
        assert log_prob(Hypothesis((5, 6, 7), total / 4**penalty, True), penalty) == pytest.approx(total)
    assert log_prob(Hypothesis((5, 6), 2 * log(0.5) / 2, False), 1.0) == pytest.approx(2 * log(0.5))  # cut: no end


def test_different_translations() -> None:
    assert different([Run(["a", "b"]), Run(["a", "c"])]) == 0.75  # 1 of 2, 2 of 2
    assert different([Run(["a"]), Run(["a"]), Run(["a"])]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("scores", "width"), [([30, 31, 29.5, 28], 5), ([30, 31, 29, 30.5], None), ([31, 30.5], None), ([31, 20, 30], 2)]
)
def test_the_width_from_which_bleu_falls(scores: list[float], width: int | None) -> None:
    assert falls_from(scores, [1, 2, 5, 10][: len(scores)]) == width


def test_an_example_is_likelier_and_nearer() -> None:
    english, german = ["one", "two", "three"], ["ein Hund", "eine Katze", "drei Hunde"]
    greedy = Run(["ein Haus", "ein Kater", "drei Katzen"], [-5.0, -5.0, -5.0])
    beam = Run(["ein Hund", "die Kater", "drei Hunde"], [-4.0, -4.0, -6.0])
    [found] = examples(greedy, beam, english, german)  # the second is not nearer, the third not likelier
    assert (found["source"], found["beam"]) == ("one", "ein Hund")


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(beam: list[float]) -> str:
        example = {"source": "s", "greedy": "g", "beam": "b"}
        data = {"log_probs": {"greedy": [-5.0] * len(beam), "beam": beam}, "beams": {"0": [{"bleu": 30.0}]}}
        return decide(data | {"widths": [1], "examples": [example]}).outcome

    assert outcome([-4.0, -4.1, -4.2, -4.1, -5.0, -4.2]) == "shown"
    assert outcome([-5.0, -5.0, -5.0]) == "refuted"
    assert outcome([-5.0] * 19 + [-4.0]) == "not decided"
