"""The pictures: all there, all readable as PNG, for any text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.tracing import explain
from pellucid.tracing.pictures import figures as pictures

MakeModel = Callable[..., Path]
NAMES = {
    "encoder-self-attention.png",
    "decoder-self-attention.png",
    "decoder-cross-attention.png",
    "alignment.png",
    "beam.png",
}


def test_writes_every_picture(make_model: MakeModel, tmp_path: Path) -> None:
    small = make_model(encoder_layers=1, decoder_layers=1, heads=2)
    trace = explain(
        small, "the cat $x^{ costs \\frac $5", "en", "de", target_text="$x^{ $5"
    )  # no formula, whatever it looks like
    written = pictures.draw(trace, tmp_path / "new" / "folder")
    assert {path.name for path in written} == NAMES == {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    for path in written:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = (int.from_bytes(data[start : start + 4], "big") for start in (16, 20))
        assert min(width, height) > 300


def test_every_head_of_every_layer_is_drawn(make_model: MakeModel) -> None:
    trace = explain(make_model(encoder_layers=3), "the cat", "en", "de")
    figure = pictures._heads(trace, "encoder.self_attention")
    assert [plot.get_title().split(":")[0] for plot in figure.axes] == [
        f"layer {layer}, head {head}" for layer in range(3) for head in range(4)
    ]
    for layer in range(3):
        drawn = figure.axes[4 * layer + 2].images[0].get_array()
        assert drawn is not None
        assert (drawn == trace.weights("encoder.self_attention", layer)[2]).all()


def test_without_matplotlib_it_says_what_to_install(
    make_model: MakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = explain(make_model(), "the cat", "en", "de")
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pellucid\[plot\]"):
        pictures.draw(trace, tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(make_model: MakeModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        pictures.draw(explain(make_model(), "the cat", "en", "de"), tmp_path / "file")
