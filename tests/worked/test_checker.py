"""The verdicts by the rule, on numbers that can be checked in the head."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest

from pellucid.errors import UserError
from pellucid.worked import CheckedExample, check
from pellucid.worked.evaluation import MOST_WORK, Budget
from pellucid.worked.examples import read_text

pytestmark = pytest.mark.filterwarnings("error")  # nothing is muttered beside the verdicts


def checked(*steps: tuple[str, str, str | None], inputs: str = "") -> CheckedExample:
    lines = ["[inputs]", inputs]
    for name, expression, stated in steps:
        lines += ["[[steps]]", f'name = "{name}"', f'expression = "{expression}"']
        lines += [] if stated is None else [f"stated = {stated}"]
    return check(read_text("\n".join(lines), "test"))


def elements(*steps: tuple[str, str, str | None], inputs: str = "") -> list[Any]:
    return [step.elements for step in checked(*steps, inputs=inputs).steps]


@pytest.mark.parametrize(
    ("right", "stated", "verdict"),
    [
        ("0.245", "0.245", "right"),
        ("0.2454", "0.245", "right"),
        ("0.2455", "0.245", "right"),  # half a unit may be rounded either way
        ("0.2455", "0.246", "right"),
        ("0.2456", "0.245", "rounded"),  # cut off, not rounded
        ("0.2459999", "0.245", "rounded"),
        ("0.246", "0.245", "wrong"),  # a whole unit
        ("0.78", "0.79", "wrong"),
        ("0.09", "0.090", "right"),
        ("0.0895", "0.09", "right"),
        ("0.0894", "0.090", "rounded"),
        ("0.0889", "0.090", "wrong"),  # the trailing zero claims a third digit
        ("0.0889", "0.09", "right"),
        ("4.4", "4", "right"),
        ("4.6", "4", "rounded"),
        ("5", "4", "wrong"),
        ("1234", "1.2e3", "right"),
        ("1234", "1.1e3", "wrong"),
        ("1234.0", "1200", "wrong"),  # zeros of a whole number count too
        ("-0.98999", "-0.9899", "rounded"),
        ("1 / 3", "0.3333333333333333", "right"),
        ("2 ** 0.5", "1.4142135623730951", "right"),
        ("-inf", "-inf", "right"),
        ("inf", "-inf", "wrong"),
        ("1", "inf", "wrong"),
        ("inf - inf", "nan", "right"),
        ("1", "nan", "wrong"),
        ("10 ** 15 + 1", "1_000_000_000_000_001", "right"),
    ],
)
def test_half_a_unit_is_right_and_a_whole_one_is_wrong(right: str, stated: str, verdict: str) -> None:
    assert checked(("step", right, stated)).steps[0].verdict == verdict


def test_a_mistake_is_wrong_once_and_carried_after() -> None:
    steps = ("a", "x + 1", "3.5"), ("b", "a * 2", "7.0"), ("c", "b + a", "10.5"), ("d", "x * 3", "6.0")
    assert elements(*steps, inputs="x = 2") == ["wrong", "carried", "carried", "right"]


def test_a_number_is_short_for_others_unless_it_is_exact() -> None:
    """0.27 · 0.44 + 0.27 · 0.79 is 0.3321; but 0.265 · 0.435 + 0.265 · 0.785 is 0.3233, which is written 0.32."""
    steps = ("Q", "x * 1", "[0.27, 0.27]"), ("K", "x * 1", "[0.44, 0.79]"), ("score", "Q @ K", "0.32")
    assert elements(*steps, inputs="x = [0.1, 0.1]")[-1] == "carried"
    lines = ["exact = true", "[inputs]", "x = [0.1, 0.1]"]
    for name, expression, stated in steps:
        lines += ["[[steps]]", f'name = "{name}"', f'expression = "{expression}"', f"stated = {stated}"]
    assert check(read_text("\n".join(lines), "test")).steps[-1].elements == "wrong"


def test_places_sizes_and_copies_are_not_rounded() -> None:
    steps = ("place", "argmax(p)", "2"), ("word", "w[place]", '"a"')
    assert elements(*steps, inputs='w = ["a", "b", "c"]\np = [0.1, 0.7, 0.2]') == ["wrong", "wrong"]
    steps = ("T", "W.T", "[[1, 2], [3, 4]]"), ("y", "[1, 1] @ T", "[5, 6]")
    assert elements(*steps, inputs="W = [[1, 2], [3, 4]]")[1] == ["wrong", "carried"]


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ('"2/3"', "right"),
        ('"≈ 0.67"', "right"),
        ('"0,67"', "right"),
        ('"66.7 %"', "right"),
        ('"66,6%"', "rounded"),
        ('"66,5 %"', "wrong"),
        ('"3/4"', "wrong"),
        ('"1.3/2"', "right"),
        ('"67/100"', "wrong"),  # a fraction of whole numbers claims to be exact
        ('"≈67/100"', "right"),
        ('"−2/3"', "wrong"),
        ('"2/0"', "wrong"),
    ],
)
def test_numbers_as_people_write_them(written: str, verdict: str) -> None:
    assert checked(("step", "2 / 3", written)).steps[0].verdict == verdict


def test_inputs_as_people_write_them() -> None:
    assert elements(("a", "x", "[0.5, 0.25, 0.1]"), inputs='x = ["1/2", "0,25", "10 %"]') == [["right"] * 3]
    assert elements(("a", "w[1]", '"2"'), inputs='w = ["1", "2"]') == ["right"]  # words, though they look like numbers


def test_a_second_mistake_is_new() -> None:
    steps = ("a", "x + 1", "3.5"), ("b", "a * 2", "7.3")
    assert elements(*steps, inputs="x = 2") == ["wrong", "wrong"]


def test_a_right_number_after_a_mistake_is_right() -> None:
    steps = ("a", "x + 1", "3.5"), ("b", "a * 2", "6.0")
    assert elements(*steps, inputs="x = 2") == ["wrong", "right"]


def test_rounding_on_the_way_is_no_mistake() -> None:
    # 1/3 written as 0.3; ten times that is 3.0, though 3.3 would be right
    assert elements(("a", "1 / 3", "0.3"), ("b", "10 * a", "3.0")) == ["right", "rounded"]


def test_rounding_is_told_from_carrying_by_what_a_step_rests_on() -> None:
    """A mistake elsewhere does not make a rounded number carried."""
    steps = ("a", "1 / 3", "0.3"), ("m", "1 + 1", "3"), ("b", "10 * a", "3.0"), ("c", "10 * a + m", "6.0")
    assert elements(*steps) == ["right", "wrong", "rounded", "carried"]


def test_near_the_truth_but_not_what_follows_from_the_stated_step() -> None:
    steps = ("a", "2.00", "2.05"), ("b", "10 * a", "20.7")
    assert elements(*steps) == ["wrong", "wrong"]


def test_a_mistake_passes_through_a_step_that_states_nothing() -> None:
    steps = ("a", "x + 1", "3.5"), ("b", "a * 2", None), ("c", "b + 1", "8.0")
    assert elements(*steps, inputs="x = 2") == ["wrong", None, "carried"]


def test_each_element_has_its_verdict_and_the_step_the_worst() -> None:
    step = checked(("a", "x * 1", "[[1.0, 2.06], [3.5, 4.00]]"), inputs="x = [[1, 2], [3, 4.004]]").steps[0]
    assert step.elements == [["right", "wrong"], ["wrong", "right"]]
    assert step.verdict == "wrong"


def test_what_is_not_stated_has_no_verdict_and_is_filled_in() -> None:
    steps = ("a", "x + 1", '[2.0, "?", 7.0]'), ("b", "a * 10", "[20.0, 30.0, 70.0]")
    assert elements(*steps, inputs="x = [1, 2, 3]") == [["right", None, "wrong"], ["right", "right", "carried"]]
    assert elements(("a", "x + 1", '["?", "?", "?"]'), inputs="x = [1, 2, 3]") == [None]


def test_words() -> None:
    steps = ("a", "w[argmax(p)]", '"cat"'), ("b", "join([a, a])", '"cat cat"'), ("c", "join([a, w[0]])", '"cat dog"')
    inputs = 'w = ["the", "cat"]\np = [0.7, 0.3]'
    assert elements(*steps, inputs=inputs) == ["wrong", "carried", "wrong"]


def test_another_shape_carries_on_too() -> None:
    steps = ("a", "x.T", "[[1, 2], [3, 4], [5, 6]]"), ("b", "a + 1", "[[2, 3], [4, 5], [6, 7]]")
    found = checked(*steps, inputs="x = [[1, 2], [3, 4], [5, 6]]").steps
    assert [step.verdict for step in found] == ["wrong", "carried"]
    assert found[0].cause == "a transposed matrix: x stands for x.T"


def test_a_misfit_inside_the_working_is_a_wrong_step_not_an_error() -> None:
    steps = ("a", "x @ x", "[[1, 2]]"), ("b", "a + 1", "[[2, 3]]"), ("c", "x * 2", "[[2, 4]]"), ("d", "x @ x", None)
    found = checked(*steps, inputs="x = [[1, 2]]").steps
    assert [step.verdict for step in found] == ["wrong", "carried", "right", "wrong"]
    assert found[0].right is None
    assert (
        found[0].cause
        == "a shape that does not fit: (1, 2) @ (1, 2): 2 columns meet 1 rows (column 1 of the expression)"
    )


def test_a_computation_too_large_is_an_error_of_the_request() -> None:
    with pytest.raises(UserError) as caught:
        checked(("a", "1 + zeros(1000, 1000)", "1"), ("b", "zeros(2000, 1000)", "1"))
    assert [problem.where for problem in caught.value.problems] == ["test:5:19", "test:9:15"]


@pytest.mark.parametrize(
    "expression",
    ["exp(zeros(250000))", "zeros(200, 200) @ zeros(200, 200)", "join([{before}, {before}])", "sinusoidal(500, 500)"],
)
def test_many_steps_together_are_bounded_as_one_is(expression: str) -> None:
    """Each may be computed by itself."""
    steps: list[tuple[str, str, str | None]] = [("a0", "join([w[0], w[0]])", None)]
    steps += [(f"a{at}", expression.replace("{before}", f"a{at - 1}"), "1") for at in range(1, 200)]
    assert checked(("a0", "join([w[0], w[0]])", None), steps[1], inputs='w = ["word"]').steps[1].right is not None
    tracemalloc.start()
    with pytest.raises(UserError) as caught:
        checked(*steps, inputs='w = ["word"]')
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(caught.value.problems) == 1
    assert peak < 150_000_000


def test_many_slips_together_are_bounded_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slips of all steps are tried with one budget; without any left, no cause is named."""
    spent: list[int] = []
    spend = Budget.spend

    def counted(self: Budget, work: int) -> None:
        spent.append(work)
        spend(self, work)

    monkeypatch.setattr(Budget, "spend", counted)
    steps = [(f"a{at}", "softmax(x @ x.T) @ x", "[[1, 2]]") for at in range(200)]
    found = checked(*steps, inputs=f"x = {np.ones((25, 25)).tolist()}").steps
    assert {step.verdict for step in found} == {"wrong"}
    assert sum(spent) < 8 * MOST_WORK


def test_what_is_stated_cannot_ask_for_too_much() -> None:
    steps = ("n", "x", "1000000000"), ("a", "zeros(n)", "[0.0, 0.0]")
    assert [step.verdict for step in checked(*steps, inputs="x = 2").steps] == ["wrong", "right"]


def test_json_has_no_infinity_and_keeps_the_shape_of_what_is_stated() -> None:
    example = checked(("a", "mask_future(x)", '[[1.0, -inf], ["?", 4.5]]'), ("b", "x[0]", "[[1], [2, 3]]"), inputs=X)
    found = json.loads(json.dumps(example.to_dict(), allow_nan=False))
    assert found == {
        "id": "test",
        "title": "test",
        "score": {"earned": 0.5, "possible": 2},
        "open": ["a"],
        "steps": [
            {
                "name": "a",
                "expression": "mask_future(x)",
                "verdict": "wrong",
                "stated": [[1.0, "-inf"], [None, 4.5]],
                "right": [[1.0, "-inf"], [3.0, 4.0]],
                "from_stated": [[1.0, "-inf"], [3.0, 4.0]],
                "elements": [["right", "right"], [None, "wrong"]],
                "cause": None,
                "hint": None,
                "open": 1,
                "ours": False,
            },
            {
                "name": "b",
                "expression": "x[0]",
                "verdict": "wrong",
                "stated": [[1.0], [2.0, 3.0]],
                "right": [1.0, 2.0],
                "from_stated": [1.0, 2.0],
                "elements": [["wrong"], ["wrong", "wrong"]],
                "cause": "a shape that does not fit: the stated rows differ in length, right is 2",
                "hint": None,
                "open": 0,
                "ours": False,
            },
        ],
    }


X = "x = [[1, 2], [3, 4]]"


def test_the_result_of_another_step_is_recognised() -> None:
    text = """
    [inputs]
    a = [3.0, 1.25]
    [[steps]]
    name = "scores"
    expression = "a * 7 + 0.5"
    stated = [STATED]
    [[steps]]
    name = "between"
    expression = "scores - 40"
    [[steps]]
    name = "scaled"
    expression = "(scores + 2) * 3"
    """
    causes = {stated: check(read_text(text.replace("STATED", stated), "test")).steps[0].cause
              for stated in ("70.50, 33.75", '"?", 33.75', "70.50, 33.70", "20, 35")}  # fmt: skip
    assert causes == {
        "70.50, 33.75": "the result of another step: scaled",
        '"?", 33.75': "the result of another step: scaled",
        "70.50, 33.70": None,
        "20, 35": None,
    }
