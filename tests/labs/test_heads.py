"""C10: the task and the removal of a head against plain arithmetic, and verdicts on made-up measurements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from pellucid.labs import Result
from pellucid.labs.heads import SYMBOLS, decide, draw_task
from pellucid.labs.networks.torch_changes import removed_head
from pellucid.labs.networks.torch_training import small
from pellucid.nn import Transformer
from pellucid.reference import Transformer as Reference


def test_the_task_names_the_symbol_before_and_the_one_two_places_after() -> None:
    symbols, names = draw_task(np.random.default_rng(1), 50)
    for row, named in zip(symbols.tolist(), names.tolist(), strict=True):
        for place, name in enumerate(named):
            asked = 1 <= place < len(row) - 2
            assert name == (SYMBOLS * row[place - 1] + row[place + 2] if asked else -1)
    symbols, names = draw_task(np.random.default_rng(1), 50, broken=True)
    assert (names[:, 1:-2] == (SYMBOLS + 1) * symbols[:, :-3]).all()  # the same one twice


@pytest.mark.parametrize("part", ["encoder.self_attention", "decoder.self_attention", "decoder.cross_attention"])
def test_a_head_without_its_rows_of_the_output_matrix_is_a_removed_head(part: str) -> None:
    """The reference model with those weights set to 0 computes what the model with the head removed does."""
    model = Transformer(small(20), 3).double().eval()
    ids = np.array([[4, 9, 2]]), np.ones((1, 3), bool), np.array([[1, 7, 8, 9]])
    arrays = model.arrays(torch.float64)
    stack, sublayer = part.split(".")
    weight = arrays[
        f"{stack}.layers.0.{sublayer}.output.weight"
    ].copy()  # (out, in): the heads are side by side in `in`
    weight[:, 16:32] = 0.0  # the second of four heads of size 16
    wanted = Reference(model.config, {**arrays, f"{stack}.layers.0.{sublayer}.output.weight": weight}).forward(*ids)
    inputs = [torch.from_numpy(each) for each in ids]
    whole = model(*inputs).detach().numpy()
    with removed_head(model, part, 0, 1):
        found = model(*inputs).detach().numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert np.abs(found - whole).max() > 1e-3
    np.testing.assert_array_equal(model(*inputs).detach().numpy(), whole)  # it is back


def test_every_number_of_heads_has_as_many_weights(quick: Callable[..., Result]) -> None:
    assert len({run["parameters"] for run in quick("heads").data["heads"].values()}) == 1


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(one: list[float], four: list[float], roles: list[str]) -> str:
        heads = [{"role": role} for role in roles]
        return decide({"heads": {"1": {"right": one}, "4": {"right": four}}, "shipped": {"heads": heads}}).outcome

    assert outcome([0.5, 0.52], [0.9, 0.91], ["next", "end", ""]) == "shown"
    assert outcome([0.9, 0.9], [0.92, 0.95], ["next", "end", ""]) == "refuted"
    assert outcome([0.5, 0.52], [0.9, 0.91], ["next", "next", ""]) == "not decided"
    assert outcome([0.1, 0.9], [0.9, 0.91], ["next", "end", ""]) == "not decided"  # the runs differ too much
