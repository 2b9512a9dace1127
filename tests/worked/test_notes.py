"""The worked examples that ship: every verdict and value, against what was worked out by hand from the same notes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from pellucid.worked import CheckedStep, check, read, shipped

R, O, C, W = "right", "rounded", "carried", "wrong"  # noqa: E741


@cache
def steps(identity: str) -> dict[str, CheckedStep]:
    return {step.step.name: step for step in check(read(identity)).steps}


def assert_near(found: Any, expected: Any, digits: int = 4) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.5 * 10.0**-digits * (1 + 1e-6))


def test_fifteen_examples_ship_in_order() -> None:
    assert [read(str(path)).id for path in shipped()] == [f"W{number}" for number in range(1, 16)]


VERDICTS = {
    "W1": {"d_head": R, "one_matrix": R, "all_three": R},
    "W2": {"total": R, "weights": R, "row": W},
    "W3": {
        "scaled": None,
        "weights_1": W,
        "output_1": C,
        "weights_2_keepdim": W,
        "weights_2": W,
        "output_2": C,
        "weights_large": W,
        "weights_3": None,
        "output_3": W,
    },
    "W4": {"positions": W, "announced_length": W},
    "W5": {"positions": W, "token_0": W, "token_1": C, "token_2": None, "token_3": None},
    "W6": {"scores": W, "scaled": C, "weights": W, "output": W},
    "W7": {
        "heads_together": W,
        "W_QT": W,
        "W_KT": W,
        "W_VT": W,
        "Q1": W,
        "K1": W,
        "V1": W,
        "scores": W,
        "scaled": C,
        "weights": W,
        "output": W,
        "concatenated": C,
        "projected": W,
    },
    "W8": {
        "projection": W,
        "scaled": W,
        "masked": W,
        "row_1_as_formula": C,
        "weights": W,
        "entries_of_a_row": W,
        "output": W,
        "output_as_values": W,
        "concatenated": C,
    },
    "W9": {
        "input_shape": W,
        "W1_introduced": W,
        "W2_introduced": W,
        "first_layer": W,
        "hidden": C,
        "output": W,
    },
    "W10": dict.fromkeys(("z", "mean", "variance", "sd", "normalised", "output", "at_once"), R),
    "W11": {
        **dict.fromkeys(("Q", "K", "V", "scaled_1", "weights_1", "output_1", "sum_1"), R),
        "scores_1": W,
        **dict.fromkeys(("scaled_2", "output_2", "sum_2")),
    },
    "W12": {
        **{f"total_{step}": W if step == 3 else R for step in range(5)},
        **{f"token_{step}": R for step in range(5)},
        "sentence": R,
    },
    "W13": {"queries": R, "keys_transposed": R, "scores": R, "output": R},
    "W14": {"greedy": R, "greedy_ends": R, "greedy_probability": None, "other_probability": None, "beam": R},
    "W15": {"with_position": W, "added": None, "sine_and_cosine_squared": None},
}


@pytest.mark.parametrize("identity", VERDICTS)
def test_the_verdict_of_every_step(identity: str) -> None:
    assert {name: step.verdict for name, step in steps(identity).items()} == VERDICTS[identity]


ELEMENTS = {
    ("W2", "row"): [W, W, W],
    ("W3", "weights_large"): [W, R],
    ("W4", "positions"): [[R, R, R, R], [R, R, W, W], [R, R, W, W], [R, O, W, W]],
    ("W5", "token_0"): [R, R, R, W],
    ("W5", "token_1"): [R, R, C, C],
    ("W6", "scores"): [[W, W], [W, W]],
    ("W6", "scaled"): [[C, C], [C, C]],
    ("W6", "weights"): [[W, W], [C, C]],
    ("W6", "output"): [[W, C], [W, W]],
    ("W7", "W_QT"): [[R, W], [R, W], [R, R]],
    ("W7", "W_KT"): [[R, W], [R, R], [R, R]],
    ("W7", "W_VT"): [[R, W], [R, R], [R, R]],
    ("W7", "Q1"): [[W, W], [W, W]],
    ("W7", "K1"): [[W, W], [W, W]],
    ("W7", "V1"): [[W, W], [W, W]],
    ("W7", "scores"): [[W, C], [W, W]],
    ("W7", "scaled"): [[C, C], [C, C]],
    ("W7", "output"): [[C, W], [W, W]],
    ("W7", "projected"): [[W, W], [W, W]],
    ("W8", "projection"): [[W] * 4] * 4,
    ("W8", "row_1_as_formula"): [C, C],
    ("W8", "weights"): [[R] * 4, [W, W, None, None], [None] * 4, [None] * 4],
    ("W11", "scores_1"): [None, W],
    ("W8", "concatenated"): [C, C, C, C, R, R, R, R],
    ("W9", "first_layer"): [[W, W], [W, W]],
    ("W9", "hidden"): [[C, C], [C, C]],
    ("W9", "output"): [[W, W], [W, W]],
    ("W15", "with_position"): [W, W, W],
}


@pytest.mark.parametrize(("identity", "name"), ELEMENTS)
def test_the_verdict_of_every_element(identity: str, name: str) -> None:
    assert steps(identity)[name].elements == ELEMENTS[identity, name]


def test_rows_of_the_masked_example() -> None:
    masked = steps("W8")["masked"].elements
    assert masked[0] == [C, R, R, R]
    assert all(W in row for row in masked[1:])
    assert [row[step + 1 :] for step, row in enumerate(masked)] == [[R] * 3, [R] * 2, [R], []]
    output = steps("W8")["output"].elements
    assert output[2][1] == output[3][0] == W  # below every value in their column
    assert W in output[1]
    as_values = steps("W8")["output_as_values"].elements
    assert W not in as_values[0]
    assert all(W in row for row in as_values[1:])


RIGHT = {
    ("W2", "total"): 11.1073,
    ("W4", "positions"): [
        [0, 1, 0, 1],
        [0.8415, 0.5403, 0.0100, 1.0000],
        [0.9093, -0.4161, 0.0200, 0.9998],
        [0.1411, -0.9900, 0.0300, 0.9996],
    ],
    ("W5", "token_0"): [0.2, 1.1, 0.3, 1.4],
    ("W5", "token_1"): [1.3415, 0.9403, 0.3100, 1.2000],
    ("W5", "token_2"): [1.8093, 0.3839, 0.7200, 1.5998],
    ("W5", "token_3"): [0.2411, -0.7900, 0.3300, 1.3996],
    ("W6", "scores"): [[0.22, 0.18], [0.41, 0.39]],
    ("W6", "scaled"): [[0.1556, 0.1273], [0.2899, 0.2758]],
    ("W6", "weights"): [[0.5071, 0.4929], [0.5035, 0.4965]],
    ("W6", "output"): [[1.0028, 0.9986], [1.0014, 0.9993]],
    ("W7", "W_QT"): [[0.1, 0.2], [0.3, 0.4], [0.2, 0.6]],
    ("W7", "W_KT"): [[0.5, 0.4], [0.1, 0.7], [0.3, 0.2]],
    ("W7", "W_VT"): [[0.2, 0.8], [0.6, 0.2], [0.3, 0.4]],
    ("W7", "Q1"): [[0.19, 0.30], [0.28, 0.72]],
    ("W7", "K1"): [[0.38, 0.78], [0.19, 0.26]],
    ("W7", "V1"): [[1.08, 1.20], [0.61, 0.84]],
    ("W7", "scores"): [[0.3062, 0.1141], [0.6680, 0.2404]],
    ("W7", "scaled"): [[0.2165, 0.0807], [0.4723, 0.1700]],
    ("W7", "weights"): [[0.5339, 0.4661], [0.5750, 0.4250]],
    ("W7", "output"): [[0.8609, 1.0322], [0.8803, 1.0470]],
    ("W8", "projection"): [
        [0.24, 0.29, 0.61, 0.55],
        [0.64, 0.70, 1.11, 0.98],
        [0.53, 0.59, 0.85, 1.01],
        [0.54, 0.61, 0.81, 0.69],
    ],
    ("W8", "scaled"): [
        [0.4082, 0.7864, 0.6862, 0.5901],
        [0.7864, 1.5461, 1.3428, 1.1740],
        [0.6862, 1.3428, 1.1858, 1.0158],
        [0.5901, 1.1740, 1.0158, 0.8980],
    ],
    ("W8", "weights"): [
        [1, 0, 0, 0],
        [0.3187, 0.6813, 0, 0],
        [0.2185, 0.4213, 0.3601, 0],
        [0.1759, 0.3154, 0.2693, 0.2394],
    ],
    ("W8", "output"): [
        [0.24, 0.29, 0.61, 0.55],
        [0.5125, 0.5693, 0.9506, 0.8430],
        [0.5130, 0.5708, 0.9071, 0.8968],
        [0.5161, 0.5767, 0.8802, 0.8430],
    ],
    ("W9", "first_layer"): [[0.26, 0.30], [0.41, 0.19]],
    ("W9", "output"): [[0.256, 0.032], [0.205, -0.035]],
    ("W11", "scores_1"): [5011, 7148],
    ("W11", "scaled_2"): [3535.0, 5064.5],
    ("W11", "output_2"): [68, 53, 63, 58],
    ("W11", "sum_2"): [76, 57, 69, 61],
    ("W12", "total_3"): 1.01,
    ("W15", "with_position"): [0.21, 0.66, 0.56],
    ("W15", "sine_and_cosine_squared"): 1,
}


@pytest.mark.parametrize(("identity", "name"), RIGHT)
def test_the_right_values(identity: str, name: str) -> None:
    assert_near(steps(identity)[name].right, RIGHT[identity, name])


FROM_STATED: dict[tuple[str, str], tuple[Any, int]] = {
    ("W6", "scaled"): ([[0.1980, 0.1556], [0.3818, 0.2970]], 4),
    ("W6", "weights"): ([[0.5107, 0.4893], [0.5212, 0.4788]], 4),
    ("W6", "output"): ([[1.0148, 0.9926], [1.0084, 0.9958]], 4),
    ("W7", "scores"): ([[0.3321, 0.1269], [0.8931, 0.2889]], 4),
    ("W7", "output"): ([[0.798, 1.051], [0.803, 1.062]], 3),
    ("W7", "projected"): ([[2.061, 1.936], [2.159, 1.992]], 3),
    ("W9", "output"): ([[0.243, -0.049], [0.328, 0.036]], 3),
}


@pytest.mark.parametrize(("identity", "name"), FROM_STATED)
def test_the_values_from_the_stated_steps(identity: str, name: str) -> None:
    assert_near(steps(identity)[name].from_stated, *FROM_STATED[identity, name])


def test_single_rows_from_the_stated_steps() -> None:
    masked = steps("W8")
    for step in (*masked.values(), *steps("W7").values(), *steps("W15").values()):
        assert step.from_stated is not None
    assert_near(steps("W7")["weights"].from_stated[1], [0.5890, 0.4110])  # type: ignore[index]
    assert_near(2 * masked["scaled"].from_stated[0], [0.7255, 1.1854, 0.9633, 0.8551])  # type: ignore[index]
    assert_near(masked["weights"].from_stated[1][:2], [0.5250, 0.4750])  # type: ignore[index]
    assert_near(masked["output"].from_stated[1], [0.529, 0.555, 0.546, 0.426], 3)  # type: ignore[index]
    assert_near(steps("W15")["sine_and_cosine_squared"].from_stated, 0.35**2 + 0.01**2)


CAUSES = {
    ("W2", "row"): "does not sum to 1",
    ("W3", "weights_1"): "softmax over the whole matrix",
    ("W3", "weights_2"): "softmax over the wrong axis",
    ("W3", "weights_large"): "overflow",
    ("W4", "positions"): "one frequency reused for all dimensions",
    ("W4", "announced_length"): "a shape that does not fit",
    ("W8", "scaled"): "a broken symmetry",
    ("W8", "output"): "an average outside the range of its inputs: 0.38",
    ("W8", "output_as_values"): "a copied row",
    ("W9", "input_shape"): "a shape that does not fit",
    ("W9", "W1_introduced"): "a shape that does not fit",
    ("W11", "scores_1"): "the result of another step: scaled_1",
    ("W12", "total_3"): "does not sum to 1",
    ("W15", "with_position"): "not the sine and the cosine of one angle",
}


@pytest.mark.parametrize(("identity", "name"), CAUSES)
def test_the_causes(identity: str, name: str) -> None:
    cause = steps(identity)[name].cause
    assert cause is not None
    assert CAUSES[identity, name] in cause


def test_what_the_three_programs_compute() -> None:
    """W3 states what each program with its mistake gives: here the programs are run."""
    inputs = read("W3").inputs
    Q, K, V = inputs["Q"], inputs["K"], inputs["V"]
    e = np.exp(Q @ K.T / np.sqrt(2))
    for number, weights in ((1, e / e.sum()), (2, e / e.sum(axis=1))):
        stated_weights = steps("W3")[f"weights_{number}"].step.stated
        stated_output = steps("W3")[f"output_{number}"].step.stated
        assert stated_weights is not None
        assert stated_output is not None
        assert_near(stated_weights.values, weights, 3)
        assert_near(stated_output.values, weights @ V, 3)
    with pytest.raises(TypeError):
        e.sum(axis=1, keepdim=True)
    with np.errstate(all="ignore"):
        large = np.exp([1000.0, 0.0])
        np.testing.assert_array_equal(large / large.sum(), [np.nan, 0.0])


def test_beam_search_wins_and_greedy_stops_early() -> None:
    """W14 against every sentence its probabilities allow."""
    inputs = read("W14").inputs
    after = {
        (): "first",
        ("I",): "second",
        ("I", "am"): "third",
        ("I", "am", "fine"): "after_fine",
        ("I", "am", "finally"): "after_finally",
        ("I", "am", "finally", "feeling"): "after_feeling",
        ("I", "am", "finally", "feeling", "much"): "after_much",
        ("I", "am", "finally", "feeling", "much", "better"): "after_better",
    }
    for name in after.values():
        assert inputs[name].sum() == pytest.approx(1)
    finished: dict[str, float] = {}
    unwritten = [0.0]  # beginnings that nobody went on with; no end of theirs is likelier

    def grow(prefix: tuple[str, ...], probability: float) -> None:
        if prefix not in after:
            unwritten.append(probability)
            return
        name = after[prefix]
        for word, chance in zip(inputs[f"{name}_words"].tolist(), inputs[name].tolist(), strict=True):
            if word == "<END>":
                finished[" ".join(prefix)] = probability * chance
            else:
                grow((*prefix, word), probability * chance)

    grow((), 1.0)
    best = max(finished, key=lambda sentence: finished[sentence])
    assert best == "I am finally feeling much better"
    assert finished[best] > max(finished["I am fine"], *unwritten)

    greedy: list[str] = []
    while "<END>" not in greedy:
        name = after[tuple(greedy)]
        greedy.append(str(inputs[f"{name}_words"][inputs[name].argmax()]))
    assert greedy == ["I", "am", "fine", "<END>"]
