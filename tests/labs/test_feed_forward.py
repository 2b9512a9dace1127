"""C13: the variants against the NumPy reference, and verdicts on made-up measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pellucid.labs.feed_forward import D_MODEL, LINEAR, NONE, USUAL, Settings, decide, facts, mixing, variant


def test_facts_are_all_pairs_each_with_one_answer() -> None:
    ids, names = facts(5, 1)
    assert {tuple(row) for row in ids.tolist()} == {(a, 5 + b) for a in range(5) for b in range(5)}
    assert (names[:, 0] == -1).all()
    assert set(names[:, 1].tolist()) <= set(range(5))
    assert (facts(5, 2)[1] != names).any()


def test_what_each_variant_computes() -> None:
    """x + W2 relu(W1 x + b1) + b2 by NumPy: without the ReLU one matrix, and without the network x alone."""
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 3, D_MODEL)).astype(np.float32))
    for name in (NONE, LINEAR, USUAL):
        [network] = [layer.feed_forward for layer in variant(name, Settings(), 1).encoder.layers]
        weights = [each.detach().numpy() for each in (network.wide.weight, network.narrow.weight)]
        inner = x.numpy() @ weights[0].T
        wanted = {NONE: 0.0, LINEAR: 1.0, USUAL: inner > 0}[name] * inner @ weights[1].T  # biases begin at 0
        np.testing.assert_allclose(network(x).detach().numpy(), wanted, atol=1e-5)


def test_positions_that_mix_are_seen() -> None:
    model = variant(USUAL, Settings(), 1)
    assert mixing(model, 1) < 1e-6
    [network] = [layer.feed_forward for layer in model.encoder.layers]
    network.register_forward_hook(lambda _module, _inputs, output: output.cumsum(dim=1))
    assert mixing(model, 1) > 0.1


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(none: float, linear: float, usual: float, mixed: float = 0.0) -> str:
        shares: dict[str, Any] = {NONE: none, LINEAR: linear, USUAL: usual}
        variants = {name: {"right": [share, share + 0.01]} for name, share in shares.items()}
        return decide({"symbols": 9, "variants": variants, "mixing_of_positions": [mixed]}).outcome

    assert outcome(0.2, 0.25, 0.5) == "shown"
    assert outcome(0.2, 0.45, 0.5) == outcome(0.5, 0.2, 0.5) == "refuted"
    assert outcome(0.2, 0.25, 0.5, mixed=0.1) == "not decided"
