"""C16, C20: the corpora, and what a translation costs against the operations that torch counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from pellucid.labs import Result
from pellucid.labs.networks.torch_training import small
from pellucid.labs.tasks import TASKS, corpus, cost, decide
from pellucid.nn import Transformer
from pellucid.nn.taps import attach


@pytest.mark.parametrize("name", TASKS)
def test_what_is_measured_with_was_not_training(name: str) -> None:
    training, tested = corpus(name, 300, 20, 1)
    assert len(tested) == 20
    assert not {pair.source for pair in tested} & {pair.source for pair in training}
    assert len(training) >= 290
    assert corpus(name, 300, 20, 1) == (training, tested)


def test_summaries_are_shorter_than_their_reports() -> None:
    assert all(len(pair.target) < len(pair.source) for pair in corpus("summaries", 100, 10, 1)[0])


def test_the_cost_is_what_torch_counts_while_it_translates() -> None:
    model = Transformer(small(40), 1).eval()
    source = torch.tensor([[5, 6, 7, 8, 2]])
    real = torch.ones_like(source, dtype=torch.bool)
    with attach(model, "*.weights"), torch.inference_mode(), FlopCounterMode(display=False) as counter:
        cache = model.start(model.encode(source, real), real)
        for token in (1, 9, 10):
            _, cache = model.step(torch.tensor([[token]]), cache)
    assert cost(model.config, [source[0].tolist()], [[9, 10, 2]])["multiply_adds"] == counter.get_total_flops() / 2


def test_the_quick_run_shows_that_the_sources_are_read(quick: Callable[..., Result]) -> None:
    """It is too short to decide on all tasks. With the sources of others nothing is learned of them."""
    tasks, broken = (quick("tasks", **settings).data["tasks"] for settings in ({}, {"broken": True}))
    gains = {name: task["own"][0] - task["other"][0] for name, task in tasks.items()}
    without = {name: task["own"][0] - task["other"][0] for name, task in broken.items()}
    assert max(gains.values()) >= 5 > max(without.values())


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(**own: list[float]) -> str:
        tasks: dict[str, Any] = {
            name: {"own": own.get(name, [60.0, 61.0]), "other": [20.0, 21.0], "cost": {"multiply_adds": 1.0}}
            for name in TASKS
        }
        return decide({"tasks": tasks}).outcome

    assert outcome() == "shown"
    assert outcome(dates=[21.0, 22.0]) == "not decided"
    assert outcome(**{name: [21.0, 22.0] for name in TASKS}) == "refuted"
