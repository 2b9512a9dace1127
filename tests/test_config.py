from __future__ import annotations

import json
import tomllib
from dataclasses import FrozenInstanceError, fields
from math import inf, nan
from typing import Any, cast

import pytest

from pellucid.config import (
    PRESETS,
    DataConfig,
    DecodeConfig,
    FilterConfig,
    ModelConfig,
    ServeConfig,
    TrainConfig,
    preset,
)
from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, parse_settings, parse_value, required, setting
from pellucid.model_directory.shapes import weight_shapes

CONFIGS: tuple[type[Config], ...] = (ModelConfig, TrainConfig, DecodeConfig, FilterConfig, ServeConfig)


def problems(kind: type[Config] = ModelConfig, **values: Any) -> list[Problem]:
    with pytest.raises(UserError) as caught:
        kind(**values)
    return caught.value.problems


def parameters(config: ModelConfig) -> int:
    total = 0
    for name, shape in weight_shapes(config).items():
        if "running" not in name:
            size = 1
            for side in shape:
                size *= side
            total += size
    return total


# --- what is right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_field_is_documented_and_every_default_is_right(kind: type[Config]) -> None:
    kind()
    assert all(setting.help for setting in kind.settings().values())


def test_names_of_the_model_and_of_training_are_distinct() -> None:
    model, train = ({spec.name for spec in fields(cast(Any, kind))} for kind in (ModelConfig, TrainConfig))
    assert not model & train


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(),
        ModelConfig(source_vocabulary=10, target_vocabulary=20, tie="none", kv_heads=2, positions="rotary"),
        TrainConfig(minutes=2, patience=3),
        DecodeConfig(strategy="sample", top_k=5, top_p=0.9, temperature=0.7),
    ],
)
def test_to_dict_and_back(config: Config) -> None:
    values = config.to_dict()
    assert None not in values.values()
    assert type(config)(**values) == config
    assert type(config)(**json.loads(json.dumps(values))) == config


def test_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ModelConfig().d_model = 5  # type: ignore[misc]


def test_whole_numbers_stand_for_floats() -> None:
    config = ModelConfig(dropout=0)
    assert isinstance(config.dropout, float)
    assert isinstance(DecodeConfig(length_penalty=1).length_penalty, float)  # the default, but for its type
    assert all(
        isinstance(spec.default, float)
        for kind in CONFIGS
        for spec in fields(cast(Any, kind))
        if str(spec.type) == "float"
    )


def test_changed_checks_the_whole() -> None:
    assert ModelConfig().changed(heads=4).d_head == 128
    with pytest.raises(UserError, match="not divisible"):
        ModelConfig().changed(heads=7)


def test_sizes_that_follow_from_others() -> None:
    config = ModelConfig(d_model=768, heads=12, kv_heads=3, vocabulary=100)
    assert (config.d_head, config.key_heads, config.source_tokens, config.target_tokens) == (64, 3, 100, 100)
    assert ModelConfig().key_heads == 8
    sides = ModelConfig(source_vocabulary=10, target_vocabulary=20, tie="decoder")
    assert (sides.source_tokens, sides.target_tokens) == (10, 20)
    with pytest.raises(UserError, match="vocabulary: not given"):
        _ = ModelConfig().source_tokens


# --- presets ------------------------------------------------------------------------------------------------------


def test_the_models_of_the_paper_have_their_parameters() -> None:
    assert parameters(preset("base", vocabulary=37_000)) == 63_082_496
    assert parameters(preset("big", vocabulary=37_000)) == 214_245_376


def test_base_counted_by_hand() -> None:
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 512 * 2048 + 2048 + 2048 * 512 + 512, 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert 37_000 * 512 + 6 * (encoder + decoder) == 63_082_496


@pytest.mark.parametrize(("vocabulary", "millions"), [(8_000, 9.9), (10_000, 10.5), (16_000, 12.0)])
def test_small_is_about_ten_million(vocabulary: int, millions: float) -> None:
    assert parameters(preset("small", vocabulary=vocabulary)) / 1e6 == pytest.approx(millions, abs=0.1)


def test_tiny() -> None:
    config = preset("tiny", vocabulary=1000)
    assert (config.encoder_layers, config.decoder_layers) == (4, 4)
    assert (config.d_model, config.feed_forward, config.heads) == (128, 256, 4)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_changed(name: str) -> None:
    assert preset(name, norm="rms", d_model=64).d_model == 64


def test_an_unknown_preset() -> None:
    with pytest.raises(UserError, match="did you mean 'base'"):
        preset("bass")
    with pytest.raises(UserError, match="known: tiny, small, base, big"):
        preset("enormous")


# --- what is wrong ------------------------------------------------------------------------------------------------


def test_an_unknown_key_names_its_value_and_the_nearest() -> None:
    assert problems(d_modl=512) == [Problem("unknown key (value 512)", "d_modl", "did you mean 'd_model'?")]
    assert "known: vocabulary," in problems(zzzzz=1)[0].remedy


def test_all_problems_come_at_once() -> None:
    found = problems(d_modl=512, heads=7, kv_heads=2, dropout=3, norm="layre", tie="all", source_vocabulary=9)
    assert [problem.where for problem in found] == [
        "d_modl",
        "norm",
        "dropout",
        "d_model",
        "kv_heads",
        "target_vocabulary",
        "tie",
    ]
    assert all(problem.remedy for problem in found)


@pytest.mark.parametrize(
    ("values", "where", "what", "remedy"),
    [
        ({"heads": 7}, "d_model", "512 is not divisible by heads 7", "heads=8"),
        ({"d_model": 12, "heads": 4, "positions": "rotary"}, "positions", "even head size, not 3", "even"),
        ({"d_model": 9, "heads": 3}, "d_model", "even d_model, not 9", "add 1"),
        ({"kv_heads": 3}, "kv_heads", "not divisible by it (3)", "divisor of heads"),
        ({"source_vocabulary": 9, "tie": "none"}, "target_vocabulary", "missing", "give both"),
        (
            {"vocabulary": 9, "source_vocabulary": 9, "target_vocabulary": 9, "tie": "none"},
            "vocabulary",
            "beside a vocabulary for each side",
            "one or the other",
        ),
        ({"source_vocabulary": 9, "target_vocabulary": 9}, "tie", "needs one shared vocabulary", "'decoder' or 'none'"),
        ({"norm": "rmsnorm"}, "norm", "'rmsnorm' is not a choice", "did you mean 'rms'?"),
        ({"norm": 3}, "norm", "3 is not a choice", "known: layer, rms, batch"),
        ({"norm": None}, "norm", "None is not a choice", "known: layer, rms, batch"),
        ({"d_model": 0}, "d_model", "0 is out of range", "from 1 to 65536"),
        ({"d_model": -512}, "d_model", "-512 is out of range", "from 1 to 65536"),
        ({"d_model": 512.0}, "d_model", "512.0 does not fit", "a whole number"),
        ({"d_model": "512"}, "d_model", "'512' does not fit", "a whole number"),
        ({"d_model": None}, "d_model", "None does not fit", "a whole number"),
        ({"d_model": True}, "d_model", "True does not fit", "a whole number"),
        ({"d_model": 10**12 + 1}, "d_model", "is out of range", "from 1 to 65536"),  # no loop over its divisors
        ({"encoder_layers": 10**6}, "encoder_layers", "is out of range", "from 1 to 1000"),  # no million weights
        ({"vocabulary": 3}, "vocabulary", "3 is out of range", "at least 4"),
        ({"dropout": 1}, "dropout", "1 is out of range", "from 0 to 0.95"),
        ({"dropout": -0.1}, "dropout", "-0.1 is out of range", "from 0 to 0.95"),
        ({"dropout": nan}, "dropout", "nan is not a finite number", "finite"),
        ({"dropout": True}, "dropout", "True does not fit", "a number"),
        ({"dropout": [0.1]}, "dropout", "[0.1] does not fit", "a number"),
        ({"bias": 1}, "bias", "1 does not fit", "true or false"),
        ({"bias": "yes"}, "bias", "'yes' does not fit", "true or false"),
    ],
)
def test_one_problem_of_a_model(values: dict[str, Any], where: str, what: str, remedy: str) -> None:
    (problem,) = problems(**values)
    assert problem.where == where
    assert what in problem.what
    assert remedy in problem.remedy


class Order(Config):
    """Fields of the kinds that the body of a request has."""

    what: str | list[str] = required("what is ordered")
    options: dict[str, Any] | None = setting(None, "by name")


@pytest.mark.parametrize("values", [{}, {"what": ""}, {"what": []}, {"what": None}])
def test_a_required_field_must_be_given_and_not_be_empty(values: dict[str, Any]) -> None:
    assert problems(Order, **values) == [Problem("missing what: what is ordered")]


def test_lists_hold_strings_and_an_object_is_a_dict() -> None:
    order = Order(what=["tea", "cake"], options={"milk": 1})
    assert (order.what, order.options) == (["tea", "cake"], {"milk": 1})
    assert problems(Order, what=["tea", 2], options=[]) == [
        Problem("['tea', 2] does not fit", "what", "give a string or a list of strings"),
        Problem("[] does not fit", "options", "give an object"),
    ]
    assert problems(DataConfig, pairs=[3])[0] == Problem(
        "[3] does not fit", "pairs", "give a string or a list of strings"
    )


def test_a_long_value_is_shown_in_part() -> None:
    (problem,) = problems(Order, what=["x" * 10_000, 2])
    assert problem.what == f"['{'x' * 75}... does not fit"


def test_the_json_schema_of_a_required_field_has_no_default() -> None:
    what, options = (each.json_schema() for each in Order.settings().values())
    assert what == {"type": ["string", "array"], "items": {"type": "string"}, "description": "what is ordered"}
    assert options == {"type": ["object", "null"], "default": None, "description": "by name"}


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_settings_without_bounds_are_finite_too(value: float) -> None:
    assert problems(DecodeConfig, length_penalty=value)[0].where == "length_penalty"
    assert problems(TrainConfig, learning_rate=value)[0].where == "learning_rate"


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"n_best": 6}, "n_best"),
        ({"strategy": "greedy", "n_best": 2}, "n_best"),
        ({"min_length": 5, "max_length": 4}, "max_length"),
        ({"top_k": 5}, "top_k"),
        ({"strategy": "greedy", "top_p": 0.5}, "top_p"),
        ({"temperature": 0.5}, "temperature"),
        ({"beam": 0}, "beam"),
        ({"n_best": True}, "n_best"),  # equal to the default, and yet no number
    ],
)
def test_one_problem_of_decoding(values: dict[str, Any], where: str) -> None:
    (problem,) = problems(DecodeConfig, **values)
    assert problem.where == where
    assert problem.remedy


def test_a_wrong_value_makes_no_second_problem_out_of_thin_air() -> None:
    """heads=12 does not divide the default d_model; but d_model was given, only wrongly."""
    assert [problem.where for problem in problems(d_model="768", heads=12)] == ["d_model"]


# --- settings as text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("rotary", "rotary"),
        ('"a b"', "a b"),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_values_are_toml_or_bare_words(text: str, value: Any) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_parse_settings() -> None:
    assert parse_settings([]) == {}
    assert parse_settings(["d_model=64", " norm = rms ", "d_model=32"]) == {"d_model": 32, "norm": "rms"}
    with pytest.raises(UserError) as caught:
        parse_settings(["d_model", "=3", "norm=rms", " =3"])
    assert [problem.what for problem in caught.value.problems] == [
        "'d_model' has no name or no value",
        "'=3' has no name or no value",
        "' =3' has no name or no value",
    ]


def test_settings_are_toml() -> None:
    config = TrainConfig(steps=5, learning_rate=0.002)
    lines = [f"{name} = {json.dumps(value)}" for name, value in config.to_dict().items()]
    assert TrainConfig(**tomllib.loads("\n".join(lines))) == config


# --- errors -------------------------------------------------------------------------------------------------------


def test_a_user_error_reads_as_where_what_and_remedy() -> None:
    assert str(UserError("is empty", "a.txt:3", "add a line")) == "a.txt:3: is empty (add a line)"
    assert str(UserError("nothing to do")) == "nothing to do"
    both = UserError([Problem("one"), Problem("two", "here")])
    assert str(both) == "one\nhere: two"
    assert len(both.problems) == 2


def test_nearest_lists_no_more_than_one_reads() -> None:
    assert nearest("zzz", ["a", "b"]) == "known: a, b"
    assert nearest("zzz", [f"name{i}" for i in range(300)]).endswith("name39, and 260 more")
