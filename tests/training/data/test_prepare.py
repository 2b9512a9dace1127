"""The pairs of a run, found in the cache under any name of their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.config import DataConfig, FilterConfig, TrainConfig, preset
from pellucid.errors import UserError
from pellucid.training.data import prepare_data
from pellucid.training.run import Settings


def test_earlier_pairs_are_known_by_any_name_of_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan with relative names stores the pairs, and a run, which has full names, finds that store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "cache"))
    for name in ("new", "old"):
        lines = "".join(f"{name} {i}\t{name.upper()} {i}\n" for i in range(60))
        Path(f"{name}.tsv").write_text(lines, encoding="utf-8")
    relative = DataConfig(pairs="new.tsv", earlier_pairs="old.tsv", valid_pairs="new.tsv", earlier_share=0.25)
    for data in (relative, relative.absolute()):
        prepared = prepare_data(Settings(data, FilterConfig(), preset("tiny", vocabulary=300), TrainConfig()))
        assert len(prepared.train_pairs) == 60
        assert len(prepared.epoch_pairs(seed=1, epoch=0)) == 60 + 20  # a quarter is of earlier pairs


def test_a_file_whose_name_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(UserError, match="the name is not UTF-8"):
        DataConfig(source="/x/\udce9.en", target="/x/a.de")
