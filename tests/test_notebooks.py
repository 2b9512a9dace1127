"""The notebooks of examples/: each runs as it is, and what is committed in it is what its cells show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.decode.translation import Translation
from pellucid.errors import UserError
from pellucid.notebook import CHARACTERS
from pellucid.tracing import Learning, Trace, explain, watch
from pellucid.training.run import Run
from scripts.notebooks import EXAMPLES, code_of, notebooks, read, run

MOST_BYTES = 200_000
ATTACK = "<script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'&"


def kinds(outputs: list[dict[str, Any]]) -> list[list[str]]:
    return [sorted(output.get("data", {"stream": ""})) for output in outputs]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_committed_outputs_are_of_their_cells(path: Path) -> None:
    notebook = read(path)
    found = run(notebook)
    assert [kinds(outputs) for outputs in found] == [kinds(cell["outputs"]) for cell in code_of(notebook)]
    shown = json.dumps(found)
    assert "Error" not in shown.replace("HTTPError", "")


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_is_whole_small_and_its_links_lead_somewhere(path: Path) -> None:
    notebook = read(path)
    assert path.stat().st_size <= 300_000
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    text = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert text.startswith("# ")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert all((EXAMPLES / link).is_file() for link in links), links
    assert not re.search(r"/(home|root|tmp|work)/", json.dumps(notebook))


def test_there_are_six_notebooks_and_the_readme_has_them_all() -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert len(notebooks()) == 6
    assert [path.name for path in notebooks() if f"examples/{path.name}" not in readme] == []


@pytest.fixture(scope="module")
def longest(make_model: Callable[..., Path]) -> Trace:
    text, target = f"{ATTACK} the cat sat on the mat", f"{ATTACK} " + "ein Hund lief zum Haus " * 6
    trace = explain(make_model(), text, "en", "de", target_text=target, intervene=["mask=0"])
    return replace(trace, notes=(ATTACK * 100,) * 100)


@pytest.fixture(scope="module")
def learning() -> Learning:
    return watch("dates", "3. Mai 2022", target_text=ATTACK[:30])


def test_a_trace_is_short_in_a_notebook_however_long_it_is(longest: Trace) -> None:
    assert len(longest.target_out) > 100
    assert len(repr(longest)) < 250
    page = longest._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert "<script" not in page
    assert "<img" not in page
    for step in longest.steps[:32]:
        assert f"{step.chosen.probability:.1%}" in page
    assert "the first 32 tokens" in page


def test_a_learning_is_short_in_a_notebook(learning: Learning) -> None:
    assert len(repr(learning)) < 250
    assert len(repr(learning.moments[0])) < 150
    page = learning._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert "<img" not in page
    for moment in learning.moments:
        assert f"{moment.step:,}</td>" in page
        assert f"{moment.loss:.3f}" in page


def test_a_translation_is_short_in_a_notebook() -> None:
    other = Translation(ATTACK * 1000, -1.25, ())
    page = Translation(ATTACK * 1000, -0.5, (), (other,) * 500, "en", "de", (ATTACK * 1000,) * 500)._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert "<img" not in page
    assert "-0.500" in page
    assert "-1.250" in page
    assert len(Translation("a" * 5000, float("nan"), ())._repr_html_()) < CHARACTERS + 1000


def test_a_run_is_short_in_a_notebook(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert "nothing trained yet" in run._repr_html_()
    with pytest.raises(UserError, match="nothing was trained yet"):
        run.plot()
    for step in range(1, 20_001):
        run.log(step=step, loss=6 / step, learning_rate=1e-3, tokens_per_second=1000, seconds=step / 10)
        if step % 100 == 0:
            run.log(step=step, valid_loss=5 / step, perplexity=1.5, bleu=step / 1000, chrf=None, exact_match=None)
    page = run._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert "20,000 steps in 33.3 minutes" in page
    assert "<svg" in page
    assert f"{5 / 20_000:.4g}" in page


@pytest.mark.parametrize("what", ["alignment", "beam", "encoder.self_attention"])
def test_a_trace_is_plotted(what: str) -> None:
    trace = watch("dates").at(520)
    figure = trace.plot(what)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    if what == "alignment":
        drawn = figure.axes[0].images[0].get_array()
        assert drawn is not None
        assert (drawn == trace.alignment).all()


def test_a_learning_is_plotted(learning: Learning) -> None:
    losses, shares = learning.plot().axes
    assert np.asarray(losses.lines[0].get_ydata()).tolist() == [moment.loss for moment in learning.moments]
    drawn = shares.images[0].get_array()
    assert drawn is not None
    assert drawn[3].tolist() == [moment.probabilities[3] for moment in learning.moments]


def test_what_cannot_be_plotted_is_said(longest: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no picture 'heads'"):
        longest.plot("heads")
    for module in ("pellucid.tracing.pictures.figures", "pellucid.training.run.directory"):
        monkeypatch.setattr(f"{module}.find_spec", lambda _: None)
    for plot in (longest.plot, pellucid.watch("dates").plot, Run(tmp_path).plot):
        with pytest.raises(UserError, match=r"matplotlib is not installed .*pellucid\[plot\]"):
            plot()
