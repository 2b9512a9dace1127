"""Interventions: the same by torch's taps, and what they mean, by models whose weights or config say the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import pellucid
from pellucid import nn, reference
from pellucid.config import ModelConfig
from pellucid.decode.engines.reference import ReferenceEngine
from pellucid.errors import UserError
from pellucid.tracing import Trace, explain
from pellucid.tracing.beam import path
from pellucid.tracing.formulas import formulas
from pellucid.tracing.interventions import Interventions, interventions, no_change, switches
from pellucid.tracing.record import record
from pellucid.tracing.what_if import ChangedReference
from tests.choices import covering_rows
from tests.tracing.formulas.evaluator import Evaluator
from tests.tracing.formulas.test_formulas import SOURCE, TARGET, config_of, inputs, model_of

MakeModel = Callable[..., Path]
TEXT = "the cat sat on the old tree"
OUTPUT = [*TARGET[1:], 2]
ROWS = covering_rows()
rows = pytest.mark.parametrize("row", ROWS[::4], ids=lambda row: "".join(map(str, row)))


def asked_for(config: ModelConfig, *texts: str) -> Interventions:
    return interventions(texts, config, "one two three", "eins zwei drei")


def by_torch(model: reference.Transformer, asked: Interventions) -> dict[str, np.ndarray]:
    """The same pass by the fast model with the same change, in float64."""
    twin = nn.Transformer(model.config).double().eval()
    twin.set_weights({name: torch.from_numpy(value) for name, value in model.weights.items()})
    with torch.no_grad(), nn.attach(twin, change=asked.change) as values:
        twin(torch.tensor([SOURCE]), torch.ones(1, len(SOURCE), dtype=torch.bool), torch.tensor([TARGET]))
    found = {name: value.numpy() for name, [value] in values.items()}
    return {name: value if name.endswith((".position", ".angles")) else value[0] for name, value in found.items()}


def compare_with_torch(model: reference.Transformer, asked: Interventions) -> None:
    values = record(model, SOURCE, OUTPUT, asked.change)
    wanted = by_torch(model, asked)
    for name, value in values.items():
        largest = np.abs(value[np.isfinite(value)]).max()
        np.testing.assert_allclose(value, wanted[name], rtol=0, atol=1e-6 * max(1, largest), err_msg=name)


@rows
def test_some_parts_switched_off_are_the_same_by_torch(row: tuple[int, ...]) -> None:
    model = model_of(config_of(row))
    every = [switch.name for switch in switches(model.config)]
    rng = np.random.default_rng(1)
    for name in rng.choice(every, size=8, replace=False):
        compare_with_torch(model, asked_for(model.config, f"{name}=0"))
    compare_with_torch(model, asked_for(model.config, *(f"{name}=0" for name in rng.choice(every, size=3))))


@pytest.mark.proof
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "".join(map(str, row)))
def test_every_part_switched_off_is_the_same_by_torch(row: tuple[int, ...]) -> None:
    model = model_of(config_of(row))
    for switch in switches(model.config):
        compare_with_torch(model, asked_for(model.config, f"{switch.name}=0"))


@rows
def test_a_formula_that_is_not_marked_is_true_under_every_intervention(row: tuple[int, ...]) -> None:
    config = config_of(row)
    model = model_of(config)
    every = [switch.name for switch in switches(config)]
    for name in np.random.default_rng(2).choice(every, size=8, replace=False):
        asked = asked_for(config, f"{name}=0")
        evaluator = Evaluator(config, record(model, SOURCE, OUTPUT, asked.change), model.weights, inputs())
        marked = []
        for formula in formulas(config, len(SOURCE), len(TARGET)):
            with np.errstate(all="ignore"):
                result = evaluator.evaluate(formula)
            if formula.derived:
                evaluator.values[formula.value] = result
            elif asked.changed(formula.value):
                marked.append(formula.value)
            else:
                wanted = evaluator.values[formula.value]
                np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{name} {formula.value}")
        assert len(marked) == 1


@rows
def test_no_intervention_is_the_plain_pass(row: tuple[int, ...]) -> None:
    model = model_of(config_of(row))
    plain: dict[str, np.ndarray] = {}

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        plain[name] = value
        return value

    model.forward([SOURCE], [[True] * len(SOURCE)], [TARGET], tap)
    for change in (no_change, Interventions().change):
        for name, value in record(model, SOURCE, OUTPUT, change).items():
            assert np.array_equal(value, plain[name] if value.ndim == plain[name].ndim else plain[name][0])
    assert np.array_equal(plain["output.logits"], model.forward([SOURCE], [[True] * len(SOURCE)], [TARGET]))


# --- what they mean ----------------------------------------------------------------------------------------------


def logits_of(model: reference.Transformer, *texts: str) -> np.ndarray:
    return record(model, SOURCE, OUTPUT, asked_for(model.config, *texts).change)["output.logits"]


def with_weights(model: reference.Transformer, **changed: np.ndarray | float) -> reference.Transformer:
    """A model some of whose weights are multiplied by something; `__` stands for a dot."""
    factors = {name.replace("__", "."): factor for name, factor in changed.items()}
    assert set(factors) <= set(model.weights)
    weights = {name: value * factors.get(name, 1.0) for name, value in model.weights.items()}
    return reference.Transformer(model.config, weights)


@pytest.fixture(params=["pre", "post"])
def model(request: pytest.FixtureRequest) -> reference.Transformer:
    return model_of(config_of((0,) * 10).changed(norm_place=request.param, tie="none"))


def test_a_head_is_off_where_its_columns_of_the_output_matrix_are_zero(model: reference.Transformer) -> None:
    twin = with_weights(model, decoder__layers__1__cross_attention__output__weight=np.arange(16) // 4 != 2)
    found = logits_of(model, "decoder.layers.1.cross_attention.head.2=0")
    np.testing.assert_allclose(found, logits_of(twin), rtol=1e-9)
    assert not np.allclose(found, logits_of(model))


def test_without_scale_is_with_queries_larger_by_it(model: reference.Transformer) -> None:
    twin = with_weights(
        model,
        encoder__layers__0__self_attention__query__weight=2.0,  # the square root of the head size, 4
        encoder__layers__0__self_attention__query__bias=2.0,
    )
    np.testing.assert_allclose(logits_of(model, "encoder.0.scale=0"), logits_of(twin), rtol=1e-9)


def test_without_positions_is_another_config(model: reference.Transformer) -> None:
    twin = reference.Transformer(model.config.changed(positions="none"), model.weights)
    np.testing.assert_allclose(logits_of(model, "positions=0"), logits_of(twin), rtol=1e-12)
    rotary = reference.Transformer(model.config.changed(positions="rotary"), model.weights)
    np.testing.assert_allclose(logits_of(rotary, "positions=0"), logits_of(twin), rtol=1e-12)


def test_a_sublayer_is_off_where_its_last_matrix_is_zero(model: reference.Transformer) -> None:
    twin = with_weights(
        model,
        encoder__layers__1__feed_forward__narrow__weight=0.0,
        encoder__layers__1__feed_forward__narrow__bias=0.0,
    )
    np.testing.assert_allclose(logits_of(model, "encoder.1.feed_forward=0"), logits_of(twin), rtol=1e-12)


def test_a_layer_is_off_in_a_model_without_it(model: reference.Transformer) -> None:
    shorter = {
        name.replace("decoder.layers.2", "decoder.layers.1"): value
        for name, value in model.weights.items()
        if not name.startswith("decoder.layers.1.")
    }
    twin = reference.Transformer(model.config.changed(decoder_layers=2), shorter)
    np.testing.assert_allclose(logits_of(model, "decoder.1=0"), logits_of(twin), rtol=1e-12)


def test_without_mask_the_order_of_later_words_changes_nothing_but_the_words_do() -> None:
    """Without positions and mask a query sees a set of words: the same whatever their order."""
    model = model_of(config_of((5, *(0,) * 9)))
    assert model.config.positions == "none"
    asked = asked_for(model.config, "mask=0")
    there, swapped, other = (
        record(model, SOURCE, output, asked.change)["output.logits"][0] for output in ([9, 4, 2], [4, 9, 2], [9, 5, 2])
    )
    np.testing.assert_allclose(there, swapped, rtol=1e-9)
    assert not np.allclose(there, other)


def test_residual_and_norm_off(model: reference.Transformer) -> None:
    values = record(
        model, SOURCE, OUTPUT, asked_for(model.config, "encoder.0.feed_forward.residual=0", "encoder.1.norm=0").change
    )
    place = "encoder.layers.0.feed_forward"
    assert np.array_equal(values[f"{place}_residual.sum"], values[f"{place}.output"])
    last = "encoder.layers.1.feed_forward_residual"
    before = "encoder.layers.1.self_attention_residual.sum" if model.config.norm_place == "pre" else f"{last}.sum"
    assert np.array_equal(values[f"{last}.norm"], values[before])


# --- the trace ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def translator(make_model: MakeModel) -> pellucid.Translator:
    return pellucid.load(make_model(norm_place="pre"))


def changed(translator: pellucid.Translator, *texts: str, target_text: str | None = None) -> Trace:
    trace = explain(translator, TEXT, "en", "de", target_text=target_text, intervene=texts)
    assert trace.changed is not None
    return trace.changed


def test_the_plain_trace_stays_what_it_is(translator: pellucid.Translator) -> None:
    plain = explain(translator, TEXT, "en", "de")
    both = explain(translator, TEXT, "en", "de", intervene=["positions=0"])
    assert explain(translator, TEXT, "en", "de", intervene=[]).to_dict() == plain.to_dict()
    assert both.to_dict() | {"changed": None} == plain.to_dict()
    assert both.changed is not None
    data = both.to_dict()["changed"]
    assert data["interventions"] == ["positions=0"]
    assert data["changed"] is None
    assert data == both.changed.to_dict()
    marked = [each["value"] for each in data["formulas"] if each["changed"]]
    assert marked == ["encoder.input.position", "decoder.input.position"]
    assert [switch.name for switch in switches(plain.config)] == plain.to_dict()["switches"]


@pytest.mark.parametrize("text", ["encoder.1.head.0=0", "mask=0", "decoder.0=0", "norm=0", "decoder.output.norm=0"])
def test_the_search_is_that_of_the_changed_model(text: str, translator: pellucid.Translator) -> None:
    """Every node of the beam has the probability that torch gives to its tokens, read as far as they go."""
    trace = changed(translator, text)
    twin = nn.Transformer.load(translator.directory).double()
    source = [token.id for token in trace.source_tokens]
    asked = trace.interventions
    nodes = trace.beam.nodes
    for place in np.random.default_rng(0).choice(len(nodes), size=min(12, len(nodes)), replace=False).tolist():
        tokens = [node.id for node in path(nodes, place)][::-1]
        total = 0.0
        for end in range(1, len(tokens) + 1):
            with torch.no_grad(), nn.attach(twin, "output.logits", change=asked.change):
                target_in = torch.tensor([[1, *tokens[: end - 1]]])
                logits = twin(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool), target_in)
            total += float(logits[0, -1].log_softmax(-1)[tokens[end - 1]])
        assert nodes[place].log_prob == pytest.approx(total, rel=1e-6, abs=1e-6)
    assert [node.id for node in nodes if node.best] == [token.id for token in trace.target_out]
    last = trace.steps[0].lens[-1]
    assert last.candidates == trace.steps[0].candidates[:3]


def test_a_step_of_the_search_is_the_whole_prefix_read_anew(translator: pellucid.Translator) -> None:
    engine = translator.open("reference")
    assert isinstance(engine, ReferenceEngine)
    rng = np.random.default_rng(0)
    tokens, source = rng.integers(5, 200, size=(4, 2, 3)), rng.integers(5, 200, size=(2, 6))
    for text in ("decoder.1=0", "decoder.0.cross_attention.norm=0", "decoder.residual=0", "decoder.head.1=0"):
        asked = asked_for(translator.config, text)
        fast, slow = (ChangedReference(engine, asked.change, future) for future in (False, True))
        caches = [each.start(source).select([0, 1], np.zeros((2, 3), dtype=int)) for each in (fast, slow)]
        for step in tokens:
            quick, caches[0] = fast.step(step, caches[0])
            whole, caches[1] = slow.step(step, caches[1])
            np.testing.assert_allclose(quick, whole, rtol=1e-9, atol=1e-9)


def test_probabilities_of_the_original_translation(translator: pellucid.Translator) -> None:
    plain = explain(translator, TEXT, "en", "de")
    given = explain(translator, TEXT, "en", "de", target_text=plain.translation, intervene=["encoder.0=0"])
    assert given.changed is not None
    assert given.changed.given
    assert [step.chosen.probability for step in given.changed.steps] == pytest.approx(
        list(given.changed.original_probabilities)
    )
    assert list(given.changed.original_probabilities) != pytest.approx(
        [step.chosen.probability for step in given.steps]
    )


def test_swapped_words_are_another_source(translator: pellucid.Translator) -> None:
    trace = changed(translator, "swap=1,6")
    assert trace.text == "the tree sat on the old cat"
    alone = explain(translator, trace.text, "en", "de")
    assert trace.source_tokens == alone.source_tokens
    assert trace.beam.finished[0].score == pytest.approx(alone.beam.finished[0].score)
    assert trace.translation == alone.beam.finished[0].text


def test_a_forced_word_is_a_prefix(number_model: Path) -> None:
    trace = explain(number_model, "one two three", "en", "de", intervene=["target.1=sieben"])
    assert trace.translation == "eins zwei drei"
    assert trace.changed is not None
    forced = pellucid.load(number_model, "reference").translate("one two three", "en", "de", prefix="eins sieben")
    assert isinstance(forced, pellucid.Translation)
    assert trace.changed.translation == forced.text
    assert forced.text.startswith("eins sieben")
    long = explain(number_model, "one two three", "en", "de", intervene=["target.1=" + "sieben " * 40]).changed
    assert long is not None
    assert long.translation.startswith("eins " + "sieben " * 39 + "sieben")
    with pytest.raises(UserError, match="more than can be forced"):
        explain(number_model, "one two three", "en", "de", intervene=["target.1=" + "sieben " * 400])


def test_words_are_swapped_and_forced_in_their_places() -> None:
    config = config_of((0,) * 10)
    asked = interventions(["swap=0,2", "target.2=Bus", "target.0=Wann"], config, "Where, is he?", "Wo ist er? Da.")
    assert asked.source("Where, is he?") == "he, is Where?"
    assert asked.prefix("Wo ist er? Da.") == "Wann ist Bus"
    assert asked.source("a (long one) here") == "one (long a) here"


def test_what_is_left_out_of_a_name_stands_for_all() -> None:
    config = config_of((0,) * 10)
    off = {text: [each.name for each in asked_for(config, f"{text}=0").switches] for text in (
        "encoder.1.head.2", "mask", "decoder.2.head.0", "positions", "encoder.1", "encoder.1.feed_forward", "scale",
    )}  # fmt: skip
    assert off["encoder.1.head.2"] == ["encoder.layers.1.self_attention.head.2"]
    assert off["mask"] == [f"decoder.layers.{layer}.self_attention.mask" for layer in range(3)]
    assert off["decoder.2.head.0"] == [f"decoder.layers.2.{part}_attention.head.0" for part in ("self", "cross")]
    assert off["positions"] == ["encoder.positions", "decoder.positions"]
    assert off["encoder.1"] == ["encoder.layers.1"]
    assert off["encoder.1.feed_forward"] == ["encoder.layers.1.feed_forward"]
    assert len(off["scale"]) == 2 + 2 * 3


def test_all_that_is_wrong_is_reported_at_once(translator: pellucid.Translator) -> None:
    wrong = ["encoder.9=0", "encoder.0.mask=0", "head.1=1", "swap=0,99", "swap=1,1", "target.99=Hund", "norm!=0",
             "target.0=", "mask", "=0", "swap"]  # fmt: skip
    with pytest.raises(UserError) as error:
        changed(translator, *wrong)
    assert len(error.value.problems) == len(wrong)
    for text in wrong:
        assert repr(text.removesuffix("=0")) in str(error.value) or repr(text) in str(error.value)
    with pytest.raises(UserError, match="no word can be forced"):
        changed(translator, "target.0=Hund", target_text="ein Hund")
    with pytest.raises(UserError, match="at most 100"):
        changed(translator, *["mask=0"] * 101)
