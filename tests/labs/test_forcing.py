"""C17: the two computations against the NumPy reference, and against torch's own gradient of each single step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pellucid.labs.forcing import LENGTHS, agreeing, compare, decide, one_pass, token_by_token
from pellucid.labs.networks.torch_changes import remove_mask
from pellucid.labs.networks.torch_training import small
from pellucid.nn import Transformer
from pellucid.reference import Transformer as Reference
from pellucid.text.tokenizer import START


def test_both_computations_give_the_logits_of_the_reference() -> None:
    model = Transformer(small(30), 4).double()
    source, target = torch.tensor([[4, 9, 11, 2]]), torch.tensor([[5, 8, 2]])
    reference = Reference(model.config, model.arrays(torch.float64))
    wanted = reference.forward(source.numpy(), np.ones((1, 4), bool), np.array([[START, 5, 8]]))
    for compute in (one_pass, token_by_token):
        np.testing.assert_allclose(compute(model, source, target).detach().numpy(), wanted, atol=1e-10)


def test_the_comparison_sees_a_leak() -> None:
    model = Transformer(small(30), 4).double()
    ids = torch.tensor([[4, 9, 11, 2]]), torch.tensor([[5, 8, 2]])
    assert max(compare(model, *ids).values()) < 1e-12
    remove_mask(model)
    assert all(difference > 1e-3 for difference in compare(model, *ids).values())


def test_tokens_are_compared_place_by_place() -> None:
    assert agreeing([5, 6], [5, 7, 8]) == [True, False, False]
    assert agreeing([5, 7, 8, 9], [5, 7]) == [True, True]


@pytest.mark.parametrize(("difference", "outcome"), [(1e-12, "refuted"), (1e-8, "not decided"), (1e-3, "shown")])
def test_the_criterion_on_made_up_measurements(difference: float, outcome: str) -> None:
    names = ("logits", "loss", "gradients")
    for largest in names:
        differences = {name: [1e-16, difference if name == largest else 1e-16] for name in names}
        timing = {"one pass": [1.0] * len(LENGTHS), "token by token": [9.0] * len(LENGTHS)}
        assert decide({"length": 5, "differences": differences, "timing": timing}).outcome == outcome
