"""The file that holds the whole paper: it learns, it is right, and it stands alone."""

from __future__ import annotations

import ast
import itertools
import math
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import pellucid
from pellucid import nn, paper
from pellucid.config import ModelConfig
from pellucid.paper import BOS, EOS, PAD

ROOT = Path(pellucid.__file__).parent
PAPER = ROOT / "paper.py"


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Equal random numbers, and sums in one order, for every test; what torch had before comes back afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        yield
    torch.set_num_threads(threads)


def model_of(vocabulary: int = 11, d_model: int = 16, d_ff: int = 24, h: int = 4, N: int = 2) -> paper.Transformer:
    """A float64 model in `eval`, its biases and norms random too, so that none of them can be forgotten unnoticed."""
    model = paper.Transformer(vocabulary, d_model, d_ff, h, N).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def batch_of(vocabulary: int = 11) -> tuple[Tensor, Tensor]:
    """Source (3, 6) and target (3, 5) of several lengths, with padding."""
    source, target = torch.randint(3, vocabulary, (3, 6)), torch.randint(3, vocabulary, (3, 5))
    source[1, 4:], source[2, 1:], target[0, 2:] = PAD, PAD, PAD
    target[:, 0] = BOS
    return source, target


def test_attention_is_that_of_torch_its_weights_sum_to_one_and_a_masked_key_has_none() -> None:
    Q, K, V = torch.randn(3, 2, 3, 5, 8).double()
    keep = torch.rand(2, 1, 4, 5) < 0.6
    keep[..., 0] = True
    output, weights = paper.attention(Q[:, :, :4], K, V, keep)
    torch.testing.assert_close(output, functional.scaled_dot_product_attention(Q[:, :, :4], K, V, attn_mask=keep))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 4).double())
    assert torch.equal(weights > 0, keep.expand(2, 3, 4, 5))


def test_positions_are_the_formula_of_the_paper() -> None:
    encoding = paper.positional_encoding(50, 6)
    for pos, i in itertools.product(range(50), range(3)):
        angle = pos / 10000 ** (2 * i / 6)
        assert encoding[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
        assert encoding[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_the_learning_rate_is_equation_3() -> None:
    # d_model^-0.5 = 1/8; warmup^-1.5 = 1/1000: rises in a line to 1/8 * 1/10, then falls with the root of the step
    rates = [paper.learning_rate(step, d_model=64, warmup_steps=100) for step in (1, 50, 100, 400, 10_000)]
    assert rates == pytest.approx([0.000125, 0.00625, 0.0125, 0.00625, 0.00125])
    assert paper.learning_rate(4000, d_model=512) == pytest.approx(6.98771e-4, rel=1e-5)  # the base model's highest


def test_the_loss_is_that_of_torch() -> None:
    _, target = batch_of()
    logits = torch.randn(3, 5, 11).double()
    expected = functional.cross_entropy(logits.transpose(1, 2), target, ignore_index=PAD, label_smoothing=0.1)
    torch.testing.assert_close(paper.cross_entropy(logits, target), expected)


def test_the_lowest_loss_is_the_entropy_of_the_smoothed_truth() -> None:
    q = torch.full((63,), 0.1 / 63)
    q[7] += 0.9
    lowest = paper.cross_entropy(q.log()[None, None], torch.tensor([[7]])).item()
    assert lowest == pytest.approx(0.728, abs=5e-4)  # the figure in `main`
    assert len(paper.WORDS) == 63


def test_batches_hold_every_pair_once_and_no_more_tokens_than_asked() -> None:
    pairs = [paper.pair_of(n) for n in range(1, 400)]
    stream = paper.batches(pairs, 200, random.Random(3))
    seen: list[paper.Pair] = []
    while len(seen) < len(pairs):
        source, target = next(stream)
        assert target.numel() <= 200
        seen += [(s[s != PAD].tolist(), t[t != PAD].tolist()) for s, t in zip(source, target, strict=True)]
    assert sorted(seen) == sorted(pairs)
    assert seen != sorted(seen, key=lambda pair: len(pair[1]))  # short ones do not always come first


@pytest.mark.parametrize(("d_model", "d_ff", "h", "N"), [(16, 24, 4, 2), (12, 40, 1, 3), (8, 8, 8, 1)])
def test_with_the_same_weights_it_gives_what_the_product_gives(d_model: int, d_ff: int, h: int, N: int) -> None:
    sizes = {"d_model": d_model, "heads": h, "feed_forward": d_ff, "encoder_layers": N, "decoder_layers": N}
    values: dict[str, Any] = {**sizes, "norm": "layer", "norm_place": "post", "activation": "relu", "tie": "all"}
    config = ModelConfig(vocabulary=11, positions="sinusoidal", bias=True, output_bias=False, **values)
    ours, theirs = model_of(11, d_model, d_ff, h, N), nn.Transformer(config).double().eval()
    weights = renamed(ours)
    assert weights.keys() == dict(theirs.named_parameters()).keys()
    source, target = batch_of()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            assert parameter.shape == weights[name].shape
            parameter.copy_(weights[name])
        memory = ours.encode(source)
        logits, _ = ours.decode(target, memory, source)
        torch.testing.assert_close(memory, theirs.encode(source, source != PAD), rtol=0, atol=1e-6)
        torch.testing.assert_close(logits, theirs(source, source != PAD, target), rtol=0, atol=1e-6)


def renamed(model: paper.Transformer) -> dict[str, Tensor]:
    """The parameters as `pellucid.nn` has them: under its names, transposed, biases of attention zero."""
    parts = {"Q": "query", "K": "key", "V": "value", "O": "output", "1": "wide", "2": "narrow"}  # W_Q, ..., b_2
    weights: dict[str, Tensor] = {"source_embedding.weight": model.embedding}
    for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, layer in enumerate(layers):
            sublayers = [name for name, _ in layer.named_children() if name.endswith(("attention", "forward"))]
            for name, value in layer.named_parameters():
                part, last = name.split(".")  # norm_2.bias, self_attention.W_Q
                if part.startswith("norm"):
                    weights[f"{stack}.layers.{i}.{sublayers[int(part[-1]) - 1]}_residual.norm.{last}"] = value
                    continue
                place = f"{stack}.layers.{i}.{part}.{parts[last[-1]]}"
                if last.startswith("W"):
                    weights[f"{place}.weight"] = value.T
                if last.startswith("b") or part != "feed_forward":
                    weights[f"{place}.bias"] = value if last.startswith("b") else torch.zeros(value.shape[1])
    return weights


def test_a_later_target_token_changes_no_earlier_logits() -> None:
    model = model_of()
    source, target = batch_of()
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 11
    memory = model.encode(source)
    before, after = model.decode(target, memory, source)[0], model.decode(changed, memory, source)[0]
    assert torch.equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()


def test_padding_changes_nothing_and_gets_no_attention() -> None:
    model = model_of()
    source, target = batch_of()
    logits, weights = model.decode(target, model.encode(source), source)
    alone = source[1:2, :4]  # the row without its padding
    torch.testing.assert_close(model.decode(target[1:2], model.encode(alone), alone)[0], logits[1:2])
    assert (weights[1, :, :, 4:] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 4, 5).double())


def penalised(model: paper.Transformer, source: list[int], target: list[int], alpha: float) -> float:
    """log P / ((5 + length) / 6)^alpha of one target, all its tokens at once."""
    ids, shifted = torch.tensor([source]), torch.tensor([[BOS, *target[:-1]]])
    logits, _ = model.decode(shifted, model.encode(ids), ids)
    log_p = logits[0].log_softmax(dim=-1)[torch.arange(len(target)), target]
    return float(log_p.sum() / ((5 + len(target)) / 6) ** alpha)


@torch.no_grad()
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_wide_beam_finds_the_best_of_all_short_targets(alpha: float) -> None:
    source = [3, 4, EOS]
    short = [[*tokens, EOS] for length in range(3) for tokens in itertools.product([0, 1, 3, 4, 5], repeat=length)]
    for _ in range(20):
        model = model_of(vocabulary=6, N=1)
        found = paper.translate(model, source, beam=160, alpha=alpha)  # of no more than 5 * 5 * 6 at the third step
        best = max(penalised(model, source, target, alpha) for target in short)
        assert penalised(model, source, found, alpha) >= best - 1e-5
        assert found.index(EOS) == len(found) - 1


@torch.no_grad()
def test_a_beam_of_one_takes_the_most_likely_token_at_every_step() -> None:
    for _ in range(5):
        model = model_of()
        source, target = torch.tensor([[3, 7, 5, EOS]]), torch.tensor([[BOS]])
        found = paper.translate(model, source[0].tolist(), beam=1, alpha=0.0)
        for _ in found:
            logits, _ = model.decode(target, model.encode(source), source)
            target = torch.cat([target, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        assert found == target[0, 1:].tolist()
        assert EOS not in found[:-1]
        assert found[-1] == EOS or len(found) == 54  # input length + 50


def test_numbers_are_spelled() -> None:
    for n, english, german in (
        (1, "one", "eins"),
        (17, "seventeen", "siebzehn"),
        (30, "thirty", "dreißig"),
        (101, "one hundred one", "ein hundert eins"),
        (1021, "one thousand twenty one", "ein tausend ein und zwanzig"),
        (41_003, "forty one thousand three", "ein und vierzig tausend drei"),
        (101_000, "one hundred one thousand", "ein hundert ein tausend"),
    ):
        spelled = [" ".join(paper.WORDS[token] for token in ids) for ids in paper.pair_of(n)]
        assert spelled == [f"{english} </s>", f"{german} </s>"]


def small_model() -> paper.Transformer:
    torch.manual_seed(1)
    return paper.Transformer(len(paper.WORDS), d_model=32, d_ff=64, h=4, N=1)


def test_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = list(range(1, 1000))
    random.Random(1).shuffle(numbers)
    held_out, training = [paper.pair_of(n) for n in numbers[:50]], [paper.pair_of(n) for n in numbers[50:]]
    model = small_model()
    assert held_out_loss(model, held_out) > 3
    assert exact(model, held_out[:10]) == 0

    paper.train(model, training, steps=400, warmup_steps=100, tokens=500)
    assert held_out_loss(model, held_out) < 1
    assert exact(model, held_out) >= 0.9
    printed = re.findall(r"step +(\d+) +loss ([\d.]+) +learning rate ([\d.]+)", capsys.readouterr().out)
    assert float(printed[3][1]) < float(printed[0][1])
    rates = {100: 0.01768, 200: 0.0125, 300: 0.01021, 400: 0.00884}  # (32 * step)^-0.5: eq. (3) after the warmup
    assert {int(step): float(rate) for step, _, rate in printed} == rates

    paper.picture(model, *held_out[0])
    header, *rows = capsys.readouterr().out.strip("\n").splitlines()
    assert header.split() == [paper.WORDS[token] for token in held_out[0][0]]
    assert [row.split()[0] for row in rows] == [paper.WORDS[token] for token in held_out[0][1]]


def exact(model: paper.Transformer, pairs: list[paper.Pair]) -> float:
    return sum(paper.translate(model, source) == target for source, target in pairs) / len(pairs)


@torch.no_grad()
def held_out_loss(model: paper.Transformer, pairs: list[paper.Pair]) -> float:
    source, target = next(paper.batches(pairs, 10_000, random.Random(1)))  # all of them at once
    logits, _ = model.eval().decode(functional.pad(target[:, :-1], (1, 0), value=BOS), model.encode(source), source)
    return paper.cross_entropy(logits, target).item()


def test_the_seed_decides_everything_and_training_drops_out() -> None:
    def trained(seed: int) -> Tensor:
        model = small_model()
        torch.manual_seed(seed)
        paper.train(model, [paper.pair_of(n) for n in range(1, 100)], steps=5, warmup_steps=5)
        return model.embedding

    assert torch.equal(trained(2), trained(2))
    assert not torch.equal(trained(2), trained(3))  # after the first weights, only dropout draws from torch


@pytest.mark.proof
def test_the_program_translates_numbers_it_has_not_seen_and_prints_the_same_twice() -> None:
    first, second = (
        subprocess.run([sys.executable, "-m", "pellucid.paper"], capture_output=True, encoding="utf-8", check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
    right, of = re.search(r"^(\d+) of (\d+) numbers", first.stdout, re.MULTILINE).groups()  # type: ignore[union-attr]
    assert int(right) >= 0.95 * int(of)


def imported(path: Path) -> set[str]:
    """Every module and every name that a file imports, written in full."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names |= {module + alias.name for alias in node.names}
    return names


def test_it_is_short_and_needs_torch_alone() -> None:
    assert len(PAPER.read_text(encoding="utf-8").splitlines()) <= 300
    roots = {name.partition(".")[0] for name in imported(PAPER)}
    assert roots - sys.stdlib_module_names == {"torch"}


def test_nothing_in_the_product_imports_it() -> None:
    files = [path for path in ROOT.rglob("*.py") if path != PAPER]
    assert ROOT / "nn" / "transformer.py" in files
    for path in files:
        assert not any(f"{name}.".startswith("pellucid.paper.") for name in imported(path)), path
        assert '"pellucid.paper"' not in path.read_text(encoding="utf-8"), path  # a name to import lazily
