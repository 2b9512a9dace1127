from __future__ import annotations

from pathlib import Path

import pytest

from pellucid.config import ModelConfig
from pellucid.errors import UserError
from pellucid.model_directory.alignment_heads import FILE, AlignmentHeads

CONFIG = ModelConfig(vocabulary=600, heads=4, d_model=32, decoder_layers=3)


def test_they_come_back_as_they_were_saved(tmp_path: Path) -> None:
    assert AlignmentHeads.load(tmp_path, CONFIG) == AlignmentHeads(1, (0, 1, 2, 3))
    AlignmentHeads(2, (3, 0)).save(tmp_path)
    assert AlignmentHeads.load(tmp_path, CONFIG) == AlignmentHeads(2, (3, 0))


def test_a_model_of_one_layer_has_some_too() -> None:
    assert AlignmentHeads.default(CONFIG.changed(decoder_layers=1)).layer == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"layer": 3, "heads": [0]}',
        '{"layer": -1, "heads": [0]}',
        '{"layer": true, "heads": [0]}',
        '{"layer": 0, "heads": []}',
        '{"layer": 0, "heads": [4]}',
        '{"layer": 0, "heads": [1, 1]}',
        '{"layer": 0, "heads": ["1"]}',
        '{"layer": 0, "heads": 1}',
    ],
)
def test_a_damaged_file_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"alignment\.json"):
        AlignmentHeads.load(tmp_path, CONFIG)
