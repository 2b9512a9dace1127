"""A trace against independent computations: torch's taps, a shorter model, sums and sorts done by hand."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

import pellucid
from pellucid import nn, reference
from pellucid.config import DecodeConfig, ModelConfig
from pellucid.decode.engines import Engine
from pellucid.decode.hypotheses import Hypothesis, OnToken, Sentence, Stop
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.vocabulary_restriction import VocabularyRestriction
from pellucid.nn import attach
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.tokenizer import END, START
from pellucid.tracing import Trace, explain
from pellucid.tracing.heads import describe_head

MakeModel = Callable[..., Path]

CHOICES: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "norm_place": "pre", "embedding_norm": True, "embedding_scale": False},
    {"positions": "rotary", "kv_heads": 2, "activation": "swiglu", "norm": "rms", "norm_place": "pre"},
    {"positions": "none", "tie": "none", "norm": "batch", "activation": "gelu"},
]
choices = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(map(str, choice.values())) or "base")
TEXT = "the cat sat on the old tree"


@pytest.fixture
def trace(make_model: MakeModel) -> Trace:
    return explain(make_model(), TEXT, "en", "de")


def taps(directory: Path, trace: Trace) -> dict[str, Tensor]:
    """The same pass through torch, every value without its batch axis."""
    model = nn.Transformer.load(directory).eval()
    if model.config.norm == "batch":  # random statistics make values grow until float32 loses the digits compared here
        model = model.double()
    source, target_in = ([[token.id for token in side]] for side in (trace.source_tokens, trace.target_in))
    with torch.no_grad(), attach(model) as record:
        model(torch.tensor(source), torch.ones(1, len(source[0]), dtype=torch.bool), torch.tensor(target_in))
    masked = {name for name in record if name.startswith("decoder") and name.endswith("self_attention.products")}
    return {
        name: value if name.endswith((".position", ".angles")) else value[0]
        for name, [value] in record.items()
        if not name.endswith(".products") or name in masked  # where nothing is masked they are the scores
    }


def assert_close(name: str, actual: NDArray[Any], wanted: NDArray[Any]) -> None:
    """Equal to a 100,000th of the largest value; -inf in the same places."""
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-5 * max(largest, 1e-30), err_msg=name)


@choices
def test_every_value_is_that_of_torch(choice: dict[str, Any], make_model: MakeModel) -> None:
    directory = make_model(**choice)
    trace = explain(directory, TEXT, "en", "de")
    wanted = taps(directory, trace)
    assert set(trace.values) == set(wanted)
    for name, value in wanted.items():
        assert_close(name, trace.values[name], value.numpy())


@choices
def test_the_json_too(choice: dict[str, Any], make_model: MakeModel) -> None:
    directory = make_model(**choice)
    trace = explain(directory, TEXT, "en", "de")
    data = json.loads(trace.to_json())
    wanted = taps(directory, trace)
    assert set(data["values"]) == set(wanted) - {"output.logits"}
    for name, entry in data["values"].items():
        value = np.array(entry["values"], dtype=float)
        value = np.where(np.isnan(value), -np.inf, value)  # null
        assert entry["shape"] == list(wanted[name].shape) == list(value.shape)  # a short text is whole
        assert_close(name, value, wanted[name].numpy())


def test_the_target_is_what_the_engine_found(trace: Trace, make_model: MakeModel) -> None:
    translation = pellucid.load(make_model()).translate(TEXT, "en", "de")
    assert isinstance(translation, pellucid.Translation)
    assert trace.translation == translation.text
    assert tuple(token.text for token in trace.target_out) == (*translation.tokens, "</s>")
    assert (trace.engine, trace.source, trace.target, trace.given) == ("ctranslate2", "en", "de", False)


def test_tokens_are_shifted_by_one(trace: Trace) -> None:
    assert [trace.source_tokens[0].text, trace.source_tokens[-1].text] == ["<2de>", "</s>"]
    assert trace.target_in[0].id == START
    assert trace.target_in[1:] == trace.target_out[:-1]
    assert trace.target_out[-1].id == END


def test_scores_are_those_of_the_engine_and_of_the_reference(make_model: MakeModel) -> None:
    directory = make_model()
    translator = pellucid.load(directory)
    trace = explain(translator, TEXT, "en", "de")
    translation = translator.translate(TEXT, "en", "de")
    assert isinstance(translation, pellucid.Translation)
    first, second = trace.scores
    assert (first.engine, first.compute_type, first.score) == ("ctranslate2", "int8", translation.score)
    assert (second.engine, second.compute_type) == ("reference", "float64")
    exact = sum(math.log(step.chosen.probability) for step in trace.steps) / len(trace.steps)
    assert second.score == pytest.approx(exact, rel=1e-12)
    assert second.score == pytest.approx(first.score, abs=0.05)
    assert {each.vocabulary for each in trace.scores} == {trace.config.target_tokens}
    given = explain(translator, TEXT, "en", "de", target_text="ein Hund")
    [log_probs] = translator.open("ctranslate2").score(
        [([token.id for token in given.source_tokens], [token.id for token in given.target_out])]
    )
    assert given.scores[0].score == pytest.approx(float(log_probs.mean()), abs=1e-5)


def test_the_score_of_a_restricted_search_is_over_the_allowed_tokens(make_model: MakeModel, tmp_path: Path) -> None:
    directory = shutil.copytree(make_model(), tmp_path / "model")
    tokenizers = ModelDirectory(directory).tokenizers
    whole = explain(directory, TEXT, "en", "de")
    keep = np.ones(len(tokenizers.target), dtype=bool)
    keep[-150:] = False
    keep[[token.id for token in whole.target_out]] = True
    VocabularyRestriction(tokenizers, {"de": keep}).save(directory)
    trace = explain(pellucid.load(directory, "torch"), TEXT, "en", "de")
    logits = trace.values["output.logits"][:, keep]
    chosen = trace.values["output.logits"][np.arange(len(trace.steps)), [token.id for token in trace.target_out]]
    exact = float((chosen - np.log(np.exp(logits).sum(axis=1))).mean())
    assert [each.vocabulary for each in trace.scores] == [keep.sum(), keep.sum(), len(keep)]
    assert [each.score for each in trace.scores[:2]] == pytest.approx([exact, exact])
    assert trace.scores[2].score < exact


def test_says_whether_the_language_was_detected(make_model: MakeModel) -> None:
    found = [explain(make_model(), TEXT, *asked).detected for asked in ((None, None), ("auto", None), ("en", "de"))]
    assert found == [True, True, False]
    assert not explain(make_model(), TEXT, None, "de").detected  # English is the only possibility


def test_rows_of_the_decoder_are_the_token_read_and_the_token_predicted(trace: Trace) -> None:
    words = [token.text for token in trace.target_out]
    assert trace.labels["decoder"] == tuple(
        f"{read} → {predicted}" for read, predicted in zip(["<s>", *words[:-1]], words, strict=True)
    )
    assert trace.labels["encoder"] == tuple(token.text for token in trace.source_tokens)


def test_a_given_target_is_explained_whatever_the_model_would_say(make_model: MakeModel) -> None:
    trace = explain(make_model(), TEXT, "en", "de", target_text="ein Hund")
    assert trace.given
    assert trace.translation == "ein Hund"
    assert [step.chosen.id for step in trace.steps] == [token.id for token in trace.target_out]
    assert trace.beam.finished[0].text != "ein Hund"


def test_masks_hide_the_future_and_nothing_else(trace: Trace) -> None:
    length, source = len(trace.target_in), len(trace.source_tokens)
    future = [[key > query for key in range(length)] for query in range(length)]
    assert (~trace.masks["decoder.self_attention"]).tolist() == future
    assert trace.masks["encoder.self_attention"].shape == (source, source)
    assert trace.masks["encoder.self_attention"].all()
    assert trace.masks["decoder.cross_attention"].shape == (length, source)
    assert trace.masks["decoder.cross_attention"].all()
    assert np.isneginf(trace.values["decoder.layers.0.self_attention.scores"][:, future]).all()


def test_steps_hold_the_distribution(trace: Trace) -> None:
    for row, step, token in zip(trace.values["output.logits"].tolist(), trace.steps, trace.target_out, strict=True):
        total = math.fsum(map(math.exp, row))
        probabilities = [math.exp(logit) / total for logit in row]
        order = sorted(range(len(row)), key=lambda number: -probabilities[number])
        assert [candidate.id for candidate in step.candidates] == order[:10]
        assert [c.probability for c in step.candidates] == pytest.approx([probabilities[i] for i in order[:10]])
        assert step.chosen.id == token.id
        assert step.chosen.probability == pytest.approx(probabilities[token.id])
        assert order[step.rank] == token.id
        assert step.entropy == pytest.approx(-math.fsum(p * math.log2(p) for p in probabilities))


def test_pools_are_what_each_rule_draws_from(trace: Trace) -> None:
    for row, step in zip(trace.values["output.logits"], trace.steps, strict=True):
        sums = np.cumsum(np.sort(np.exp(row) / np.exp(row).sum())[::-1])
        greedy, top_k, top_p = step.pools
        first_above = int(np.argmax(sums > 0.9))  # the smallest set whose probability together exceeds p
        assert [pool.rule for pool in step.pools] == ["greedy", "top_k", "top_p"]
        assert (greedy.size, top_k.size, top_p.size) == (1, 5, first_above + 1)
        assert [pool.probability for pool in step.pools] == pytest.approx([sums[0], sums[4], sums[first_above]])


@choices
def test_the_lens_shows_what_a_shorter_model_says(choice: dict[str, Any], make_model: MakeModel) -> None:
    """A decoder cut off after its first layer, output and last norm kept, is what the lens shows of that layer."""
    directory = make_model(**choice)
    trace = explain(directory, TEXT, "en", "de")
    whole = reference.Transformer.load(directory)
    config: ModelConfig = whole.config.changed(decoder_layers=1)
    short = reference.Transformer(config, whole.weights)
    source = np.array([[token.id for token in trace.source_tokens]])
    target_in = np.array([[token.id for token in trace.target_in]])
    logits = short.forward(source, np.ones(source.shape, dtype=bool), target_in)[0]
    for row, step in zip(logits, trace.steps, strict=True):
        probabilities = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        first, last = step.lens
        assert first.candidates[0].id == int(row.argmax())
        assert first.probability == pytest.approx(probabilities[step.chosen.id])
        assert first.rank == int((row > row[step.chosen.id]).sum())
        assert last.candidates == step.candidates[:3]
        assert last.probability == pytest.approx(step.chosen.probability)
        assert last.rank == step.rank


def test_alignment_is_the_mean_of_the_heads_of_the_last_layer_but_one(make_model: MakeModel) -> None:
    trace = explain(make_model(decoder_layers=3), TEXT, "en", "de")
    heads = trace.weights("decoder.cross_attention", 1)
    wanted = [
        [sum(head[row][column] for head in heads) / 4 for column in range(heads.shape[2])]
        for row in range(heads.shape[1])
    ]
    np.testing.assert_allclose(trace.alignment, wanted)
    np.testing.assert_allclose(trace.alignment.sum(axis=1), 1)


def test_what_a_head_looks_at() -> None:
    previous = describe_head(
        "encoder.self_attention", 1, 2, np.array([[0.2, 0.8, 0.0], [0.9, 0.1, 0.0], [0.0, 0.7, 0.3]])
    )
    assert (previous.layer, previous.head) == (1, 2)
    assert previous.itself == pytest.approx((0.2 + 0.1 + 0.3) / 3)
    assert previous.previous == pytest.approx((0.9 + 0.7) / 2)
    assert previous.next == pytest.approx((0.8 + 0.0) / 2)
    assert previous.first == pytest.approx((0.2 + 0.9 + 0.0) / 3)
    assert previous.end == pytest.approx((0.0 + 0.0 + 0.3) / 3)
    assert previous.mainly == "previous"

    cross = describe_head("decoder.cross_attention", 0, 0, np.full((3, 4), 0.25))
    assert (cross.itself, cross.previous, cross.next) == (None, None, None)
    assert cross.spread == pytest.approx(4)
    assert cross.mainly == ""

    alone = describe_head("decoder.self_attention", 0, 0, np.ones((1, 1)))
    assert (alone.itself, alone.previous, alone.next, alone.end) == (1.0, None, None, None)
    assert alone.spread == pytest.approx(1)
    assert alone.mainly == "itself"


class Stubborn:
    """An engine that would rather say "a" wherever it is asked what it thinks."""

    name: pellucid.decode.engines.EngineName = "torch"

    def __init__(self, engine: Engine, favourite: int) -> None:
        self.engine, self.favourite = engine, favourite
        self.compute_type = engine.compute_type

    def unsupported(self, config: DecodeConfig, longest: int) -> str:
        return self.engine.unsupported(config, longest)

    def search(
        self,
        sentences: Sequence[Sentence],
        config: DecodeConfig,
        on_token: OnToken | None = None,
        stop: Stop | None = None,
    ) -> list[list[Hypothesis]]:
        return self.engine.search(sentences, config, on_token, stop)

    def logits(self, source: Sequence[int], target: Sequence[int]) -> NDArray[np.floating]:
        logits = self.engine.logits(source, target).copy()
        logits[1, self.favourite] = logits.max() + 3
        return logits

    def score(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[NDArray[np.floating]]:
        return self.engine.score(pairs)


def test_marks_where_engine_and_reference_differ(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = pellucid.load(make_model(), "torch")
    [favourite] = translator.tokenizers.target.encode("a")[-1:]
    stubborn = Stubborn(translator.open("torch"), favourite)
    before = explain(translator, TEXT, "en", "de")
    assert not any(step.differs for step in before.steps)
    monkeypatch.setattr(translator, "engine", lambda *_: stubborn)
    trace = explain(translator, TEXT, "en", "de")
    assert [step.differs for step in trace.steps] == [place == 1 for place in range(len(trace.steps))]
    assert trace.steps[1].engine.id == favourite
    assert trace.steps[1].engine.probability > trace.steps[1].candidates[0].probability


def test_the_first_of_several_sentences_is_explained(make_model: MakeModel) -> None:
    trace = explain(make_model(), "  the cat sat. a dog ran.\n", "en", "de")
    assert trace.text == "the cat sat."
    assert trace.notes == ("the text is translated in 2 parts; this is the trace of the first",)
    pair = explain(make_model(), "the cat sat. a dog ran.", "en", "de", target_text="eine Katze. ein Hund.")
    assert pair.text == "the cat sat. a dog ran."
    assert not pair.notes


def test_a_text_that_is_in_no_language_is_explained_whole_as_it_is_translated(
    make_model: MakeModel, tmp_path: Path
) -> None:
    directory = shutil.copytree(make_model(), tmp_path / "reports")
    LanguageIdentifier(("report", "de"), (("report", "de"),)).save(directory / "languages.json")
    trace = explain(directory, "the cat sat. a dog ran.", "report", "de")
    assert trace.text == "the cat sat. a dog ran."


@pytest.mark.parametrize("text", ["", "  \n", "---"])
def test_nothing_to_translate_is_an_error(text: str, make_model: MakeModel) -> None:
    with pytest.raises(UserError, match="nothing to translate"):
        explain(make_model(), text, "en", "de")


def test_too_long_a_target_is_an_error(make_model: MakeModel) -> None:
    with pytest.raises(UserError, match="more than the 256"):
        explain(make_model(), "the cat", "en", "de", target_text="ein Hund " * 200)


def test_an_empty_target_is_its_end(make_model: MakeModel) -> None:
    trace = explain(make_model(), "the cat", "en", "de", target_text="")
    assert [token.id for token in trace.target_out] == [END]
    assert trace.alignment.shape == (1, len(trace.source_tokens))


def test_special_tokens_that_people_type_are_text(make_model: MakeModel) -> None:
    trace = explain(make_model(), "</s> <2en> the cat", "en", "de")
    assert [token.id for token in trace.source_tokens].count(END) == 1
    assert [token.text for token in trace.source_tokens].count("<2en>") == 0


def test_the_model_is_named_by_its_run(make_model: MakeModel, tmp_path: Path) -> None:
    run = tmp_path / "dates"
    run.mkdir()
    (run / "model").symlink_to(make_model())
    assert explain(run, "the cat", "en", "de").model == make_model().name


def test_a_target_that_finds_no_end_is_cut(make_model: MakeModel) -> None:
    trace = explain(make_model(positions="learned", max_length=12, output_bias=False), "a dog", "en", "de")
    assert len(trace.steps) == 12
    assert trace.target_out[-1].id != END
    assert trace.target_in[1:] == trace.target_out[:-1]
    assert not trace.beam.finished[0].ended
    assert [node.fate for node in trace.beam.nodes if node.step == 11].count("ended") == trace.beam.width
