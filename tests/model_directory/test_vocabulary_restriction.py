"""The vocabulary restriction: learned from the corpus, stored in the model directory, the same in every engine."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, Engine, EngineName, open_engine
from pellucid.decode.engines.ctranslate2.convert import convert
from pellucid.decode.hypotheses import Hypothesis, Sentence
from pellucid.decode.translator import load
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.vocabulary_restriction import FILE, UNTAGGED, VocabularyRestriction
from pellucid.reference import Transformer
from pellucid.text.corpus import Corpus
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import END, START, Tokenizer, Tokenizers
from pellucid.tracing.explain import explain

MakeModel = Callable[..., Path]
EXACT: list[tuple[EngineName, ComputeType | None]] = [
    ("reference", None),
    ("torch", None),
    ("ctranslate2", "float32"),
]
SEARCHES = [
    DecodeConfig(strategy="greedy"),
    DecodeConfig(beam=3, n_best=2),
    DecodeConfig(repetition_penalty=1.5, no_repeat_ngram=2, min_length=3),
]
EN, DE = 3, 4  # the tags
LANGUAGE = {EN: "en", DE: "de"}
PAIRS = [
    Pair("the cat sat", "die Katze lag", "en", "de", "a:1"),
    Pair("a dog ran", "ein Hund lief", "en", "de", "a:2"),
]


def is_allowed(tag: int, token: int) -> bool:
    """German has every other token of the models here, English every third."""
    return token <= END or token % (2 if tag == DE else 3) == 0


@pytest.fixture
def directory(make_model: MakeModel, tmp_path: Path) -> Path:
    copy = tmp_path / "model"
    shutil.copytree(make_model(), copy)
    tokenizers = Tokenizers.load(copy)
    masks = {
        name: np.array([is_allowed(tag, token) for token in range(len(tokenizers.target))])
        for tag, name in LANGUAGE.items()
    }
    VocabularyRestriction(tokenizers, masks).save(copy)
    return copy


def opened(directory: Path, name: EngineName, compute_type: ComputeType | None = None) -> Engine:
    return open_engine(name, ModelDirectory(directory), compute_type)


def sentences(count: int) -> list[Sentence]:
    """Into both languages, in no order."""
    rng = np.random.default_rng(0)
    return [
        into(int(rng.integers(EN, DE + 1)), (*rng.integers(5, 270, size=rng.integers(1, 9)).tolist(), END))
        for _ in range(count)
    ]


def into(tag: int, ids: tuple[int, ...], prefix: tuple[int, ...] = ()) -> Sentence:
    """A sentence to be translated into the language of the tag."""
    return Sentence((tag, *ids), prefix, LANGUAGE[tag])


def tokens(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in one] for one in found]


def greedy_by_hand(model: Transformer, source: tuple[int, ...]) -> tuple[int, ...]:
    """The whole model at every step, and the likeliest of the allowed tokens."""
    so_far = [START]
    ids = np.array([source])
    while len(so_far) <= 3 * len(source) + 10:
        logits = model.forward(ids, np.ones(ids.shape, dtype=bool), np.array([so_far]))[0, -1]
        likeliest_first = np.argsort(-logits).tolist()
        token = next(token for token in likeliest_first if is_allowed(source[0], token))
        if token == END:
            break
        so_far.append(token)
    return tuple(so_far[1:])


@pytest.mark.parametrize(("name", "compute_type"), EXACT)
def test_greedy_search_chooses_the_likeliest_token_of_the_language(
    directory: Path, name: EngineName, compute_type: ComputeType | None
) -> None:
    model, asked = Transformer.load(ModelDirectory(directory)), sentences(12)
    found = tokens(opened(directory, name, compute_type).search(asked, DecodeConfig(strategy="greedy")))
    assert found == [[greedy_by_hand(model, sentence.source_ids)] for sentence in asked]
    free = [Sentence(each.source_ids) for each in asked]  # without a target language nothing is restricted
    found = tokens(opened(directory, name, compute_type).search(free, DecodeConfig(strategy="greedy")))
    assert any(not is_allowed(tag, token) for tag in LANGUAGE for [target] in found for token in target)


@pytest.mark.parametrize("config", SEARCHES, ids=lambda config: f"{config.strategy} {config.beam} {config.min_length}")
def test_a_smaller_output_layer_does_the_same_as_a_mask(directory: Path, config: DecodeConfig) -> None:
    asked = sentences(20)
    masked = opened(directory, "reference").search(asked, config)
    for name, compute_type in EXACT[1:]:
        found = opened(directory, name, compute_type).search(asked, config)
        assert tokens(found) == tokens(masked)
        scores, right = ([each.score for one in result for each in one] for result in (found, masked))
        np.testing.assert_allclose(scores, right, atol=1e-4)


@pytest.mark.parametrize("config", [*SEARCHES, DecodeConfig(strategy="sample", top_k=1000)])
def test_int8_gives_no_other_token_and_does_not_depend_on_the_batch(directory: Path, config: DecodeConfig) -> None:
    engine, asked = opened(directory, "ctranslate2", "int8"), sentences(30)
    found = engine.search(asked, config)
    for sentence, hypotheses in zip(asked, found, strict=True):
        assert all(is_allowed(sentence.source_ids[0], token) for each in hypotheses for token in each.tokens)
    if config.strategy != "sample":
        assert found == [engine.search([sentence], config)[0] for sentence in asked]


@pytest.mark.parametrize(("name", "compute_type"), EXACT)
def test_a_prefix_of_other_tokens_lifts_the_restriction(
    directory: Path, make_model: MakeModel, name: EngineName, compute_type: ComputeType | None
) -> None:
    _, *ids = sentences(1)[0].source_ids
    asked = [into(DE, tuple(ids), prefix) for prefix in ((7,), (8,), (8, 9), ())]
    found = tokens(opened(directory, name, compute_type).search(asked, DecodeConfig()))
    free = tokens(opened(make_model(), name, compute_type).search(asked, DecodeConfig()))
    assert [found[0], found[2]] == [free[0], free[2]]
    assert all(is_allowed(DE, token) for place in (1, 3) for token in found[place][0])


def test_all_numbers_of_a_given_target_are_still_there(directory: Path, make_model: MakeModel) -> None:
    source, target = sentences(1)[0].source_ids, (7, 8, 9, END)
    for name, compute_type in EXACT:
        limited, free = (opened(model, name, compute_type) for model in (directory, make_model()))
        np.testing.assert_array_equal(limited.logits(source, target), free.logits(source, target))
        np.testing.assert_array_equal(limited.score([(source, target)]), free.score([(source, target)]))


@pytest.mark.parametrize("engine", ["ctranslate2", "torch", "reference"])
def test_a_stream_gives_the_text_of_a_translation(directory: Path, engine: EngineName) -> None:
    translator = load(directory, engine)
    for target in ("de", "en"):
        streamed = "".join(translator.stream("the cat sat", target=target))
        sources = translator.source_texts(["the cat sat"], target=target)
        [whole] = translator.translate_all(sources, DecodeConfig(strategy="greedy"))
        assert streamed == whole.text


def test_the_beam_that_is_shown_is_the_beam_that_was_searched(directory: Path) -> None:
    trace = explain(load(directory, compute_type="float32"), "the cat sat on the mat", target="de")
    assert trace.beam is not None
    assert trace.beam.agrees
    assert all(is_allowed(DE, node.id) for node in trace.beam.nodes)


def test_the_converted_model_of_a_language_is_used_where_it_ships(directory: Path, own_cache: Path) -> None:
    asked = sentences(6)
    made = opened(directory, "ctranslate2", "int8").search(asked, DecodeConfig())
    shutil.rmtree(own_cache)
    for name in ("de", "en"):
        convert(ModelDirectory(directory), directory / "ctranslate2" / name, "int8", name)
    assert opened(directory, "ctranslate2").search(asked, DecodeConfig()) == made
    assert not own_cache.exists()


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_language_has_the_tokens_of_its_targets_and_all_bytes(
    tmp_path: Path, tokenizer: Tokenizer, both_ways: bool
) -> None:
    corpus = Corpus.build(PAIRS, Tokenizers(tokenizer, tokenizer), tmp_path / "corpus", both_ways=both_ways)
    found = VocabularyRestriction.learn(corpus)
    sides = {"de": [pair.target for pair in PAIRS], "en": [pair.source for pair in PAIRS]}
    assert set(found.ids) == (set(sides) if both_ways else {"de"})
    for name in found.ids:
        used = {token for ids in tokenizer.encode_batch(sides[name]) for token in ids}
        assert set(found.ids[name].tolist()) == {0, 1, 2, *range(5, 5 + 256), *used}
    assert found.applies("de") == "de"
    assert found.applies("en") == ("en" if both_ways else None)
    assert found.applies(None) is None


def test_a_model_of_one_direction_has_one_restriction_for_all(tmp_path: Path) -> None:
    plain = Tokenizer.learn([text for pair in PAIRS * 3 for text in pair[:2]], 300)
    corpus = Corpus.build(PAIRS, Tokenizers(plain, plain), tmp_path / "corpus")
    found = VocabularyRestriction.learn(corpus)
    assert set(found.ids) == {UNTAGGED}
    assert found.applies(None) == found.applies("de") == UNTAGGED


def test_a_language_may_have_the_name_of_the_restriction_of_all(tmp_path: Path) -> None:
    pairs = [Pair("the cat sat", "die Katze lag", "source", UNTAGGED, "a:1")]
    tagged = Tokenizer.learn([text for pair in pairs * 3 for text in pair[:2]], 300, languages=("source", UNTAGGED))
    found = VocabularyRestriction.learn(Corpus.build(pairs, Tokenizers(tagged, tagged), tmp_path / "corpus"))
    assert found.applies(UNTAGGED) == UNTAGGED
    assert found.applies("source") is None


def test_a_large_corpus_is_gone_through_in_parts(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [pair for pair in PAIRS for _ in range(4)]
    corpus = Corpus.build(pairs, Tokenizers(tokenizer, tokenizer), tmp_path / "corpus", both_ways=True)
    whole = corpus.used_target_tokens()
    monkeypatch.setattr("pellucid.text.corpus.corpus.ROWS_PER_BLOCK", 3)
    for language, used in corpus.used_target_tokens().items():
        np.testing.assert_array_equal(used, whole[language])


def test_a_model_that_changed_since_it_was_opened_is_not_mixed_with_itself(
    directory: Path, make_model: MakeModel
) -> None:
    engine, ids = opened(directory, "ctranslate2", "int8"), sentences(1)[0].source_ids[1:]
    engine.search([into(DE, ids)], DecodeConfig())
    shutil.copy(make_model(seed=1) / "model.safetensors", directory / "model.safetensors")
    with pytest.raises(UserError, match="load it again"):
        engine.search([into(EN, ids)], DecodeConfig())


def test_what_is_saved_is_loaded(directory: Path, tmp_path: Path) -> None:
    tokenizers = Tokenizers.load(directory)
    loaded = VocabularyRestriction.load(directory, tokenizers)
    assert {name: ids.tolist() for name, ids in loaded.ids.items()} == {
        name: [token for token in range(len(tokenizers.target)) if is_allowed(tag, token)]
        for tag, name in LANGUAGE.items()
    }
    everything = np.ones(len(tokenizers.target), bool)
    VocabularyRestriction(tokenizers, {"de": everything}).save(tmp_path)
    assert not (tmp_path / FILE).exists()  # it would leave nothing out
    assert not VocabularyRestriction.load(tmp_path, tokenizers).ids


def test_a_model_that_is_trained_further_keeps_its_allowed_tokens(directory: Path) -> None:
    tokenizers = Tokenizers.load(directory)
    earlier = VocabularyRestriction.load(directory, tokenizers)
    mask = np.zeros(len(tokenizers.target), bool)
    mask[[0, 1, 2, 7]] = True
    union = VocabularyRestriction(tokenizers, {"de": mask}).union(earlier)
    assert set(union.ids) == {"de"}
    assert set(union.ids["de"].tolist()) == {7, *earlier.ids["de"].tolist()}


EVERYTHING = base64.b64encode(b"\xff" * 38).decode()  # a mask of 300 tokens and four more
NOTHING = base64.b64encode(bytes(38)).decode()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"de": "AAAA"}',
        '{"de": 3}',
        '{"de": "!"}',
        f'{{"de": "{NOTHING}"}}',  # not even the end
        f'{{"fr": "{EVERYTHING}"}}',
        f'{{"../../de": "{EVERYTHING}"}}',
        f'{{"{UNTAGGED}": "{EVERYTHING}"}}',
    ],
)
def test_a_damaged_file_is_reported_with_its_place(directory: Path, content: str) -> None:
    (directory / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="copy the model again") as caught:
        load(directory, "reference").translate("the cat", target="de")
    assert FILE in str(caught.value)


def test_another_restriction_is_another_converted_model(directory: Path) -> None:
    asked = sentences(10)
    before = opened(directory, "ctranslate2", "float32").search(asked, DecodeConfig())
    packed = json.loads((directory / FILE).read_text(encoding="utf-8"))
    packed["de"] = packed["en"]
    (directory / FILE).write_text(json.dumps(packed), encoding="utf-8")
    after = opened(directory, "ctranslate2", "float32").search(asked, DecodeConfig())
    assert tokens(after) == tokens(opened(directory, "reference").search(asked, DecodeConfig()))
    assert before != after
