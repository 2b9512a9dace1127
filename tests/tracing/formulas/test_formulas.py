"""Every formula that can be printed is true: evaluated as it stands, from the values of a pass and the weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pellucid.config import ModelConfig
from pellucid.model_directory.shapes import weight_shapes
from pellucid.reference import Transformer
from pellucid.tracing.formulas import FUNCTIONS, Formula, formulas
from tests.choices import DECISIONS, covering_rows, merged
from tests.tracing.formulas.evaluator import Evaluator

SOURCE, TARGET = [5, 3, 11, 16, 2], [1, 9, 4, 12]
Values = dict[str, np.ndarray]


def config_of(row: tuple[int, ...], layers: int = 2) -> ModelConfig:
    choices = merged(row)
    size = {} if "source_vocabulary" in choices else {"vocabulary": 19}
    small = {"d_model": 16, "heads": 4, "feed_forward": 24, "encoder_layers": layers, "decoder_layers": layers + 1}
    return ModelConfig(**{**small, **size, **choices})


def model_of(config: ModelConfig) -> Transformer:
    """A model whose weights are all of the size of 1, none at a value that hides a mistake."""
    rng = np.random.default_rng(5)
    weights = {name: rng.normal(size=shape) * shape[-1] ** -0.5 for name, shape in weight_shapes(config).items()}
    return Transformer(
        config, {name: abs(value) + 1 if "variance" in name else value for name, value in weights.items()}
    )


def values_of(model: Transformer) -> Values:
    """Every value of one pass in the order in which it is computed, without the axis of the batch."""
    values: Values = {}

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        values[name] = value if name.endswith((".position", ".angles")) else value[0]
        return value

    model.forward([SOURCE], [[True] * len(SOURCE)], [TARGET], tap)
    return values


def inputs() -> Values:
    """What the formulas read beside values and weights."""
    return {
        "source_tokens": np.array(SOURCE),
        "target_in": np.array(TARGET),
        "target_out": np.array([*TARGET[1:], 2]),
        "decoder.self_attention": np.array([[key <= query for key in range(4)] for query in range(4)], dtype=float),
    }


def check(config: ModelConfig) -> None:
    model = model_of(config)
    values = values_of(model)
    evaluator = Evaluator(config, values, model.weights, inputs())
    for formula in formulas(config, len(SOURCE), len(TARGET)):
        result = evaluator.evaluate(formula)
        if formula.derived:
            assert formula.value not in values
            evaluator.values[formula.value] = result
        else:
            np.testing.assert_allclose(result, values[formula.value], rtol=1e-9, atol=1e-9, err_msg=formula.value)


@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_every_formula_is_true_for_every_pair_of_choices(row: tuple[int, ...]) -> None:
    check(config_of(row))


@pytest.mark.proof
@pytest.mark.parametrize("first", list(product(*(range(len(decision)) for decision in DECISIONS[:3]))))
def test_every_formula_is_true_for_every_choice_with_every_other(first: tuple[int, ...]) -> None:
    for rest in product(*(range(len(decision)) for decision in DECISIONS[3:])):
        check(config_of(first + rest, layers=1))


@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_the_order_is_that_in_which_the_reference_computes(row: tuple[int, ...]) -> None:
    config = config_of(row)
    recorded = [name for name in values_of(model_of(config)) if not same_as_scores(name)]
    assert [each.value for each in formulas(config, 5, 4) if not each.derived] == recorded


def same_as_scores(name: str) -> bool:
    """Scores before a mask that hides nothing."""
    return (name.endswith("products") and not name.startswith("decoder")) or name.endswith("cross_attention.products")


@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_in_a_layer_a_label_stands_for_one_matrix(row: tuple[int, ...]) -> None:
    for place, group in by_layer(formulas(config_of(row), 5, 4)).items():
        meanings: dict[str, set[str]] = {}
        for formula in group:
            meanings.setdefault(formula.symbol, set()).add(formula.value)
            for label, operand in formula.operands.items():
                meanings.setdefault(label, set()).add(operand.name)
        assert {label: names for label, names in meanings.items() if len(names) > 1} == {}, place


def by_layer(all_formulas: tuple[Formula, ...]) -> dict[tuple[str, int | None], list[Formula]]:
    groups: dict[tuple[str, int | None], list[Formula]] = {}
    for formula in all_formulas:
        groups.setdefault((formula.stack, formula.layer), []).append(formula)
    return groups


def test_what_is_handed_from_sublayer_to_sublayer_has_one_label_in_the_whole_model() -> None:
    for place in ("pre", "post"):
        config = config_of((0,) * len(DECISIONS)).changed(norm_place=place)
        made = {
            each.symbol: each.value for each in formulas(config, 5, 4) if each.symbol[:2] in ("X_", "Y_", "H_", "G_")
        }
        assert len(set(made.values())) == len(made)
        assert [label for label in made if label[0] == "X"] == [f"X_{number}" for number in range(5)]
        assert [label for label in made if label[0] == "Y"] == [f"Y_{number}" for number in range(10)]


def test_every_function_of_the_terms_is_explained() -> None:
    used = {
        term
        for row in covering_rows()
        for formula in formulas(config_of(row), 5, 4)
        for term in formula.terms
        if term not in formula.operands and term[0].isalpha()
    }
    assert used == set(FUNCTIONS)
