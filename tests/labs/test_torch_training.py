"""The small trainings: loss, search and counting against torch's own and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from pellucid.labs.networks.torch_training import Tagger, generate, mean_loss, right_tokens, small, train
from pellucid.labs.parts.lab import Progress
from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.text.tokenizer import END, START


def test_what_is_generated_is_the_likeliest_token_of_a_whole_pass() -> None:
    model = Transformer(small(30), 2).eval()
    sources = [[5, 6, END], [7, END], [8, 9, END]]
    for source, tokens in zip(sources, generate(model, sources), strict=True):
        ids = torch.tensor([source])
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[START, *tokens]]))
        assert logits.argmax(dim=-1)[0, : len(tokens)].tolist() == list(tokens)


def test_right_tokens_by_hand() -> None:
    """3 and 4 are right, 6 is missing, 7 stands elsewhere; what comes beyond the end is not counted."""
    assert right_tokens([(3, 4), (5, 7)], [[3, 4, 6, END], [7, 5, END]]) == pytest.approx(2 / 5)
    assert right_tokens([(3, 4, 5, 5)], [[3, 4, END]]) == 1.0


def test_the_loss_of_a_tagger_is_torchs_over_the_names_that_are_asked_for() -> None:
    model = Tagger(small(source_vocabulary=9, target_vocabulary=7, tie="none"), 1)
    ids, names = np.array([[3, 4, 5], [8, 7, 6]]), np.array([[-1, 2, 6], [0, -1, -1]])
    logits = model.output(model(torch.from_numpy(ids))).flatten(0, 1)
    wanted = nn.functional.cross_entropy(logits, torch.from_numpy(names.flatten()), ignore_index=-1)
    assert model.loss(ids, names).item() == pytest.approx(wanted.item(), abs=1e-5)
    likeliest = logits.argmax(dim=-1).view(2, 3).numpy()
    assert model.right(ids, likeliest) == 1.0
    assert model.right(ids, np.where(names < 0, names, (likeliest + 1) % 7)) == 0.0


def test_training_learns_and_equal_seeds_give_equal_losses() -> None:
    def losses() -> list[tuple[int, float]]:
        model = Transformer(small(12, d_model=16, feed_forward=16), 1)
        batch = Batch.from_ids([[3, 4, END], [5, END]], [[6, END], [7, 8, END]])
        steps = train(model, lambda _: mean_loss(model, batch), 40, 0.02, lambda done, _update, _loss: Progress(done))
        try:
            while True:
                assert 0 < next(steps).done <= 1
        except StopIteration as end:
            found: list[tuple[int, float]] = end.value
        assert not model.training
        return found

    first = losses()
    assert first == losses()
    assert [update for update, _ in first] == list(range(1, 41))
    assert first[-1][1] < 0.2 < first[0][1]
