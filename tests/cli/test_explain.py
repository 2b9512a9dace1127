"""`pellucid explain` as people and programs call it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import pellucid
from pellucid.cli.explain import explain
from pellucid.errors import UserError

MakeModel = Callable[..., Path]
app = typer.Typer()
app.command()(explain)


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_trace_is_that_of_python(make_model: MakeModel) -> None:
    printed = run("the cat sat", "--model", make_model(), "--from", "en", "--to", "de", "--json").stdout
    assert json.loads(printed) == pellucid.explain(make_model(), "the cat sat", "en", "de").to_dict()


def test_a_given_target_and_an_engine(make_model: MakeModel) -> None:
    words = ("--model", make_model(), "--to", "de", "--json", "--target-text", "ein Hund", "--engine", "reference")
    data = json.loads(run("the cat", *words).stdout)
    assert (data["given"], data["translation"], data["engine"]) == (True, "ein Hund", "reference")


def test_one_number_is_opened(make_model: MakeModel) -> None:
    name = "decoder.layers.0.cross_attention.weights"
    printed = run("the cat sat", "--model", make_model(), "--to", "de", "--cell", f"{name}.1.0.2").stdout
    trace = pellucid.explain(make_model(), "the cat sat", target="de")
    assert json.loads(printed) == trace.open(name, 1, 0, 2)
    assert json.loads(printed)["number"] == trace.values[name][1, 0, 2]
    for wrong in ("", "a.b", name, f"{name}.1.0", f"{name}.1.0.99"):
        with pytest.raises(UserError, match="cell"):
            run("the cat sat", "--model", make_model(), "--to", "de", "--cell", wrong)


def test_what_if(make_model: MakeModel) -> None:
    words = ("the cat sat", "--model", make_model(), "--to", "de", "--json")
    printed = run(*words, "--without", "encoder.1.head.2", "--without", "mask", "--intervene", "swap=0,1").stdout
    changes = ["encoder.1.head.2=0", "mask=0", "swap=0,1"]
    trace = pellucid.explain(make_model(), "the cat sat", target="de", intervene=changes)
    assert json.loads(printed) == trace.to_dict()
    assert trace.changed is not None
    cell = "encoder.layers.1.self_attention.heads.2.0.0"
    printed = run(*words, "--without", "encoder.1.head.2", "--cell", cell).stdout
    assert json.loads(printed)["number"] == 0
    assert json.loads(printed)["changed"] == ["encoder.layers.1.self_attention.head.2"]
    with pytest.raises(UserError, match=r"no part 'encoder\.7'"):
        run(*words, "--without", "encoder.7")


def test_prints_for_people(make_model: MakeModel) -> None:
    printed = run("the cat", "--model", make_model(), "--to", "de").stdout
    for heading in ("Tokens", "Alignment", "Steps", "Heads", "Beam"):
        assert f"\n{heading}" in printed


def test_reads_the_standard_input(make_model: MakeModel) -> None:
    data = json.loads(run("-", "--model", make_model(), "--to", "de", "--json", stdin=b"the \xff cat\n").stdout)
    assert data["text"] == "the \ufffd cat"


def test_writes_a_report_and_pictures(make_model: MakeModel, tmp_path: Path) -> None:
    html, png = tmp_path / "report.html", tmp_path / "pictures"
    model = make_model(encoder_layers=1, decoder_layers=1, heads=2)
    result = run("the cat", "--model", model, "--to", "de", "--html", html, "--png", png)
    assert result.stdout == ""
    assert html.read_text(encoding="utf-8") == pellucid.explain(model, "the cat", target="de").to_html()
    assert len(list(png.glob("*.png"))) == 5
    assert str(html) in result.stderr


def test_what_is_wrong_is_reported(make_model: MakeModel, tmp_path: Path) -> None:
    model = ("--model", make_model(), "--to", "de")
    with pytest.raises(UserError, match="cannot be written"):
        run("the cat", *model, "--html", tmp_path / "nowhere" / "report.html")
    with pytest.raises(UserError, match="engine: 'steam' is not a choice"):
        run("the cat", *model, "--engine", "steam")
    with pytest.raises(UserError, match="nothing to translate"):
        run("  ", *model)
    with pytest.raises(UserError, match="no model"):
        run("the cat", "--model", tmp_path / "nowhere")


def test_a_run_is_watched(tmp_path: Path) -> None:
    printed = run("--run", "dates").stdout
    for heading in ("Translations", "Probabilities", "Attention"):
        assert f"\n{heading}" in printed
    words = ("le 14 juillet 1989", "--run", "dates", "--target-text", "1989-07-14")
    learning = pellucid.watch("dates", "le 14 juillet 1989", target_text="1989-07-14")
    assert json.loads(run(*words, "--json").stdout) == learning.to_dict()
    assert run(*words, "--html", tmp_path / "page.html").stdout == ""
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == learning.to_html()


def test_one_step_of_a_run_is_explained_like_any_model() -> None:
    words = ("--run", "dates", "--step", "520")
    data = json.loads(run(*words, "--json").stdout)
    assert (data["model"], data["translation"], data["given"]) == ("dates, step 520", "2083-06-29", True)
    cell = "encoder.layers.0.self_attention.weights.1.2.3"
    opened = json.loads(run(*words, "--cell", cell).stdout)
    assert opened["number"] == pellucid.watch("dates").at(520).values[cell[:-6]][1, 2, 3]
    own = json.loads(run("3. Mai 2022", *words, "--json", "--without", "positions").stdout)
    assert own["text"] == "3. Mai 2022"
    assert not own["given"]
    assert own["changed"]["interventions"] == ["positions=0"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "TEXT: missing"),
        (("--run", "nowhere"), "nowhere: has no snapshots"),
        (("--run", "dates", "--step", "521"), r"no snapshot was kept at step 521 \(did you mean '520'"),
        (("--run", "dates", "--without", "mask"), "--without or --intervene: does not go with --run .add --step N"),
        (("--run", "dates", "--png", "x"), "--png: does not go with --run"),
        (("--run", "dates", "--model", "x"), "--model: does not go with --run .leave it out"),
        (("the cat", "--step", "3"), "--step: goes with --run alone"),
    ],
)
def test_what_does_not_go_with_a_run(words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        run(*words)


def test_needs_no_torch(make_model: MakeModel) -> None:
    program = (
        "import sys\nsys.modules['torch'] = sys.modules['matplotlib'] = None\nfrom pellucid.cli import main\nmain()"
    )
    words = ["explain", "the cat", "--model", str(make_model()), "--to", "de"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Beam" in done.stdout
