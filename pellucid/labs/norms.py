"""C15: batch norm depends on the batch, on padding and on running statistics; layer norm and RMS norm do not."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.fields import setting
from pellucid.labs.parts.figures import Figure, axis, bars, group, lines, series_over_seeds, table
from pellucid.labs.parts.intervals import interval
from pellucid.labs.parts.lab import Data, Lab, LabConfig, Progress, Steps, Verdict

if TYPE_CHECKING:
    from torch import Tensor, nn

KINDS = ("layer", "rms", "batch")
SIZES = (2, 4, 8, 16, 32, 64, 128)  # sentences of a batch
PADDING = (0.25, 0.5, 0.75)
LENGTH, D_MODEL = 8, 32
TRIALS = 20  # batches that a difference is averaged over
SAME, CHANGES = 1e-6, 0.05  # root mean square of the differences, of outputs whose size is about 1
TRAINED_SIZES = (2, 32)
LETTERS = 12


class Settings(LabConfig):
    updates: int = setting(60, "updates of each model that is trained", minimum=5, maximum=1000)
    learning_rate: float = setting(0.01, "highest learning rate of the training (Adam)", minimum=0.0001, maximum=0.05)


def measure(config: Settings) -> Steps[Data]:
    import torch

    with torch.no_grad():
        seeds, found = config.all_seeds, {}
        found["by_size"] = {k: [[depends(k, n, 0.0, s, config) for s in seeds] for n in SIZES] for k in KINDS}
        found["by_padding"] = {k: [[depends(k, 32, p, s, config) for s in seeds] for p in PADDING] for k in KINDS}
        found["inference"] = {k: [[train_to_inference(k, n, s, config) for s in seeds] for n in SIZES] for k in KINDS}
    yield Progress(0.2)
    losses: dict[str, list[list[float]]] = {kind: [[] for _ in TRAINED_SIZES] for kind in KINDS}
    runs = [(kind, at, seed) for kind in KINDS for at in range(len(TRAINED_SIZES)) for seed in seeds]
    for number, (kind, at, seed) in enumerate(runs):
        loss = yield from train_one(kind, TRAINED_SIZES[at], seed, config, (0.2 + 0.8 * number / len(runs), len(runs)))
        losses[kind][at].append(loss)
    return {**found, "losses": losses, "timing": seconds()}


def make(kind: str, config: Settings) -> nn.Module:
    """The product's norm. Batch norm counts padding here, as one does who forgets it."""
    from pellucid.nn.norms import BatchNorm, LayerNorm, RMSNorm

    if kind == "rms":
        return RMSNorm(D_MODEL)
    if kind == "layer" or config.broken:
        return LayerNorm(D_MODEL)
    return BatchNorm(D_MODEL, count_padding=True)


def sentences(count: int, random: np.random.Generator) -> Tensor:
    """Features of tokens, (sentences, LENGTH, D_MODEL): those of one sentence have something in common."""
    import torch

    common, own = random.normal(size=(count, 1, D_MODEL)), random.normal(size=(count, LENGTH, D_MODEL))
    return torch.from_numpy((common + own + 0.5).astype(np.float32))


def depends(kind: str, size: int, padding: float, seed: int, config: Settings) -> float:
    """How much a sentence's output changes when it stands among other sentences: root mean square over `TRIALS`. With
    `padding`, that share of the positions beside it is padding (zeros) in the one case, and nothing in the other."""
    random = np.random.default_rng([seed, size, round(100 * padding)])
    norm = make(kind, config).train()
    squares = []
    for _ in range(TRIALS):
        mine, first, second = sentences(1, random), sentences(size - 1, random), sentences(size - 1, random)
        if padding:
            second = first.clone()
            second[:, round((1 - padding) * LENGTH) :] = 0.0
        outputs = [norm(each)[0] for each in (_side_by_side(mine, first), _side_by_side(mine, second))]
        squares.append(float((outputs[0] - outputs[1]).square().mean()))
    return float(np.sqrt(np.mean(squares)))


def _side_by_side(mine: Tensor, others: Tensor) -> Tensor:
    import torch

    return torch.cat([mine, others])


def train_to_inference(kind: str, size: int, seed: int, config: Settings) -> float:
    """How much the output of a batch differs between training and inference, after 50 batches of the same size."""
    random = np.random.default_rng([seed, size, 7])
    norm = make(kind, config).train()
    for _ in range(50):
        norm(sentences(size, random))
    batch = sentences(size, random)
    return float((norm(batch) - norm.eval()(batch)).square().mean().sqrt())


def train_one(kind: str, size: int, seed: int, config: Settings, done: tuple[float, int]) -> Steps[float]:
    """Train a model of the product to copy letters, in batches of so many sentences: its loss at inference."""
    import torch

    from pellucid.labs.networks.torch_training import mean_loss, small, train
    from pellucid.nn import Transformer
    from pellucid.text.batch import Batch
    from pellucid.text.tokenizer import END

    chosen = "layer" if config.broken and kind == "batch" else kind
    model = Transformer(small(4 + LETTERS, d_model=32, heads=2, feed_forward=64, norm=chosen), seed)

    def batch(update: int, rows: int) -> Batch:
        random = np.random.default_rng([seed, update])
        texts = [[*map(int, random.integers(4, 4 + LETTERS, random.integers(1, 7))), END] for _ in range(rows)]
        return Batch.from_ids(texts, texts)

    def progress(share: float, update: int, loss: float) -> Progress:
        return Progress(done[0] + 0.8 * share / done[1], f"{kind}, batches of {size}", update, loss)

    yield from train(model, lambda u: mean_loss(model, batch(u, size)), config.updates, config.learning_rate, progress)
    with torch.inference_mode():
        return float(mean_loss(model, batch(10**6, 128)))


def seconds() -> dict[str, float]:
    """Microseconds of CPU time that a norm takes for 64 sentences of 32 tokens and 256 features: the median of 30."""
    import torch

    from pellucid.nn.norms import BatchNorm, LayerNorm, RMSNorm

    x = torch.randn(64, 32, 256)
    found: dict[str, Any] = {}
    with torch.no_grad():
        for kind, norm in {"layer": LayerNorm(256), "rms": RMSNorm(256), "batch": BatchNorm(256)}.items():
            times = []
            for _ in range(30):
                start = thread_time()
                norm(x)
                times.append(1e6 * (thread_time() - start))
            found[kind] = float(np.median(times))
    return found


def decide(data: Data) -> Verdict:
    others = max(max(map(max, data[part][kind])) for part in ("by_size", "by_padding") for kind in ("layer", "rms"))
    small, large = (interval(data["by_size"]["batch"][at]).mean for at in (0, -1))
    padded = interval(data["by_padding"]["batch"][-1]).mean
    found = (
        f"Beside other sentences, a sentence's output changes by {small:.2f} with batch norm in batches of "
        f"{SIZES[0]}, by {large:.2f} in batches of {SIZES[-1]}, and by {padded:.2f} where three quarters of the "
        f"batch become padding; with layer norm and RMS norm by {others:.0e}"
    )
    if small < CHANGES or others > SAME:
        return Verdict("refuted", f"{found}: that is not what sets them apart.")
    if small > 2 * large and padded > CHANGES:
        return Verdict("shown", f"{found}.")
    return Verdict("not decided", f"{found}.")


def draw(data: Data) -> list[Figure]:
    def curves(part: str, x: tuple[float, ...]) -> list[Figure]:
        return [series_over_seeds(f"{kind} norm", x, data[part][kind]) for kind in KINDS]

    change = axis("change of the output", low=0)
    names = [f"batches of {size}" for size in TRAINED_SIZES]
    losses = [group(f"{kind} norm", data["losses"][kind]) for kind in KINDS]
    size = axis("sentences of the batch", log=True)
    rows = [[f"{kind} norm", f"{value:,.0f}"] for kind, value in data["timing"].items()]
    return [
        lines("One sentence, beside other sentences", size, change, curves("by_size", SIZES),
              "Outputs have a size of about 1. Layer norm and RMS norm lie on each other, at zero."),
        lines("One sentence, when the others become padding", axis("share of padding", low=0, high=1), change,
              curves("by_padding", PADDING),
              "Batches of 32; padding is counted, which the product's batch norm does not do."),
        lines("Training against inference", size, axis("difference", low=0), curves("inference", SIZES),
              "The same batch, by its own statistics and by the running ones."),
        bars("A small model that learns to copy: loss at inference", names, axis("loss", low=0), losses),
        table("Time for 64 sentences of 32 tokens, d_model 256", ["", "microseconds"], rows,
              "CPU time on one core, measured beside other work: a hint and no benchmark."),
    ]  # fmt: skip


LAB = Lab(
    name="norms",
    claims="C15",
    title="Batch norm depends on the batch",
    question="Which normalisation gives a sentence the same result whatever stands beside it?",
    notes="Batch norm normalises a feature over the batch: unreliable with small batches and with padding. Layer "
    "norm does not depend on the batch. RMS norm subtracts no mean and is cheaper.",
    method="A sentence goes through each norm of the product among two sets of other sentences, in batches of 2 to "
    "128, and among sentences that are padding for up to 75%. Outputs in training are compared with those at "
    "inference, and small models learn to copy letters with each norm in batches of 2 and of 32.",
    criterion="Shown if the output changes by at most a millionth with layer norm and RMS norm, and with batch "
    "norm by at least 0.05, in batches of 2 more than twice as much as in batches of 128, and by at least 0.05 "
    "with 75% padding.",
    refuted_by="Outputs of batch norm that do not depend on the batch, or those of layer or RMS norm that do.",
    broken="Layer norm stands in the place of batch norm.",
    settings=Settings,
    quick={"seeds": 2, "updates": 5},
    live=("update", "loss"),
    measure=measure,
    decide=decide,
    draw=draw,
    needs_torch=True,
)
