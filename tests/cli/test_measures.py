"""score, evaluate, verify and models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pellucid.cli import application
from pellucid.errors import UserError
from pellucid.evaluation.verify import EngineCheck, TextDifference
from pellucid.terminal.evaluation import verdict

Numbers = Callable[[str, int, int, int], list[str]]


def run(verb: str, *words: str, fails: int = 0) -> str:
    result = CliRunner().invoke(application((verb,)), [verb, *words])
    if isinstance(result.exception, UserError):
        raise result.exception
    assert result.exit_code == fails, result.output
    return result.stdout


def run_json(verb: str, *words: str, fails: int = 0) -> Any:
    return json.loads(run(verb, *words, "--json", fails=fails))


@pytest.fixture
def pairs(tmp_path: Path, numbers: Numbers) -> Path:
    path = tmp_path / "test.tsv"
    sides = numbers("en", 20, 4, 8), numbers("de", 20, 4, 8)
    path.write_text("".join(f"{en}\t{de}\n" for en, de in zip(*sides, strict=True)), encoding="utf-8")
    return path


def test_score_prefers_the_right_translation(number_model: Path) -> None:
    words = ["--model", str(number_model), "--from", "en", "--to", "de"]
    right = run_json("score", "one two", "eins zwei", *words)
    wrong = run_json("score", "one two", "zwei eins", *words)
    assert right["log_prob"] > wrong["log_prob"]
    assert right["log_prob"] == pytest.approx(sum(token["log_prob"] for token in right["tokens"]))
    assert right["tokens"][-1]["token"] == "</s>"
    assert f"{right['log_prob']:.4f}" in run("score", "one two", "eins zwei", *words)


def test_score_of_files_has_a_line_for_each_pair(number_model: Path, pairs: Path) -> None:
    out = run("score", "--pairs", str(pairs), "--model", str(number_model), "--from", "en", "--to", "de")
    assert len(out.splitlines()) == 20
    with pytest.raises(UserError, match="--source and --target"):
        run("score", "--model", str(number_model))


def test_evaluate_says_how_good_and_how_fast(number_model: Path, pairs: Path, tmp_path: Path) -> None:
    words = ["--pairs", str(pairs), "--model", str(number_model), "--from", "en", "--to", "de"]
    picture, output = tmp_path / "lengths.png", tmp_path / "out.txt"
    report = run_json("evaluate", *words, "--picture", str(picture), "--output", str(output))
    [model] = report["models"]
    assert set(model["scores"]) == {"BLEU", "chrF", "TER", "ROUGE-L", "exact match"}
    assert model["scores"]["BLEU"]["score"] > 50
    assert "version" in model["scores"]["BLEU"]["signature"]
    assert model["tokens_per_second"] > 0
    assert sum(group["sentences"] for group in report["chrF_by_words"]) == 20
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(output.read_text().splitlines()) == 20
    assert "BLEU" in run("evaluate", *words)


def test_a_text_of_several_lines_has_one_line_of_the_output(number_model: Path, tmp_path: Path) -> None:
    pairs, output = tmp_path / "two.jsonl", tmp_path / "out.txt"
    pairs.write_text('{"en": "one\\ntwo", "de": "eins\\nzwei"}\n{"en": "three", "de": "drei"}\n')
    words = ["--pairs", str(pairs), "--model", str(number_model), "--from", "en", "--to", "de"]
    run("evaluate", *words, "--output", str(output))
    assert len(output.read_text().splitlines()) == 2


def test_evaluate_compares(number_model: Path, pairs: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("eins , zwei .\n" * 20)
    words = ["--pairs", str(pairs), "--translations", str(wrong), "--model", str(number_model)]
    report = run_json("evaluate", *words, "--from", "en", "--to", "de")
    assert report["looks_tokenised"]
    [rows] = report["differences"].values()
    assert all(row["score"] > row["baseline"] and row["p_value"] < 0.05 for row in rows)
    wrong.write_text("eins\n" * 19)
    with pytest.raises(UserError, match=r"wrong\.txt: 19 translations, 20 references"):
        run("evaluate", *words)


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--output", "nowhere/out.txt", "nowhere/out.txt: cannot be written: No such file"),
        ("--output", "", "cannot be written: Is a directory"),
        ("--picture", "nowhere/lengths.png", "nowhere/lengths.png: cannot be written: No such file"),
        ("--picture", "lengths.foo", "unknown picture format"),
        ("--picture", "lengths", "unknown picture format"),
    ],
)
def test_evaluate_knows_before_the_work_what_it_cannot_write(
    pairs: Path, tmp_path: Path, option: str, name: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):  # else the missing model would be the complaint
        run("evaluate", "--pairs", str(pairs), "--model", "nowhere", option, str(tmp_path / name))


def test_evaluate_needs_pairs() -> None:
    with pytest.raises(UserError, match="--pairs, or --corpus"):
        run("evaluate")


def test_verify_says_yes_or_no(number_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("one two\n\nthree\n")
    words = [str(number_model), "--texts", str(texts), "--from", "en", "--to", "de"]
    result = run_json("verify", *words)
    assert result["holds"]
    assert [engine["engine"] for engine in result["engines"]] == ["torch", "ctranslate2 float32", "ctranslate2 int8"]
    out = run("verify", *words)
    assert "right" in out
    assert "within rounding" in out
    assert "Verified on 2 texts" in out

    from pellucid.decode.engines.ctranslate2.engine import CTranslate2Engine

    monkeypatch.setattr(CTranslate2Engine, "logits", lambda *_: math.nan)
    assert "WRONG" in run("verify", *words, fails=1)


def test_verify_calls_no_engine_right_that_differs() -> None:
    def checked(exact: bool, gap: float, differences: int, changes: int = 0) -> EngineCheck:
        return EngineCheck("some", exact, gap, [TextDifference("a", "b", "c")] * differences, ["a"] * changes)

    assert verdict(checked(True, 1e-6, 0), 20) == "right"
    assert verdict(checked(True, 1e-6, 1), 20) == "WRONG"
    assert verdict(checked(False, 1e-2, 0), 20) == "within rounding"
    assert verdict(checked(False, 1e-2, 3), 20) == "differs in 3 of 20"
    assert verdict(checked(False, 1e-2, 0, changes=1), 20) == "WRONG"


def test_verify_names_each_engine_before_its_turn_and_those_left_out(
    number_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("one two\n")
    monkeypatch.setattr("pellucid.evaluation.verify.find_spec", lambda _: None)
    words = ["verify", str(number_model), "--texts", str(texts), "--to", "de"]
    result = CliRunner().invoke(application(("verify",)), words)
    assert result.exit_code == 0
    assert "torch was not checked: it is not installed" in result.stdout
    names = ("reference", "ctranslate2 float32", "ctranslate2 int8")
    assert result.stderr == "".join(f"checking {name}\n" for name in names)


def test_models_shows_what_a_model_is(number_model: Path) -> None:
    about = run_json("models", "show", str(number_model))
    assert about["directions"] == ["en → de", "de → en"]
    assert about["config"]["d_model"] == 32
    assert "parameters" in run("models", "show", str(number_model))
    assert run_json("models", str(number_model)) == about
    assert isinstance(run_json("models"), dict)
    with pytest.raises(UserError, match="pellucid models show NAME"):
        run("models", "list", "all", "of", "them")
