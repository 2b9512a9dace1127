from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pellucid.config import DecodeConfig
from pellucid.config.decode import EngineChoice, Strategy
from pellucid.decode.protected_spans import ADDRESSES, ADDRESSES_AND_PLACEHOLDERS
from pellucid.decode.translation import Translation
from pellucid.decode.translator import Translator, load
from pellucid.errors import UserError
from pellucid.text.language_identifier import LanguageIdentifier

MakeModel = Callable[..., Path]


@pytest.fixture
def translator(make_model: MakeModel) -> Translator:
    return load(make_model(), "reference")


def one(translator: Translator, text: str, target: str = "de", config: DecodeConfig | None = None) -> Translation:
    [translation] = translator.translate_all(translator.source_texts([text], target=target), config)
    return translation


def test_one_text_gives_one_translation_and_a_list_a_list(translator: Translator) -> None:
    alone = translator.translate("the cat", target="de")
    assert isinstance(alone, Translation)
    assert translator.translate(["the cat", "a dog"], target="de") == [alone, one(translator, "a dog")]
    assert alone.source == "en"
    assert alone.target == "de"
    assert alone.score < 0
    assert translator.tokenizers.target.decode(translator.tokenizers.target.encode(alone.text)) == alone.text


@pytest.mark.parametrize("engine", ["ctranslate2", "torch", "reference"])
@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_without_scores_the_translation_is_the_same(
    make_model: MakeModel, engine: EngineChoice, strategy: Strategy
) -> None:
    translator, texts = load(make_model(), engine), ["the cat sat on the mat", "we see the tree", "a dog"]
    scored = translator.translate(texts, target="de", strategy=strategy)
    unscored = translator.translate(texts, target="de", strategy=strategy, scores=False)
    assert isinstance(scored, list)
    assert isinstance(unscored, list)
    assert all(math.isfinite(each.score) for each in scored)
    assert all(math.isnan(each.score) for each in unscored)
    assert [(each.text, each.tokens) for each in scored] == [(each.text, each.tokens) for each in unscored]


@pytest.mark.parametrize(
    ("given", "kind"), [(None, "NoneType"), (b"abc", "bytes"), (3, "int"), ([1], "int"), (["a", None], "NoneType")]
)
def test_what_is_not_a_text_is_reported(translator: Translator, given: Any, kind: str) -> None:
    with pytest.raises(UserError, match=rf"text: is {kind}, not str \(give a text or a list of texts\)"):
        translator.translate(given, target="de")


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \r\n ", "---", "…", "***\n===", "\u2028"])
def test_what_has_no_words_stays_as_it_is(translator: Translator, text: str) -> None:
    assert one(translator, text).text == text


def test_paragraphs_and_blank_lines_are_kept(translator: Translator) -> None:
    text = "  the cat sat.  a dog ran!\n\n\tthe tree\r\n---\n"
    sat, ran, tree = (one(translator, part).text for part in ("the cat sat.", "a dog ran!", "the tree"))
    assert one(translator, text).text == f"  {sat}  {ran}\n\n\t{tree}\r\n---\n"


def test_a_text_can_be_left_whole(translator: Translator) -> None:
    whole = translator.translate("the cat. a dog.", target="de", split=False)
    assert isinstance(whole, Translation)
    parts = [one(translator, part).text for part in ("the cat.", "a dog.")]
    assert one(translator, "the cat. a dog.").text == " ".join(parts)
    assert len(whole.tokens) > 0


def test_too_long_a_sentence_is_cut_and_the_cut_is_reported(translator: Translator) -> None:
    translator.length_limit = 20
    text = "the cat sat on the mat, a dog ran to the house, we see the old tree"
    translation = one(translator, text)
    assert "20 tokens" in translation.notes[0]
    assert "parts" in translation.notes[0]
    assert not one(translator, "the cat").notes


def test_alternatives_are_the_next_best(translator: Translator) -> None:
    config = DecodeConfig(beam=4, n_best=4)
    translation = one(translator, "the cat sat", config=config)
    assert len(translation.alternatives) == 3
    scores = [translation.score, *(other.score for other in translation.alternatives)]
    assert scores == sorted(scores, reverse=True)


def test_alternatives_of_a_document_are_those_of_its_sentences(translator: Translator) -> None:
    config = DecodeConfig(beam=3, n_best=3)
    sat, ran = (one(translator, text, config=config) for text in ("the cat sat.", "a dog ran!"))
    document = one(translator, " the cat sat.\na dog ran!", config=config)
    for whole, first, second in zip(*((each, *each.alternatives) for each in (document, sat, ran)), strict=True):
        assert whole.text == f" {first.text}\n{second.text}"
        assert whole.tokens == first.tokens + second.tokens
        assert whole.score == (first.score + second.score) / 2


def test_a_prefix_begins_the_first_sentence(translator: Translator) -> None:
    texts = ["the cat sat. a dog ran.", "the tree"]
    for translation in translator.translate_all(translator.source_texts(texts, target="de", prefix="ein Hund")):
        assert translation.text.startswith("ein Hund")
    first, second = translator.translate_all(translator.source_texts(texts, target="de", prefix=["heute", ""]))
    assert first.text.startswith("heute")
    assert second == one(translator, "the tree")
    with pytest.raises(UserError, match="3 prefixes for 2 texts"):
        translator.source_texts(texts, target="de", prefix=["a", "b", "c"])


@pytest.mark.parametrize("text", ["Hello {name}, you have %d cats.", "<b>the cat</b> sat. {a}{b}", "{only}", "%s%s%s"])
def test_protected_placeholders_always_come_through(translator: Translator, text: str) -> None:
    [translation] = translator.translate_all(translator.source_texts([text], target="de"), protect=True)
    assert ADDRESSES_AND_PLACEHOLDERS.all_in(text, translation.text)


@pytest.mark.parametrize("text", ["the cat www.example.com sat.", "a dog (http://a.example/b?c) ran. cat@tree.example"])
def test_addresses_come_through_where_there_is_a_language(translator: Translator, text: str) -> None:
    [translation] = translator.translate_all(translator.source_texts([text], target="de"))
    assert ADDRESSES.found(text)
    assert ADDRESSES.all_in(text, translation.text)
    [begun] = translator.translate_all(translator.source_texts([text], target="de", prefix="ein Hund"))
    assert begun.text.startswith("ein Hund")


def test_addresses_are_not_forced_on_what_is_not_a_language(make_model: MakeModel, tmp_path: Path) -> None:
    directory = shutil.copytree(make_model(), tmp_path / "reports")
    LanguageIdentifier(("report", "de"), (("report", "de"),)).save(directory / "languages.json")
    text = "the cat www.example.com sat."
    translator = load(directory)
    [translation] = translator.translate_all(translator.source_texts([text], "report", "de"))
    assert not ADDRESSES.all_in(text, translation.text)


def test_special_tokens_that_people_type_are_text(translator: Translator) -> None:
    for typed in ("</s>", "<2de>", "<pad>", "<s>"):
        ids = translator.tokenizers.source.encode(f"the {typed} cat")
        assert min(ids) >= 5
        one(translator, f"the {typed} cat")


def test_text_of_any_kind_is_translated(translator: Translator) -> None:
    for text in (
        "\x00\x01 cat \x1b[0m",
        "\ud800 cat",
        "cat\u200b \ufeff",
        "e\u0301" * 20,
        "😀 cat 👩‍👩‍👧",
        "١٢٣ مرحبا",
    ):
        assert isinstance(one(translator, text).text, str)


@pytest.mark.parametrize("strategy", ["greedy", "sample", "beam"])
def test_a_stream_is_the_translation_in_pieces(translator: Translator, strategy: str) -> None:
    config = {
        "greedy": DecodeConfig(strategy="greedy"),
        "sample": DecodeConfig(strategy="sample", seed=2),
        "beam": DecodeConfig(beam=2),
    }[strategy]
    text = "the cat sat.\n\na dog ran to the house."
    pieces = list(translator.stream(text, target="de", config=config))
    assert "".join(pieces) == one(translator, text, config=config).text
    if strategy == "greedy":
        assert len(pieces) > 4


def test_a_stream_may_be_left_and_python_ended(make_model: MakeModel) -> None:
    program = """
import sys, pellucid
from pellucid.config import DecodeConfig
translator = pellucid.load(sys.argv[1], "ctranslate2")
stream = translator.stream("the cat sat on the mat", target="de", config=DecodeConfig(strategy="greedy", min_length=50))
print(next(stream))
if sys.argv[2] == "whole":
    print("".join(stream))
"""
    for how in ("whole", "part"):
        done = subprocess.run([sys.executable, "-c", program, str(make_model()), how], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_an_engine_may_be_dropped_by_its_token_callback(make_model: MakeModel) -> None:
    program = """
import gc, sys, pellucid
from pellucid.config import DecodeConfig
from pellucid.decode.hypotheses import Sentence
for turn in range(12):
    translator = pellucid.load(sys.argv[1], "ctranslate2")
    engine = translator.open("ctranslate2")
    seen = []
    on_token = lambda *token, engine=engine: seen.append(token)
    engine.search([Sentence((4, 20, 30, 2))], DecodeConfig(strategy="greedy"), on_token)
    del on_token
    del translator, engine
    gc.collect()
"""
    done = subprocess.run([sys.executable, "-c", program, str(make_model())], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_stream_that_fails_says_so(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator.engine(DecodeConfig(strategy="greedy"))
    monkeypatch.setattr(engine.model, "step", lambda *_: 1 / 0)  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError):
        list(translator.stream("the cat", target="de"))


def test_equal_sentences_have_equal_translations_under_a_seed(translator: Translator) -> None:
    config = DecodeConfig(strategy="sample", seed=9)
    sources = translator.source_texts(["the cat", "the cat", "a dog"], target="de")
    first, second, other = translator.translate_all(sources, config)
    assert first == second
    assert translator.translate_all([sources[2], sources[0]], config) == [other, first]


def test_auto_takes_the_fastest_engine_that_can(make_model: MakeModel) -> None:
    translator = load(make_model())
    assert type(translator.engine(DecodeConfig())).__name__ == "CTranslate2Engine"
    assert type(translator.engine(DecodeConfig(strategy="sample", seed=1))).__name__ == "TorchEngine"
    assert type(translator.engine(DecodeConfig(stopping="exact"))).__name__ == "TorchEngine"
    assert type(load(make_model(norm="batch")).engine(DecodeConfig())).__name__ == "TorchEngine"
    with pytest.raises(UserError, match="seed"):
        load(make_model(), "ctranslate2").translate("the cat", target="de", strategy="sample", seed=1)
    with pytest.raises(UserError, match="did you mean 'torch'"):
        load(make_model(), "tork")  # type: ignore[arg-type]


def test_without_torch_the_reference_steps_in(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    import pellucid.decode.engines as engines
    import pellucid.decode.translator as module

    for place in (engines, module):
        monkeypatch.setattr(place, "find_spec", lambda _: None)
    assert type(load(make_model()).engine(DecodeConfig(strategy="sample", seed=1))).__name__ == "ReferenceEngine"
    with pytest.raises(UserError, match="not installed"):
        load(make_model(), "torch").translate("the cat", target="de")


def test_engines_agree_on_text(make_model: MakeModel) -> None:
    texts = ["the cat sat on the mat.", "a dog", "we see the old tree by the river. it is cold!", ""]
    expected = load(make_model(), "reference").translate(texts, target="de")
    assert isinstance(expected, list)
    for found in (
        load(make_model(), "torch").translate(texts, target="de"),
        load(make_model(), "ctranslate2", compute_type="float32").translate(texts, target="de"),
    ):
        assert isinstance(found, list)
        assert [translation.text for translation in found] == [translation.text for translation in expected]


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "languages.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_damaged_model_directory_is_an_error_with_its_place(
    make_model: MakeModel, tmp_path: Path, name: str, damage: str
) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    path = directory / name
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:20])
    else:
        shutil.copy(directory / ("languages.json" if name == "config.json" else "config.json"), path)
    with pytest.raises(UserError, match=name if (name, damage) != ("config.json", "missing") else "model"):
        load(directory).translate("the cat", target="de")


def test_a_model_of_the_wrong_shape_is_reported(make_model: MakeModel, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    shutil.copy(make_model(d_model=16) / "config.json", directory / "config.json")
    with pytest.raises(UserError, match="do not belong together"):
        load(directory).translate("the cat", target="de")


def test_translating_by_default_imports_no_torch(make_model: MakeModel) -> None:
    program = """
import sys, pellucid
pellucid.load(sys.argv[1]).translate("the cat", target="de")
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(make_model())], check=True)


@pytest.mark.parametrize(("code", "parts"), [("en", 2), ("report", 1)])
def test_only_texts_in_a_language_are_split_into_sentences(
    make_model: MakeModel, tmp_path: Path, code: str, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    LanguageIdentifier((code, "de"), ((code, "de"),)).save(directory / "languages.json")
    searched: list[int] = []
    true_search = Translator._search

    def counted(self: Translator, sentences: list[Any], *rest: Any) -> Any:
        searched.append(len(sentences))
        return true_search(self, sentences, *rest)

    monkeypatch.setattr(Translator, "_search", counted)
    load(directory, "reference").translate("This is one. And here is two.", max_length=3)
    assert searched == [parts]
