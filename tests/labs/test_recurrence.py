"""C4: the recurrent models against torch's cells step by step, and verdicts on made-up measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from pellucid.labs import Result
from pellucid.labs.networks.torch_recurrent import Kind, count_parameters, recurrent
from pellucid.labs.networks.torch_training import generate, mean_loss, small
from pellucid.labs.recurrence import (
    KEYS,
    KINDS,
    QUESTION,
    TRAININGS,
    decide,
    draw_recall,
    drawn,
    far_gradient,
    model_of,
)
from pellucid.nn import Transformer
from pellucid.text.batch import Batch
from pellucid.text.tokenizer import END, START

RECURRENT: tuple[Kind, ...] = ("RNN", "LSTM", "LSTM with attention")


def logits_by_cells(model: Any, source: list[int], target_in: list[int]) -> torch.Tensor:
    """The same by torch's single cells, with attention written as a sum: (target, vocabulary)."""
    cells = []
    for layer in (model.encoder, model.decoder):
        kind = nn.LSTMCell if isinstance(layer, nn.LSTM) else nn.RNNCell
        cell = kind(layer.input_size, layer.hidden_size)
        cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
        cells.append(cell)
    state = None
    outputs = []
    for token in source:
        state = cells[0](model.source_embedding.weight[token][None], state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    logits = []
    for token in target_in:
        state = cells[1](model.source_embedding.weight[token][None], state)
        output = state[0] if isinstance(state, tuple) else state
        if model.query is not None:
            scores = torch.cat([(model.query(output) * each).sum(dim=-1) for each in outputs])
            mean = sum(weight * each for weight, each in zip(scores.softmax(dim=0), outputs, strict=True))
            output = torch.tanh(model.mix(torch.cat([output, mean], dim=-1)))
        logits.append(model.output(output))
    return torch.cat(logits)


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_recurrent_model_computes_what_its_cells_do_with_padding_too(kind: Kind) -> None:
    model = recurrent(kind, 12, 3000, 1)
    pairs_of_ids = [([4, 5, 6, 7, END], [8, 9, END]), ([5, END], [10, END])]
    loss = mean_loss(model, Batch.from_ids(*zip(*pairs_of_ids, strict=True)))
    wanted = []
    for source, target in pairs_of_ids:
        logits = logits_by_cells(model, source, [START, *target[:-1]])
        wanted.append(nn.functional.cross_entropy(logits, torch.tensor(target), reduction="sum"))
    assert loss.item() == pytest.approx(sum(each.item() for each in wanted) / 5, abs=1e-5)


@pytest.mark.parametrize("kind", RECURRENT)
def test_greedy_search_follows_the_likeliest_token(kind: Kind) -> None:
    model = recurrent(kind, 12, 3000, 2).eval()
    sources = [[4, 5, END], [6, END], [7, 8, END]]
    for source, tokens in zip(sources, generate(model, sources), strict=True):
        logits = logits_by_cells(model, source, [START, *tokens])
        assert logits.argmax(dim=-1).tolist()[: len(tokens)] == list(tokens)


def test_all_models_have_about_as_many_parameters() -> None:
    counts = [count_parameters(model_of(kind, 20, 1)) for kind in KINDS]
    assert counts[-1] == count_parameters(Transformer(small(20, d_model=32, feed_forward=64), 1))
    assert max(counts) / min(counts) < 1.1


def test_recall_asks_for_the_first_symbol() -> None:
    sources, targets = draw_recall(np.random.default_rng(1), 50, 10)
    assert sources.shape == (50, 11)
    assert (sources[:, 0] == targets[:, 0]).all()
    assert (sources[:, -1] == QUESTION).all()
    assert not (sources[:, 1:-1] < 3 + KEYS).any()  # the fillers are other symbols


def test_the_quick_run_shows_what_vanishes_and_that_short_distances_first_help(quick: Callable[..., Result]) -> None:
    """It is too short for the RNN to learn all that it can."""
    models = quick("recurrence").data["models"]
    at_once, short_first = ({kind: each["recall"][0][name][-1] for kind, each in models.items()} for name in TRAININGS)
    assert at_once["Transformer"] == short_first["Transformer"] == 1.0
    assert at_once["RNN"] < 0.3 < 0.6 < short_first["RNN"]
    gradients = {kind: each["gradient"][0] for kind, each in models.items()}
    assert gradients["RNN"][-1] < 1e-5 * gradients["RNN"][0]
    assert gradients["Transformer"][-1] > 1e-2 * gradients["Transformer"][0]


def test_which_distances_are_drawn() -> None:
    random, distances = np.random.default_rng(1), [2, 5, 10]
    at_once, short_first = TRAININGS
    assert {drawn(random, distances, 0.0, at_once, False) for _ in range(50)} == {2, 5, 10}
    for done, wanted in ((0.0, {2}), (0.5, {2, 5}), (1.0, {2, 5, 10})):
        assert {drawn(random, distances, done, short_first, False) for _ in range(50)} == wanted
    assert {drawn(random, distances, 0.0, training, True) for training in TRAININGS} == {10}


def test_the_far_gradient_is_that_of_finite_differences() -> None:
    model = model_of("LSTM", 20, 1).double()
    sources, targets = draw_recall(np.random.default_rng(1), 1, 5)
    batch, step = Batch.from_ids(sources.tolist(), targets.tolist()), 1e-6
    key = model.source_embedding.weight.data[sources[0, 0]]
    # the symbol occurs once in the source and once shifted in the target: only the source's is to move
    slopes = []
    for size in range(len(key)):
        losses = []
        for sign in (1, -1):
            original = model.source_embedding.weight.data.clone()
            model.source_embedding.weight.data[sources[0, 0], size] += sign * step
            source, real = torch.from_numpy(batch.source), torch.from_numpy(batch.source_real)
            memory = model.encode(source, real)
            model.source_embedding.weight.data = original
            features = model.features(torch.from_numpy(batch.target_in), memory, real, None)
            target = torch.from_numpy(batch.target_out)[0]
            losses.append(nn.functional.cross_entropy(model.output(features)[0], target).item())
        slopes.append((losses[0] - losses[1]) / (2 * step))
    assert far_gradient(model, sources, targets) == pytest.approx(float(np.linalg.norm(slopes)), rel=1e-3)


def test_the_criterion_on_made_up_measurements() -> None:
    def outcome(at_once: float, short_first: float, transformer: float = 0.99, fade: float = 1e-9) -> str:
        shares = {"RNN": (at_once, short_first, fade), "Transformer": (transformer, transformer, 0.5)}
        models = {
            kind: {
                "recall": [dict(zip(TRAININGS, ([1.0, a], [1.0, b]), strict=True))] * 3,
                "gradient": [[1.0, faded]] * 3,
            }
            for kind, (a, b, faded) in shares.items()
        }
        return decide({"distances": [2, 200], "models": models}).outcome

    assert outcome(0.12, 0.2) == "shown"
    assert outcome(0.12, 0.95) == outcome(0.95, 0.12) == "refuted"
    assert outcome(0.12, 0.7) == outcome(0.12, 0.2, transformer=0.7) == outcome(0.12, 0.2, fade=0.1) == "not decided"
