"""Engines agree with the reference, with each other, and with themselves whatever the batch."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.config import DecodeConfig
from pellucid.decode.engines import ComputeType, Engine, EngineName, open_engine
from pellucid.decode.engines.batches import SEARCH_TOKENS_PER_BATCH, equal_lengths
from pellucid.decode.engines.ctranslate2.convert import POSITIONS, convert
from pellucid.decode.engines.ctranslate2.engine import CTranslate2Engine
from pellucid.decode.hypotheses import Hypothesis, Sentence, StoppedError, search_tokens
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.alignment_heads import AlignmentHeads
from pellucid.model_directory.checksums import write_checksums
from pellucid.reference import Transformer
from pellucid.reference.taps import recording
from pellucid.text.batch import shifted
from pellucid.text.tokenizer import END

MakeModel = Callable[..., Path]

MODELS: list[dict[str, Any]] = [
    {},
    {"norm_place": "pre"},
    {"norm": "rms", "norm_place": "pre"},
    {"norm": "rms"},
    {"activation": "gelu"},
    {"activation": "silu"},
    {"activation": "swiglu"},
    {"positions": "rotary"},
    {"positions": "rotary", "position_layout": "halves"},
    {"positions": "none"},
    {"positions": "learned", "max_length": 40},
    {"position_layout": "halves"},
    {"kv_heads": 2},
    {"kv_heads": 1, "positions": "rotary"},
    {"tie": "none"},
    {"tie": "decoder"},
    {"output_bias": False},
    {"embedding_scale": False},
    {"embedding_norm": True},
    {"embedding_norm": True, "norm": "rms", "norm_place": "pre"},
    {"bias": False},
    {"encoder_layers": 1, "decoder_layers": 3},
]


def opened(directory: Path, name: EngineName, compute_type: ComputeType | None = "float32") -> Engine:
    """An engine, opened anew."""
    return open_engine(name, ModelDirectory(directory), compute_type)


def sentences(count: int, seed: int = 0, longest: int = 12, prefix: int = 0) -> list[Sentence]:
    rng = np.random.default_rng(seed)
    return [
        Sentence(
            (4, *rng.integers(5, 270, size=rng.integers(1, longest)).tolist(), END),
            tuple(rng.integers(5, 270, size=prefix).tolist()),
        )
        for _ in range(count)
    ]


def tokens(found: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], bool]]]:
    return [[(hypothesis.tokens, hypothesis.ended) for hypothesis in one] for one in found]


@pytest.mark.parametrize("values", MODELS, ids=lambda values: " ".join(map(str, values.values())) or "paper")
def test_the_converted_model_computes_the_same(make_model: MakeModel, values: dict[str, Any]) -> None:
    directory = make_model(**values)
    reference, fast = opened(directory, "reference"), opened(directory, "ctranslate2")
    for source, *_ in sentences(3):
        target = (7, 100, 30, 30, 200, END)
        expected = reference.logits(source, target)
        np.testing.assert_allclose(fast.logits(source, target), expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.proof
def test_every_combination_converts(make_model: MakeModel) -> None:
    axes: dict[str, list[Any]] = {
        "positions": ["sinusoidal", "learned", "rotary", "none"],
        "position_layout": ["interleaved", "halves"],
        "norm": ["layer", "rms"],
        "norm_place": ["pre", "post"],
        "activation": ["relu", "gelu", "silu", "swiglu"],
        "tie": ["all", "decoder", "none"],
        "kv_heads": [None, 2],
        "bias": [True, False],
    }
    for choice in itertools.product(*axes.values()):
        values = dict(zip(axes, choice, strict=True))
        test_the_converted_model_computes_the_same(make_model, values)


REQUESTS = [
    DecodeConfig(),
    DecodeConfig(strategy="greedy"),
    DecodeConfig(beam=3, n_best=3, length_penalty=0.0),
    DecodeConfig(beam=4, n_best=4, length_penalty=0.6, min_length=3),
    DecodeConfig(beam=3, n_best=2, length_penalty=1.6, repetition_penalty=1.3),
    DecodeConfig(beam=3, no_repeat_ngram=2, max_length=6),
    DecodeConfig(strategy="greedy", repetition_penalty=1.2, no_repeat_ngram=1, min_length=2),
    DecodeConfig(beam=3, n_best=3, length_penalty=-0.5),
    DecodeConfig(beam=2, min_length=50, no_repeat_ngram=3),
]


@pytest.mark.parametrize("prefix", [0, 1, 3])
@pytest.mark.parametrize("config", REQUESTS, ids=range(len(REQUESTS)))
def test_all_engines_find_the_same(make_model: MakeModel, config: DecodeConfig, prefix: int) -> None:
    directory = make_model()
    asked = sentences(8, longest=6, prefix=prefix)
    expected = opened(directory, "reference").search(asked, config)
    names: list[EngineName] = ["torch", "ctranslate2"]
    for name in names:
        found = opened(directory, name).search(asked, config)
        assert tokens(found) == tokens(expected), name
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose([h.score for h in one], [h.score for h in other], rtol=1e-4, atol=1e-5)


def test_torch_samples_what_the_reference_samples(make_model: MakeModel) -> None:
    directory = make_model()
    config = DecodeConfig(strategy="sample", seed=4, n_best=2, top_k=20, temperature=0.8)
    asked = sentences(8)
    assert tokens(opened(directory, "torch").search(asked, config)) == tokens(
        opened(directory, "reference").search(asked, config)
    )


def test_ctranslate2_samples_within_the_filters(make_model: MakeModel) -> None:
    directory = make_model()
    fast = opened(directory, "ctranslate2")
    asked = sentences(1) * 40
    firsts = {found[0].tokens[:1] for found in fast.search(asked, DecodeConfig(strategy="sample", top_k=2))}
    logits = opened(directory, "reference").logits(asked[0].source_ids, (END,))[0]
    best = {() if token == END else (int(token),) for token in np.argsort(-logits)[:2]}
    assert firsts <= best
    greedy = fast.search(asked[:1], DecodeConfig(strategy="greedy"))
    for certain in ({"temperature": 0.0}, {"top_p": 0.0}, {"top_k": 1}):
        config = DecodeConfig(strategy="sample", **certain)
        assert tokens(fast.search(asked[:1], config)) == tokens(greedy)
        [alike] = tokens(fast.search(asked[:1], config.changed(n_best=3)))
        assert alike == [tokens(greedy)[0][0]] * 3


@pytest.mark.parametrize(
    ("name", "compute_type"), [("ctranslate2", "int8"), ("ctranslate2", "float32"), ("torch", None)]
)
def test_neither_mates_nor_order_change_a_result(
    make_model: MakeModel, name: EngineName, compute_type: ComputeType | None
) -> None:
    engine = opened(make_model(), name, compute_type)
    asked = sentences(40, seed=1, longest=6) + sentences(6, seed=2, prefix=2)
    config = DecodeConfig(beam=3, n_best=2, max_length=12)
    alone = [engine.search([sentence], config)[0] for sentence in asked]
    for size, step in itertools.product([7, 64], [1, -1]):
        order = list(range(len(asked)))[::step]
        found: dict[int, list[Hypothesis]] = {}
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            found.update(zip(batch, engine.search([asked[place] for place in batch], config), strict=True))
        together = [found[place] for place in range(len(asked))]
        assert tokens(together) == tokens(alone)
        if name == "ctranslate2":
            assert together == alone  # bit for bit, the scores too


def test_scores_are_those_of_the_reference(make_model: MakeModel) -> None:
    directory = make_model()
    rng = np.random.default_rng(5)
    pairs = [(s.source_ids, (*rng.integers(5, 270, size=rng.integers(0, 6)).tolist(), END)) for s in sentences(12)]
    expected = opened(directory, "reference").score(pairs)
    names: list[EngineName] = ["torch", "ctranslate2"]
    for name in names:
        for found, right in zip(opened(directory, name).score(pairs), expected, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-4)


def test_a_found_hypothesis_scores_what_scoring_it_gives(make_model: MakeModel) -> None:
    engine = opened(make_model(), "reference")
    for sentence, [found] in zip(sentences(6), engine.search(sentences(6), DecodeConfig()), strict=True):
        if found.ended:
            [log_probs] = engine.score([(sentence.source_ids, (*found.tokens, END))])
            assert found.score == pytest.approx(log_probs.sum() / (len(found.tokens) + 1))


@pytest.mark.parametrize("name", ["reference", "torch", "ctranslate2"])
def test_tokens_are_shown_as_they_come(make_model: MakeModel, name: EngineName) -> None:
    engine = opened(make_model(), name)
    asked = sentences(5, prefix=1)
    shown: dict[int, list[int]] = {place: [] for place in range(5)}
    found = engine.search(
        asked, DecodeConfig(strategy="greedy"), on_token=lambda place, token: shown[place].append(token)
    )
    assert [(*asked[place].prefix, *shown[place]) for place in range(5)] == [one[0].tokens for one in found]


@pytest.mark.parametrize("name", ["reference", "torch", "ctranslate2"])
def test_the_token_callback_can_stop_a_search(make_model: MakeModel, name: EngineName) -> None:
    engine = opened(make_model(output_bias=False), name)
    seen: list[int] = []

    def on_token(_place: int, token: int) -> None:
        seen.append(token)
        if len(seen) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        engine.search(sentences(1), DecodeConfig(strategy="greedy"), on_token)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("reference", {}),
        ("torch", {}),
        ("torch", {"stopping": "exact", "n_best": 5, "length_penalty": 10.0}),
        ("reference", {"strategy": "greedy"}),
        ("torch", {"strategy": "sample", "n_best": 2}),
        ("ctranslate2", {"strategy": "greedy"}),
        ("ctranslate2", {"strategy": "sample", "n_best": 2}),
    ],
)
def test_a_search_ends_at_the_step_where_it_is_told_to_stop(
    make_model: MakeModel, name: EngineName, settings: dict[str, Any]
) -> None:
    engine = opened(make_model(output_bias=False), name)
    config = DecodeConfig(min_length=30, max_length=40, **settings)
    asked = sentences(1)
    calls: list[int] = []

    def stop_after(most: int) -> list[list[Hypothesis]]:
        calls.clear()
        return engine.search(asked, config, stop=lambda: calls.append(1) or len(calls) > most)  # type: ignore[func-returns-value]

    [found] = stop_after(10**9)
    assert len(calls) >= len(found[0].tokens) >= 30
    with pytest.raises(StoppedError):
        stop_after(10)
    assert len(calls) <= 10 + 2  # two samples, which CTranslate2 reports one after the other


@pytest.mark.parametrize(
    ("settings", "fewest"),
    [
        ({"beam": 5}, 4),
        ({"beam": 5, "max_length": 1024}, 22),  # 3 x 5 x 1,024 tokens are the most that fit
        ({"beam": 10, "max_length": 1024}, 64),
        ({"beam": 5, "min_length": 4000}, 64),
    ],
)
def test_long_and_wide_searches_ask_more_often_whether_to_stop(
    make_model: MakeModel, settings: dict[str, Any], fewest: int
) -> None:
    """CTranslate2 does not stop within a beam search: `stop` is asked between its batches, whose work is bounded."""
    engine = opened(make_model(), "ctranslate2", "int8")
    asked = [Sentence((4, 5, END))] * 64
    config = DecodeConfig(**settings)
    batches = engine._batches(asked, config)  # type: ignore[attr-defined]
    assert len(batches) >= fewest
    for batch in batches:
        assert len(batch.places) * search_tokens(asked[0], config) <= max(
            SEARCH_TOKENS_PER_BATCH, search_tokens(asked[0], config)
        )
    asked_to_stop: list[int] = []
    engine.search(asked[:4], config.changed(min_length=0, max_length=3), stop=lambda: bool(asked_to_stop.append(1)))  # type: ignore[func-returns-value]
    assert asked_to_stop
    with pytest.raises(StoppedError):
        engine.search(asked, config, stop=lambda: True)


@pytest.mark.parametrize("name", ["reference", "torch", "ctranslate2"])
def test_a_learned_table_bounds_the_target(make_model: MakeModel, name: EngineName) -> None:
    engine = opened(make_model(positions="learned", max_length=12, output_bias=False), name)
    asked = [Sentence((4, *range(20, 29), END))]
    assert all(len(one[0].tokens) <= 12 for one in engine.search(asked, DecodeConfig(beam=2)))


def test_what_ctranslate2_refuses(make_model: MakeModel) -> None:
    engine = opened(make_model(), "ctranslate2")
    assert not engine.unsupported(DecodeConfig(), 50)
    assert "seed" in engine.unsupported(DecodeConfig(strategy="sample", seed=1), 50)
    assert "stopping" in engine.unsupported(DecodeConfig(stopping="exact"), 50)
    assert str(POSITIONS) in engine.unsupported(DecodeConfig(), POSITIONS + 1)
    with pytest.raises(UserError, match="batch normalisation"):
        opened(make_model(norm="batch"), "ctranslate2")


def test_a_model_is_converted_once_and_known_by_its_weights(make_model: MakeModel, own_cache: Path) -> None:
    directory, asked = make_model(), sentences(1)
    opened(directory, "ctranslate2").search(asked, DecodeConfig())
    [made] = (own_cache / "ctranslate2").iterdir()
    before = (made / "model.bin").stat().st_mtime_ns
    opened(directory, "ctranslate2").search(asked, DecodeConfig())
    assert (made / "model.bin").stat().st_mtime_ns == before
    opened(make_model(seed=1), "ctranslate2").search(asked, DecodeConfig())
    opened(directory, "ctranslate2", "int8").search(asked, DecodeConfig())
    assert len(list((own_cache / "ctranslate2").iterdir())) == 3  # nothing half-made is left beside them


def test_what_ships_is_used_unless_another_type_is_asked_for(
    make_model: MakeModel, own_cache: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    convert(ModelDirectory(directory), directory / "ctranslate2", "int8")
    assert opened(directory, "ctranslate2", None).compute_type == "int8"
    assert not own_cache.exists()
    assert opened(directory, "ctranslate2", "float32").compute_type == "float32"
    assert own_cache.exists()


@pytest.mark.parametrize("marked", [True, False])
def test_what_ships_beside_other_weights_is_not_used(
    make_model: MakeModel, own_cache: Path, tmp_path: Path, marked: bool
) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    convert(ModelDirectory(directory), directory / "ctranslate2", "int8")
    if not marked:  # nothing says of which weights it was made
        (directory / "ctranslate2" / "weights.txt").unlink()
    shutil.copy(make_model(seed=1) / "model.safetensors", directory / "model.safetensors")
    asked = sentences(4)
    found = opened(directory, "ctranslate2", None).search(asked, DecodeConfig())
    assert found == opened(make_model(seed=1), "ctranslate2", "int8").search(asked, DecodeConfig())
    assert own_cache.exists()


def test_without_a_place_to_keep_it_the_model_is_converted_each_time(
    make_model: MakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PELLUCID_CACHE", str(tmp_path / "file" / "cache"))
    assert opened(make_model(), "ctranslate2").search(sentences(1), DecodeConfig())


def test_a_damaged_converted_model_is_reported_with_its_place(make_model: MakeModel, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(), directory)
    convert(ModelDirectory(directory), directory / "ctranslate2", "int8")
    whole = (directory / "ctranslate2" / "model.bin").read_bytes()
    (directory / "ctranslate2" / "model.bin").write_bytes(whole[:100])
    write_checksums(directory / "ctranslate2")  # without, it would be made anew
    with pytest.raises(UserError, match="delete it"):
        opened(directory, "ctranslate2", None).search(sentences(1), DecodeConfig())


def test_a_tokenizer_of_another_model_is_noticed(make_model: MakeModel, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(make_model(vocabulary=320), directory)
    with pytest.raises(UserError, match="do not belong together"):
        opened(directory, "ctranslate2").search(sentences(1), DecodeConfig())


def test_separate_vocabularies_convert(make_model: MakeModel) -> None:
    size = ModelDirectory(make_model()).config.vocabulary
    directory = make_model(source_vocabulary=size, target_vocabulary=size, tie="none")
    asked = sentences(5)
    assert tokens(opened(directory, "ctranslate2").search(asked, DecodeConfig())) == tokens(
        opened(directory, "reference").search(asked, DecodeConfig())
    )


def test_converting_and_translating_never_import_torch(make_model: MakeModel) -> None:
    program = """
import sys
from pellucid.config import DecodeConfig
from pellucid.decode.engines import open_engine
from pellucid.decode.hypotheses import Sentence
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.alignment_heads import AlignmentHeads
from pellucid.reference import Transformer
from pellucid.reference.taps import recording
from pellucid.text.batch import shifted
directory = ModelDirectory(sys.argv[1])
for name in ("ctranslate2", "reference"):
    open_engine(name, directory).search([Sentence((4, 20, 2))], DecodeConfig())
assert "torch" not in sys.modules
import torch  # it can still be imported afterwards
"""
    subprocess.run([sys.executable, "-c", program, str(make_model())], check=True)


def test_batches_hold_equal_lengths_and_everything_once() -> None:
    rng = np.random.default_rng(3)
    lengths = [(int(n),) for n in rng.integers(1, 400, size=500)]
    batches = list(equal_lengths(lengths, rows=8))
    assert sorted(place for batch in batches for place in batch) == list(range(500))
    for batch in batches:
        assert len({lengths[place] for place in batch}) == 1
        assert len(batch) <= 8


@pytest.mark.parametrize(
    ("count", "workers", "beam", "width", "sizes"),
    [
        (16, 2, 1, 32, [8, 8]),
        (16, 4, 1, 32, [8, 8]),
        (7, 2, 1, 32, [7]),
        (16, 1, 1, 32, [16]),
        (70, 2, 1, 32, [24, 23, 23]),
        (40, 2, 5, 32, [14, 13, 13]),
        (64, 2, 5, 256, [32, 32]),
    ],
)
def test_no_batch_has_more_than_a_workers_share_unless_that_is_little(
    count: int, workers: int, beam: int, width: int, sizes: list[int], make_model: MakeModel
) -> None:
    engine = opened(make_model(d_model=width), "ctranslate2", "int8")
    assert isinstance(engine, CTranslate2Engine)
    engine.workers = workers
    batches = engine._batches([Sentence((20, 21, END))] * count, DecodeConfig(beam=beam))
    assert [len(batch.places) for batch in batches] == sizes


def test_batches_of_one_length_are_about_the_same_size() -> None:
    assert [len(batch) for batch in equal_lengths([(4,)] * 35, rows=32)] == [18, 17]
    assert [len(batch) for batch in equal_lengths([(4,)] * 32, rows=32)] == [32]
    assert [len(batch) for batch in equal_lengths([(1024, 0)] * 5, rows=32)] == [2, 2, 1]  # 2,048 tokens at most


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_weights_in_half_precision_are_computed_with_in_full(
    make_model: MakeModel, tmp_path: Path, compute_type: ComputeType, capfd: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import load_file, save_file

    directory = tmp_path / "half"
    shutil.copytree(make_model(), directory)
    weights = load_file(directory / "model.safetensors")
    save_file({name: weight.astype(np.float16) for name, weight in weights.items()}, directory / "model.safetensors")
    asked = sentences(6)
    found = opened(directory, "ctranslate2", compute_type).search(asked, DecodeConfig())
    assert "float16" not in capfd.readouterr().err  # the library tells of every type it has to convert
    if compute_type == "float32":
        expected = opened(directory, "reference").search(asked, DecodeConfig())
        assert [best[0].tokens for best in found] == [best[0].tokens for best in expected]


@pytest.mark.parametrize(
    "values", [{}, {"kv_heads": 2, "bias": False}, {"norm_place": "pre", "decoder_layers": 3}], ids=str
)
def test_engines_align_by_the_chosen_heads(make_model: MakeModel, tmp_path: Path, values: dict[str, Any]) -> None:
    directory = shutil.copytree(make_model(**values), tmp_path / "model")
    AlignmentHeads(1, (3, 1)).save(directory)
    target = (7, 100, 30, 200, END)
    pairs = [(sentence, target) for sentence in sentences(4)]
    expected = []
    for sentence, _ in pairs:
        record: dict[str, Any] = {}
        ids = np.array([sentence.source_ids])
        model = Transformer.load(directory)
        model.forward(ids, np.ones(ids.shape, bool), np.array([shifted(target)]), recording(record))
        expected.append(record["decoder.layers.1.cross_attention.weights"][0, [1, 3]].mean(axis=0))
    for name in ("reference", "torch", "ctranslate2"):
        found = opened(directory, name).align(pairs)
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, wanted, atol=1e-4)


def test_the_order_of_heads_changes_no_translation(make_model: MakeModel, tmp_path: Path) -> None:
    """Heads are converted in another order, and what is added up is the same, bit for bit, in int8."""
    plain = make_model()
    chosen = shutil.copytree(plain, tmp_path / "model")
    AlignmentHeads(0, (2,)).save(chosen)
    found = [
        opened(directory, "ctranslate2", "int8").search(sentences(20), DecodeConfig()) for directory in (plain, chosen)
    ]
    assert tokens(found[0]) == tokens(found[1])
