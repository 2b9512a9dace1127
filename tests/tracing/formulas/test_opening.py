"""Any number of a trace, computed again from the operands that its opening shows, down to embeddings and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.reference import Transformer
from pellucid.tracing.formulas import formulas
from pellucid.tracing.formulas.cells import Numbers
from pellucid.tracing.formulas.opening import open_cell
from tests.choices import covering_rows
from tests.tracing.formulas.test_formulas import SOURCE, TARGET, config_of, model_of, same_as_scores, values_of

Data = dict[str, Any]
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "ReLU": lambda x: max(0.0, x),
    "GELU": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "SiLU": lambda x: x / (1 + math.exp(-x)),
}


def numbers_of(config: ModelConfig) -> Numbers:
    model: Transformer = model_of(config)
    values = {name: value for name, value in values_of(model).items() if not same_as_scores(name)}
    tokens = {"source_tokens": SOURCE, "target_in": TARGET, "target_out": [*TARGET[1:], 2]}
    return Numbers(config, formulas(config, len(SOURCE), len(TARGET)), values, model.weights, tokens)


def total(first: list[float], second: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(first, second, strict=True))


def linear(data: Data) -> float:
    number = total(data["row"]["numbers"], data["column"]["numbers"]) + (data["bias"]["number"] if data["bias"] else 0)
    assert number == pytest.approx(data["number"], rel=1e-9, abs=1e-9)
    return number


def normed(data: Data) -> float:
    x, row = data["row"]["numbers"][data["at"]], data["row"]["numbers"]
    if data["norm"] != "batch":
        mean = math.fsum(row) / len(row) if data["norm"] == "layer" else 0.0
        assert data["mean"] == (pytest.approx(mean) if data["norm"] == "layer" else None)
        assert data["variance"] == pytest.approx(math.fsum((each - mean) ** 2 for each in row) / len(row))
    scaled = (x - (data["mean"] or 0)) / math.sqrt(data["variance"] + data["epsilon"]) * data["gamma"]["number"]
    return float(scaled + (data["beta"]["number"] if data["beta"] else 0))


def softmax(data: Data) -> float:
    chances = [0.0 if x is None else math.exp(x - data["maximum"]) for x in data["row"]["numbers"]]
    assert chances == pytest.approx(data["exponentials"])
    assert math.fsum(chances) == pytest.approx(data["total"])
    return float(data["exponentials"][data["at"]] / data["total"])


def rotated(data: Data) -> float:
    (first, second), angle = map(linear, data["pair"]), data["angle"]["number"]
    if data["at"] == 0:
        return first * math.cos(angle) - second * math.sin(angle)
    return first * math.sin(angle) + second * math.cos(angle)


def angle(data: Data) -> float:
    assert data["angle"] == pytest.approx(data["position"] / 10000 ** (2 * data["pair"] / data["size"]))
    return float(data["angle"])


def activation(data: Data) -> float:
    return FUNCTIONS[data["function"]](linear(data["of"])) * (linear(data["gate"]) if data["gate"] else 1)


COMPUTE: dict[str, Callable[[Data], float | None]] = {
    "lookup": lambda data: data["cell"]["number"] * (data["scale"] or 1),
    "position": lambda data: FUNCTIONS[data["function"]](angle(data)),
    "angle": angle,
    "row": lambda data: data["cell"]["number"],
    "copy": lambda data: data["cell"]["number"],
    "add": lambda data: sum(cell["number"] for cell in data["cells"]),
    "mean": lambda data: sum(cell["number"] for cell in data["cells"]) / len(data["cells"]),
    "norm": normed,
    "linear": linear,
    "rotate": rotated,
    "scores": lambda data: total(data["query"]["numbers"], data["key"]["numbers"]) / math.sqrt(data["size"]),
    "mask": lambda data: data["cell"]["number"] if data["allowed"] else None,
    "softmax": softmax,
    "weighted_sum": lambda data: total(data["weights"]["numbers"], data["values"]["numbers"]),
    "activation": activation,
}


def operands(data: Any) -> Iterator[tuple[str, tuple[int, ...], float | None]]:
    """Every number of a value that an opening shows: its name, its place there, and the number."""
    if isinstance(data, list):
        for each in data:
            yield from operands(each)
    elif isinstance(data, dict) and data.get("kind") == "value":
        if "number" in data:
            yield data["name"], tuple(data["index"]), data["number"]
        else:
            for at, number in zip(np.ndindex(*data["run"]), data["numbers"], strict=True):
                places = iter(at)
                yield data["name"], tuple(next(places) if i is None else i for i in data["index"]), number
    elif isinstance(data, dict):
        for each in data.values():
            yield from operands(each)


def follow(numbers: Numbers, rng: np.random.Generator) -> int:
    """Open a cell at random, then one of its operands, and so on until there is no value left; how deep it was."""
    names = numbers.names()
    name = names[rng.integers(len(names))]
    index = tuple(int(rng.integers(size)) for size in numbers.value(name).shape)
    found, depth = numbers.value(name)[index], 0
    number = float(found) if np.isfinite(found) else None
    while True:
        opened = open_cell(numbers, name, index)
        computed = COMPUTE[opened["computation"]["op"]](opened["computation"])
        assert opened["number"] == number
        assert computed == (None if number is None else pytest.approx(number, rel=1e-9, abs=1e-9)), (name, index)
        inside = list(operands(opened["computation"]))
        if not inside:
            return depth
        name, index, number = inside[rng.integers(len(inside))]
        depth += 1


@pytest.mark.parametrize("row", covering_rows()[::3], ids=lambda row: "".join(map(str, row)))
def test_numbers_open_down_to_weights(row: tuple[int, ...]) -> None:
    rng, numbers = np.random.default_rng(3), numbers_of(config_of(row))
    assert max(follow(numbers, rng) for _ in range(25)) > 5


@pytest.mark.proof
@pytest.mark.parametrize("row", covering_rows(), ids=lambda row: "".join(map(str, row)))
def test_a_thousand_numbers_open_down_to_weights(row: tuple[int, ...]) -> None:
    rng, numbers = np.random.default_rng(4), numbers_of(config_of(row))
    for _ in range(1000):
        follow(numbers, rng)


def test_every_recorded_value_can_be_opened() -> None:
    for row in covering_rows():
        numbers = numbers_of(config_of(row))
        assert set(numbers.values) <= set(numbers.names())
        for name in numbers.names():
            opened = open_cell(numbers, name, (0,) * numbers.value(name).ndim)
            assert numbers.formulas[opened["formula"]].value == name


def test_what_is_no_cell_is_an_error() -> None:
    numbers = numbers_of(config_of(covering_rows()[0]))
    with pytest.raises(UserError, match=r"no value is called 'output\.logit'.*did you mean 'output\.logits'"):
        open_cell(numbers, "output.logit", (0, 0))
    for index in ((), (0,), (0, 99), (-1, 0), (0, 0, 0)):
        with pytest.raises(UserError, match="give 2 places: 0 to 3, 0 to"):
            open_cell(numbers, "output.logits", index)
