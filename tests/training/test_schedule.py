"""The learning rate against values worked out by hand."""

from __future__ import annotations

import pytest

from pellucid.config import TrainConfig
from pellucid.training.schedule import learning_rate


def rate(step: int, schedule: str, total: int | None = None) -> float:
    config = TrainConfig(learning_rate=0.8, warmup=100, schedule=schedule)  # type: ignore[arg-type]
    return learning_rate(step, config, 64, total)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_rises_in_a_line_to_the_peak(schedule: str) -> None:
    assert rate(1, schedule, 1000) == pytest.approx(0.008)
    assert rate(50, schedule, 1000) == pytest.approx(0.4)
    assert rate(100, schedule, 1000) == pytest.approx(0.8)


def test_inverse_square_root_halves_at_four_times_the_step() -> None:
    assert rate(400, "inverse_sqrt") == pytest.approx(0.4)
    assert rate(1600, "inverse_sqrt") == pytest.approx(0.2)


def test_cosine_is_half_in_the_middle_and_zero_at_the_end() -> None:
    assert rate(550, "cosine", 1000) == pytest.approx(0.4)
    assert rate(1000, "cosine", 1000) == pytest.approx(0.0)
    assert rate(2000, "cosine", 1000) == pytest.approx(0.0)


def test_the_papers_formula() -> None:
    # 0.8 * 64^-0.5 * min(step^-0.5, step * 100^-1.5)
    assert rate(50, "paper") == pytest.approx(0.8 / 8 * 50 / 1000)
    assert rate(400, "paper") == pytest.approx(0.8 / 8 / 20)


def test_constant_stays() -> None:
    assert rate(10**6, "constant") == 0.8


@pytest.mark.parametrize(
    ("schedule", "in_the_middle"),
    # half of: 0.8, 0.8 * sqrt(100 / 900), 0.8 * (1 + cos 160 degrees) / 2, 0.8 / 8 / sqrt(900)
    [("constant", 0.4), ("inverse_sqrt", 0.4 / 3), ("cosine", 0.0120615), ("paper", 0.05 / 30)],
)
def test_a_cooldown_leads_every_schedule_to_zero(schedule: str, in_the_middle: float) -> None:
    config = TrainConfig(learning_rate=0.8, warmup=100, schedule=schedule, cooldown=200)  # type: ignore[arg-type]
    assert learning_rate(800, config, 64, 1000) == rate(800, schedule, 1000)
    assert learning_rate(900, config, 64, 1000) == pytest.approx(in_the_middle, rel=1e-5)
    assert learning_rate(1000, config, 64, 1000) == learning_rate(1001, config, 64, 1000) == 0.0


def test_defaults_follow_the_size_of_the_model() -> None:
    # 0.0225 / sqrt(64) after 2.5 * 64 steps
    assert learning_rate(160, TrainConfig(), 64) == pytest.approx(0.0028125)
    assert learning_rate(80, TrainConfig(), 64) == pytest.approx(0.0028125 / 2)
    assert learning_rate(640, TrainConfig(schedule="paper"), 64) == pytest.approx(640**-0.5 / 8)
