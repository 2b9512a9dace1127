"""How a model learned a sentence, in the terminal: every kept step, in any width and encoding."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from pellucid.terminal.learning import print_learning
from pellucid.tracing.learning import Learning, watch


@pytest.fixture(scope="module")
def learning() -> Learning:
    return watch("dates")


def shown(learning: Learning, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_learning(learning, Console(file=stream, width=width, highlight=False))
    stream.flush()
    stream.seek(0)
    return stream.read()


def test_every_step_has_its_loss_translation_probabilities_and_attention(learning: Learning) -> None:
    translations, probabilities, attention = shown(learning).split("\n\n")[1:]
    for moment in learning.moments:
        ending = "" if moment.ended else "…"
        assert f"{moment.step:,}  {moment.loss:.3f}  {moment.translation}{ending}" in translations
        row = next(line for line in probabilities.splitlines() if line.split()[:1] == [f"{moment.step:,}"])
        percents = [int(word) for word in row.split()[1:] if word.isdigit()]
        assert percents == [round(100 * each) for each in moment.probabilities]
        row = next(line for line in attention.splitlines() if line.split()[:1] == [f"{moment.step:,}"])
        best = learning.at(moment.step).source_tokens[int(moment.alignment[0].argmax())].text
        assert best.startswith(row.split()[1].rstrip("…"))


@pytest.mark.parametrize("width", [30, 60, 120])
def test_fits_the_terminal(learning: Learning, width: int) -> None:
    assert all(cell_len(line.rstrip()) <= width for line in shown(learning, width).splitlines())


def test_says_what_was_left_out(learning: Learning) -> None:
    assert "; the first 5 of 12" in " ".join(shown(learning, 54).split())


def test_prints_where_the_encoding_is_not_unicode(learning: Learning) -> None:
    assert "2083-06-29" in shown(learning, encoding="ascii")
