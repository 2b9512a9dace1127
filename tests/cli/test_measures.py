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


def test_evaluate_compares(number_model: Path, pairs: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("eins , zwei .\n" * 20)
    words = ["--pairs", str(pairs), "--translations", str(wrong), "--model", str(number_model)]
    report = run_json("evaluate", *words, "--from", "en", "--to", "de")
    assert report["looks_tokenised"]
    [rows] = report["differences"].values()
    assert all(row["score"] > row["baseline"] and row["p_value"] < 0.05 for row in rows)
    wrong.write_text("eins\n" * 19)
    with pytest.raises(UserError, match="19 sources, 20 references"):
        run("evaluate", *words)


def test_verify_says_yes_or_no(number_model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("one two\n\nthree\n")
    words = [str(number_model), "--texts", str(texts), "--from", "en", "--to", "de"]
    proof = run_json("verify", *words)
    assert proof["holds"]
    assert [engine["engine"] for engine in proof["engines"]] == ["torch", "ctranslate2 float32", "ctranslate2 int8"]
    out = run("verify", *words)
    assert "right" in out
    assert "Verified on 2 texts" in out

    from pellucid.decode.engines.ctranslate2 import CTranslate2Engine

    monkeypatch.setattr(CTranslate2Engine, "logits", lambda *_: math.nan)
    assert "WRONG" in run("verify", *words, fails=1)


def test_models_shows_what_a_model_is(number_model: Path) -> None:
    about = run_json("models", "show", str(number_model))
    assert about["directions"] == ["en → de", "de → en"]
    assert about["config"]["d_model"] == 32
    assert "parameters" in run("models", "show", str(number_model))
    assert isinstance(run_json("models"), dict)
    with pytest.raises(UserError, match="pellucid models show NAME"):
        run("models", "list", "all", "of", "them")
