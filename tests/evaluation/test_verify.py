from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.decode.engines.ctranslate2.engine import CTranslate2Engine
from pellucid.evaluation.verify import verify
from pellucid.model_directory import ModelDirectory


def test_int8_stays_close(number_model: Path) -> None:
    [int8] = [engine for engine in verify(ModelDirectory(number_model)).engines if "int8" in engine.engine]
    assert int8.logit_gap < 0.1
    assert not int8.batch_changes


def test_verify_finds_a_wrong_engine(number_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    verification = verify(ModelDirectory(number_model), ["one two", "three"], "en", "de", reported.append)
    assert verification.holds
    assert verification.texts == 2
    assert "Verified on 2 texts" in verification.paragraph()
    assert reported == ["reference", *(engine.engine for engine in verification.engines)]
    real = CTranslate2Engine.logits
    monkeypatch.setattr(CTranslate2Engine, "logits", lambda self, *ids: real(self, *ids) * 1.001)
    assert not verify(ModelDirectory(number_model), ["one two"], "en", "de").holds
