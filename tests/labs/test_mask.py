"""C12: the lowest honest loss against the entropy of the task by enumeration, and verdicts on made-up measurements."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest
import torch

from pellucid.labs.mask import FIRST, SYMBOLS, decide, draw_pairs, first_leak, lowest_honest_loss, right_words
from pellucid.labs.networks.torch_changes import remove_mask
from pellucid.labs.networks.torch_training import small
from pellucid.nn import Transformer
from pellucid.text.tokenizer import END


def test_the_lowest_honest_loss_is_the_entropy_of_all_targets_of_a_source() -> None:
    """Each of the 2^3 targets is equally likely; an honest model can at best give each its probability."""
    targets = list(product([0, 1], repeat=3))
    entropy = -sum(log(1 / len(targets)) / len(targets) for _ in targets)
    assert lowest_honest_loss(3) == pytest.approx(entropy / 4)  # three words and the end


def test_every_symbol_gets_one_of_its_two_words() -> None:
    sources, targets = draw_pairs(np.random.default_rng(1), 500, 4)
    seen = {
        (s, t) for source, target in zip(sources, targets, strict=True) for s, t in zip(source, target, strict=True)
    }
    words = {(FIRST + n, FIRST + SYMBOLS + 2 * n + k) for n in range(SYMBOLS) for k in (0, 1)}
    assert seen == words | {(END, END)}
    assert right_words([tuple(target[:-1]) for target in targets], sources) == 1.0
    assert right_words([tuple(target[:2]) for target in targets], sources) == 0.5
    assert right_words([tuple(word + 2 for word in target[:-1]) for target in targets], sources) == 0.0


def test_without_the_mask_a_position_depends_on_the_next_and_with_it_not() -> None:
    model = Transformer(small(20), 1)
    source, target = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7, 8]])
    other = torch.tensor([[1, 6, 7, 9]])
    real = torch.ones_like(source, dtype=torch.bool)

    def first_logits(ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model(source, real, ids)[0, :3]
        return logits

    assert torch.equal(first_logits(target), first_logits(other))
    remove_mask(model)
    assert not torch.allclose(first_logits(target), first_logits(other), atol=1e-3)


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(loss: float, right: float) -> str:
        masked = {"loss_updates": [1, 9], "losses": [[3.0, 0.7]], "right": [[0.0, 0.9]]}
        unmasked = {"loss_updates": [1, 9], "losses": [[3.0, loss]], "right": [[0.0, right]]}
        return decide(
            {"lowest_honest_loss": 0.6, "models": {"with the mask": masked, "without the mask": unmasked}}
        ).outcome

    assert outcome(0.1, 0.1) == "shown"
    assert outcome(0.65, 0.9) == outcome(0.1, 0.95) == "refuted"
    assert outcome(0.1, 0.6) == "not decided"
    assert first_leak([3.0, 0.4, 0.2, 0.1], [1, 5, 10, 15], 0.6) == 10
    assert first_leak([3.0, 0.4], [1, 5], 0.6) is None
