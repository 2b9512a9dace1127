"""The benchmarks work: their arithmetic by hand, their workers by a small one, the cheap ones from end to end."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as everything
from benchmarks import corpora, quality, results, works
from benchmarks.decoding import BATCHES, fastest, part, search, try_out
from benchmarks.harness import PICTURES, RESULTS, ROOT, Goal, Report, Spread, drawn, interleave, options, ratios, spread
from benchmarks.peers.channel import Channel
from benchmarks.peers.gate import Gate
from benchmarks.peers.job import Job
from benchmarks.peers.sizes import Lengths, fitting_size, lengths
from benchmarks.peers.worker import Worker
from benchmarks.training import ALLOCATOR, MATMUL, PELLUCID, USERS, Rates, report
from benchmarks.translators import Setting, model_options, models
from pellucid.config import DEFAULT_MODEL, ModelConfig
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.text.batch import Batch
from pellucid.training.loop import updates
from pellucid.training.run import Run, Settings
from pellucid.training.state import begin


def test_a_spread_is_median_lowest_and_highest() -> None:
    assert spread([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0)
    assert f"{Spread(1.234, 1.0, 2.0):.2f}" == "1.23 (1.00 to 2.00)"


def test_ratios_are_taken_round_by_round() -> None:
    assert ratios([2.0, 30.0, 4.0], [1.0, 10.0, 4.0]) == Spread(2.0, 1.0, 3.0)


def test_contenders_take_turns_and_the_first_round_does_not_count() -> None:
    calls = []

    def contender(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    figures = interleave({"a": lambda: contender("a"), "b": lambda: contender("b")}, rounds=2)
    assert calls == ["a", "b"] * 3
    assert figures == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_quick_figures_are_kept_apart() -> None:
    parser = options("some benchmark")
    assert parser.parse_args([]).out != parser.parse_args(["--quick"]).out
    assert parser.parse_args(["--out", "mine", "--quick"]).out == Path("mine")


def test_only_the_pictures_of_real_results_are_among_the_documents(tmp_path: Path) -> None:
    assert drawn(RESULTS, "cold_start") == PICTURES / "bench-cold-start.png"
    assert drawn(tmp_path, "cold_start") == tmp_path / "bench-cold-start.png"


def test_models_are_handed_on_to_the_benchmarks_that_translate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = {}

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started[command[2]] = command[3:]
        return subprocess.CompletedProcess(command, 0)

    common = ["--quick", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *common, "--model", "a", "--model=b"])
    monkeypatch.setattr(subprocess, "run", run)
    assert everything.main() == 0
    assert (
        started.pop("benchmarks.decoding")
        == started.pop("benchmarks.latency")
        == started.pop("benchmarks.robustness")
        == [*common, "--model", "a", "--model=b"]
    )
    assert {tuple(arguments) for arguments in started.values()} == {tuple(common)}
    assert (tmp_path / "RESULTS.md").exists()


def test_goals_know_which_way_is_better() -> None:
    figure = Spread(2.0, 1.0, 3.0)
    assert Goal("speed", figure, 1.5).reached
    assert not Goal("speed", figure, 2.5).reached
    assert Goal("memory", figure, 2.5, less_is_better=True).reached
    assert not Goal("memory", figure, 1.5, less_is_better=True).reached


def test_a_report_becomes_json_and_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = ["--model=/a/folder/there", "--out=~/it", "--rounds=2", "--work", "tiny"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/speed.py", "--data", "/a/folder/here", *more])
    goals = [
        Goal("times the other", Spread(2.0, 1.0, 3.0), 2.5, 4.0),
        Goal("how good", Spread(41.02, 41.02, 41.02), 41.0, unit="BLEU"),
    ]
    Report("speed", "Speed", ("who", "how fast"), [["we", "2"], ["they", "1"]], {"ours": [2.0]}, goals).save(tmp_path)
    written = (tmp_path / "speed.json").read_text(encoding="utf-8")
    assert json.loads(written)["figures"] == {"ours": [2.0]}
    assert json.loads(written)["command"] == (
        "python -m benchmarks.speed --data DIR --model=DIR --out=DIR --rounds=2 --work tiny"
    )

    results.write(tmp_path)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert "| times the other | 2.5 x | 4 x | 2.00 x (1.00 to 3.00) | no |" in page
    assert "| how good | 41 BLEU |  | 41.02 BLEU | yes |" in page  # measured once: no spread
    assert "| they | 1 |" in page
    assert "/a/folder" not in page + written


def test_settings_are_tried_in_turns_and_one_far_behind_only_once() -> None:
    settings = [Setting(batch=size) for size in (1, 2, 3)]
    trials = {settings[0]: [90.0, 100.0, 20.0], settings[1]: [49.0], settings[2]: [100.0, 70.0, 80.0]}
    left = {setting: iter(figures) for setting, figures in trials.items()}
    asked: list[Setting] = []
    rates = try_out(settings, lambda setting: asked.append(setting) or next(left[setting]))  # type: ignore[func-returns-value]
    assert rates == dict(zip(settings, (90.0, 49.0, 80.0), strict=True))  # medians: one lucky trial decides nothing
    assert asked == [*settings, settings[0], settings[2], settings[0], settings[2]]
    assert fastest(rates) == settings[0]


def test_batches_are_tried_with_the_best_weights_and_threads() -> None:
    def rate(setting: Setting, sentences: int) -> float:
        assert 0 < sentences < 1000
        return (setting.compute_type == "float32") + 2 * (setting.workers == 1) + 1 / setting.batch

    opened, batches = search(threads=3, rate=rate)
    assert {(each.workers, each.threads) for each in opened} == {(1, 3), (3, 1)}
    assert fastest(opened) == replace(fastest(opened), compute_type="float32", workers=1, threads=3)
    assert [(each.batch, each.batch_type) for each in batches] == BATCHES
    assert {(each.compute_type, each.workers) for each in batches} == {("float32", 1)}
    assert fastest(batches).batch == min(size for size, _ in BATCHES)


def test_a_part_of_the_sentences_is_spread_over_all_of_them() -> None:
    assert part(10, least=3) == [0, 3, 6, 9]
    assert part(10, least=8) == part(10, least=50) == list(range(10))
    job = Job(model="", shape={}, float32="", source=None, target=None, tag=[], texts=["a", "b", "c"], threads=1)
    assert job.asked({"places": [2, 0]}) == ["c", "a"]
    assert job.asked({}) == ["a", "b", "c"]


def test_two_models_of_one_shape_are_told_apart() -> None:
    path = ModelDirectory.find(DEFAULT_MODEL).path
    same = [DEFAULT_MODEL, str(path)]
    named = models(options(None, parents=[model_options()]).parse_args([f"--model={name}" for name in same]))
    assert [model.path for model in named.values()] == [path] * 2


def test_generated_text_has_the_shape_that_is_asked_for() -> None:
    shape = replace(corpora.MULTI30K, source_types=500, target_types=900)
    source, target = corpora.generate(shape, 5000)
    assert (source, target) == corpora.generate(shape, 5000)
    words = [len(line.split()) - 1 for line in source]  # without the full stop
    assert len(source) == len(target) == 5000
    assert np.median(words) == pytest.approx(shape.words, abs=0.6)
    assert np.std(np.log(words)) == pytest.approx(shape.spread, abs=0.03)
    assert sum(len(line.split()) - 1 for line in target) / sum(words) == pytest.approx(shape.target_length, abs=0.01)
    assert len({word for line in source for word in line.split()}) == shape.source_types + 1
    assert len({word for line in target for word in line.split()}) == pytest.approx(shape.target_types, abs=10)


def test_corpora_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "multi30k-tok").mkdir()
    for language, lines in (("en", ["one", "two", "three"]), ("de", ["eins", "zwei", "drei"])):
        with gzip.open(tmp_path / "multi30k-tok" / f"train.{language}.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    assert corpora.multi30k(tmp_path) == (["one", "two", "three"], ["eins", "zwei", "drei"])
    assert corpora.multi30k(tmp_path, 2) == (["one", "two"], ["eins", "zwei"])
    with pytest.raises(UserError, match="europarl"):
        corpora.europarl(tmp_path)


def test_the_operations_of_a_token_are_those_counted_by_hand() -> None:
    model = ModelConfig(vocabulary=11, d_model=4, heads=2, feed_forward=6, encoder_layers=2, decoder_layers=3)
    batch = Batch.from_ids([[5, 6, 2], [7, 2]], [[8, 9, 10, 2], [2]])  # 5 source and 5 target tokens
    attention, feed_forward = 4 * 4 * 4, 2 * 4 * 6
    source = 5 * 2 * (attention + feed_forward)
    # cross-attention makes keys and values of the source tokens, queries and output of the target tokens
    source += 5 * 3 * 2 * 4 * 4
    target = 5 * (3 * (attention + 2 * 4 * 4 + feed_forward) + 4 * 11)
    keys = 2 * (3 * 3 + 2 * 2) + 3 * ((1 + 2 + 3 + 4) + 1) + 3 * (4 * 3 + 1 * 2)
    assert works.flop_a_token(model, [batch]) == pytest.approx(6 * (source + target + keys * 2 * 4) / 10)


def test_training_is_held_against_the_best_peer_in_each_way() -> None:
    users = Rates(
        {MATMUL: [100.0, 200.0, 100.0], PELLUCID: [60.0, 80.0, 60.0], "A": [50.0, 10.0, 10.0], "B": [20.0] * 3}
    )
    kept = Rates({MATMUL: [100.0], PELLUCID: [60.0], "A": [40.0], "B": [30.0]}, left_out=["C"])
    found = report(works.TINY, {USERS: users, ALLOCATOR: kept}, flop=1e9)
    assert [row[0] for row in found.rows] == [PELLUCID, "B", "A", "A", "B", "C"]  # the fastest first, by its median
    best, best_kept, share = found.goals
    assert best.figure == Spread(3.0, 3.0, 4.0)
    assert best_kept.figure == Spread(1.5, 1.5, 1.5)
    assert share.figure == Spread(60.0, 40.0, 60.0)  # percent
    assert found.rows[-1] == ["C", ALLOCATOR, "did not run", ""]
    assert best.what.endswith("(B)")
    assert best_kept.what.endswith("(A; did not run: C)")


def test_peers_with_batches_of_their_own_get_as_many_real_tokens_an_update(tmp_path: Path) -> None:
    for side, line in (("source", "a b c\n"), ("target", "a b c d e\n")):
        (tmp_path / f"pieces.{side}").write_text(line * 100, encoding="utf-8")
    pairs = lengths(tmp_path)
    assert pairs == [(3, 5)] * 100

    def cut(size: int) -> Iterator[list[Lengths]]:
        rows = max(1, size // 6)  # of a target and its end
        yield from (pairs[start : start + rows] for start in range(0, 96, rows))

    # a pair has 10 tokens with both ends: 4 pairs have 40, and 30 is the first size that takes 5
    assert fitting_size(40, cut) == 29


class Line(Channel):
    """A channel without a process: requests are given, answers are kept."""

    def __init__(self, requests: list[Any]) -> None:
        self.given, self.answers = requests, list[Any]()

    def requests(self) -> Iterator[Any]:
        yield from self.given

    def answer(self, answer: Any) -> None:
        self.answers.append(answer)


def test_the_gate_opens_for_as_many_updates_as_are_asked_for() -> None:
    line = Line([{"updates": 2}, {"updates": 3}, {"updates": 1}])
    gate = Gate(line)
    answered = []
    for update in range(6):
        gate.pass_through(100 * update)  # 100 tokens each
        answered.append(len(line.answers))
    assert answered == [0, 0, 1, 1, 1, 2]
    assert [answer["tokens"] for answer in line.answers] == [200, 300]


ECHO = """
from benchmarks.peers.channel import Channel
channel = Channel()
print("this does not disturb")
for request in channel.requests():
    channel.answer({"twice": 2 * request, "threads": __import__("os").environ["OMP_NUM_THREADS"]})
"""


def test_a_worker_answers_what_it_is_asked_and_says_why_it_died(tmp_path: Path) -> None:
    (tmp_path / "echo_worker.py").write_text(ECHO, encoding="utf-8")
    with Worker(sys.executable, "echo_worker", threads=3, environment={"PYTHONPATH": str(tmp_path)}) as worker:
        assert worker.ask(21) == {"twice": 42, "threads": "3"}
        assert worker.ask("ab")["twice"] == "abab"
        with pytest.raises(UserError, match="TypeError"):
            worker.ask(None)


def test_peers_are_fed_the_batches_that_pellucid_trains_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.peers.array_batches import batches

    monkeypatch.setattr(works, "CACHE", tmp_path)
    model = ModelConfig(vocabulary=300, d_model=8, heads=2, feed_forward=8, encoder_layers=1, decoder_layers=1)
    work = replace(works.TINY, model=model, quick_pairs=200, batch_tokens=400)
    folder = works.lay_out(work, None, count=60, threads=1, quick=True)
    data = works.prepared_data(folder, work, threads=1)
    training = begin(Run(tmp_path / "run"), data, data.with_vocabulary(model), work.train_config(1), None)
    given = batches(folder)
    for _, [batch] in zip(range(60), updates(training), strict=False):  # more than an epoch
        tensors = next(given)
        for name in tensors._fields:
            np.testing.assert_array_equal(getattr(batch, name), getattr(tensors, name).numpy())

    for side in ("source", "target"):
        pieces = (folder / f"pieces.{side}").read_text(encoding="utf-8").splitlines()
        known = set((folder / "pieces.vocabulary").read_text(encoding="utf-8").splitlines())
        assert len(pieces) == len(data.train_pairs)
        assert {piece for line in pieces for piece in line.split(" ")} <= known


@pytest.mark.parametrize("name", ["training_memory"])
def test_a_quick_benchmark_runs(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--threads", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    assert len(list(tmp_path.glob("bench-*.png"))) == 1


def test_only_runs_that_differ_by_their_seed_are_averaged(tmp_path: Path) -> None:
    settings = Settings.of({"data": {"pairs": "a.tsv"}, "train": {"steps": 5}})
    runs, qualities = [], []
    for name, change, score in (
        ("a", {"seed": 1}, 1.0),
        ("b", {"seed": 2, "validate_every": 7}, 3.0),
        ("c", {"steps": 6}, 50.0),
    ):
        run = Run(tmp_path / name)
        run.directory.mkdir()
        run.write(replace(settings, train=settings.train.changed(**change)))
        runs.append(quality.Trained(run))
        scores = dict.fromkeys(("valid", "test", "test_int8", "test_unchosen", "chance"), score)
        about = {"run": name, "corpus": "texts", "seed": 1, "parameters": 1, "updates": 1, "signature": ""}
        qualities.append(quality.Quality(**about, minutes=1.0, length_penalty=1.0, grid={}, **scores))  # type: ignore[arg-type]
    [line] = quality.averages(runs, qualities)
    assert line[0] == "a: mean ± deviation"
    assert line[-1] == "2.00 ± 1.41"  # the sample deviation of 1 and 3 is the square root of 2
    assert not quality.goals(runs, qualities)  # of other text than the published figure is of
    tokenised = [replace(each, corpus=quality.TOKENISED) for each in qualities]
    goals = quality.goals(runs, tokenised)
    assert [(goal.what, goal.figure.median, goal.reached) for goal in goals if "BLEU" in goal.what] == [
        ("a: BLEU on test_2016_flickr", 2.0, False),
        ("c: BLEU on test_2016_flickr", 50.0, True),
    ]


def test_minutes_of_earlier_runs_count_for_the_run_that_stands_on_them(tmp_path: Path) -> None:
    for name, seconds in (("start", 60), ("teacher", 120)):
        run = Run(tmp_path / name)
        run.model.mkdir(parents=True)
        run.log(step=1, loss=1.0, seconds=seconds)
    earlier = f"{tmp_path / 'start'},{tmp_path / 'teacher'}"
    found = quality.earlier_runs([f"student={earlier}"], ["student", "other"])
    student = Run(tmp_path / "student")
    student.model.mkdir(parents=True)
    student.log(step=1, loss=1.0, seconds=60)
    assert list(found) == ["student"]
    assert quality.Trained(student, found["student"]).minutes == 4.0
    for wrong in ("start", f"nobody={earlier}", "student="):
        with pytest.raises(UserError, match="names none of the runs"):
            quality.earlier_runs([wrong], ["student"])
    with pytest.raises(UserError, match="no finished run"):
        quality.earlier_runs([f"student={tmp_path / 'nowhere'}"], ["student"])
