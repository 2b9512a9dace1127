"""C15: how a sentence depends on its batch, against PyTorch's own norms, and the criterion."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional

from pellucid.labs import Result
from pellucid.labs.norms import D_MODEL, TRIALS, Settings, decide, depends, sentences


@pytest.mark.parametrize("kind", ["layer", "batch"])
def test_what_depends_on_the_batch_is_what_pytorchs_norms_measure(kind: str) -> None:
    random = np.random.default_rng([4, 8, 0])
    squares = []
    for _ in range(TRIALS):
        mine, first, second = sentences(1, random), sentences(7, random), sentences(7, random)
        outputs = []
        for others in (first, second):
            x = torch.cat([mine, others])
            if kind == "layer":
                outputs.append(functional.layer_norm(x, (D_MODEL,))[0])
            else:
                normed = functional.batch_norm(x.flatten(0, 1), None, None, training=True)
                outputs.append(normed.view_as(x)[0])
        squares.append(float((outputs[0] - outputs[1]).square().mean()))
    assert depends(kind, 8, 0.0, 4, Settings()) == pytest.approx(float(np.sqrt(np.mean(squares))), abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "part", "value", "outcome"),
    [
        ("layer", "by_size", 1e-3, "refuted"),
        ("batch", "by_size", 0.0, "refuted"),
        ("batch", "by_padding", 0.0, "not decided"),
    ],
)
def test_the_criterion(kind: str, part: str, value: float, outcome: str, quick: Callable[..., Result]) -> None:
    data = copy.deepcopy(quick("norms").data)
    data[part][kind] = [[value] * len(each) for each in data[part][kind]]
    assert decide(data).outcome == outcome
