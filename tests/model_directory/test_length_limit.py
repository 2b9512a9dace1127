"""How long a source may be: as long as those a model learned from, outliers aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.model_directory import length_limit
from pellucid.model_directory.length_limit import (
    DEFAULT,
    MINIMUM,
    learn_length_limit,
    load_length_limit,
    save_length_limit,
)
from pellucid.text.corpus import Corpus
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import Tokenizer, Tokenizers

WORD = Tokenizer.learn(["aa"] * 9, 3 + 256 + 2)  # "aa aa aa" has a token a word


def corpus(words: list[int], folder: Path, source: str | None, target: str | None) -> Corpus:
    pairs = [Pair("aa " * (count - 1) + "aa", "aa", source, target) for count in words]
    return Corpus.build(pairs, Tokenizers(WORD, WORD), folder)


@pytest.mark.parametrize("rows", [7, 1 << 16])
def test_one_in_a_hundred_sentences_may_be_longer(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(length_limit, "ROWS_PER_BLOCK", rows)
    assert len(WORD.encode("aa aa aa")) == 3
    usual = [*[5] * 100, *[70] * 97]
    end = 1  # the end is a token too
    assert learn_length_limit(corpus([*usual, 90, 300], tmp_path / "two", "en", "de")) == 90 + end  # of 199
    assert learn_length_limit(corpus([*usual, 5, 5, 90, 300], tmp_path / "four", "en", "de")) == 70 + end  # of 201
    assert learn_length_limit(corpus([5] * 9, tmp_path / "short", "en", "de")) == MINIMUM


@pytest.mark.parametrize("codes", [(None, None), ("report", "summary")])
def test_what_is_not_a_language_is_cut_only_where_nothing_was_as_long(
    codes: tuple[str | None, str | None], tmp_path: Path
) -> None:
    assert learn_length_limit(corpus([*[5] * 200, 300], tmp_path / "long", *codes)) == 301
    assert learn_length_limit(corpus([5] * 9, tmp_path / "short", *codes)) == DEFAULT


def test_is_kept_with_the_model(tmp_path: Path) -> None:
    assert load_length_limit(tmp_path) == DEFAULT
    save_length_limit(tmp_path, 77)
    assert load_length_limit(tmp_path) == 77


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"longest_source": "9"}', '{"longest_source": true}', '{"longest_source": 7}']
)
def test_a_damaged_file_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "limits.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"limits\.json.*copy the model again"):
        load_length_limit(tmp_path)
