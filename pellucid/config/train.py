"""The settings of a training run."""

from __future__ import annotations

from typing import Literal

from pellucid.fields import Config, setting


class StartConfig(Config):
    """What a training starts from: random weights in a shape that has a name, or a trained model."""

    preset: Literal["tiny", "small", "base", "big"] | None = setting(
        None, "shape of the model by name; default: tiny, or base where a config file has a [model] table"
    )
    start_from: str | None = setting(
        None, "model to fine-tune: the name of a shipped model, or a model or run directory"
    )


class TrainConfig(Config):
    """How a model is trained. A run ends when the first of steps, epochs, minutes or patience is reached."""

    seed: int = setting(1, "random seed of the initial weights, batch order, dropout and held-out pairs", minimum=0)
    threads: int | None = setting(
        None, "CPU threads; default: one per core. Runs with equal threads give equal weights", minimum=1
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting("auto", "device to train on: auto, cpu, cuda, mps")
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto",
        "type of the matrix products: float32, bfloat16 (mixed precision), or auto: bfloat16 where the hardware "
        "has instructions for it",
    )
    steps: int | None = setting(None, "maximum number of updates", minimum=1)
    epochs: int | None = setting(None, "maximum number of passes over the pairs", minimum=1)
    minutes: float | None = setting(
        None, "maximum training time, summed over all resumed sessions of the run", minimum=0
    )
    batch_tokens: int = setting(4096, "maximum source plus target tokens per batch, padding included", minimum=16)
    accumulate: int = setting(
        1, "batches per update (gradient accumulation); processes under torchrun divide them", minimum=1
    )
    optimizer: Literal["adam", "adamw"] = setting("adam", "adam, or adamw (decoupled weight decay)")
    weight_decay: float = setting(0.0, "weight decay coefficient", minimum=0)
    beta_1: float = setting(0.9, "Adam: decay rate of the first moment", minimum=0, maximum=0.999999)
    beta_2: float = setting(0.98, "Adam: decay rate of the second moment", minimum=0, maximum=0.999999)
    learning_rate: float | None = setting(
        None,
        "peak learning rate; default: 0.0225 d_model^-0.5, which is 1e-3 for the base model. With schedule "
        "'paper', a factor on d_model^-0.5 min(step^-0.5, step warmup^-1.5); default: 1",
        minimum=0,
    )
    schedule: Literal["paper", "inverse_sqrt", "cosine", "constant"] = setting(
        "inverse_sqrt", "learning rate after the warm-up: inverse_sqrt, cosine (to 0), constant, or paper (section 5.3)"
    )
    warmup: int | None = setting(None, "steps of linear warm-up from 0; default: 2.5 d_model", minimum=0)
    cooldown: int = setting(0, "steps of linear decay to 0 at the end of the run, with any schedule", minimum=0)
    cooldown_share: float = setting(
        0.3,
        "share of a run that is limited by minutes alone, at its end, in which the learning rate falls linearly to 0",
        minimum=0,
        maximum=0.9,
    )
    label_smoothing: float = setting(0.1, "probability mass spread evenly over the vocabulary", minimum=0, maximum=0.9)
    r_drop: float = setting(
        0.0,
        "weight of R-Drop: the KL divergence between two forward passes with different dropout (5 is usual); "
        "doubles time and memory; 0: off",
        minimum=0,
    )
    clip: float = setting(1.0, "maximum gradient norm; 0: no clipping", minimum=0)
    average: int = setting(
        5, "number of last checkpoints whose weights the final model averages; 1: no averaging", minimum=1
    )
    ema: float = setting(
        0.0,
        "decay of an exponential moving average of the weights, used instead of `average`; 0: off",
        minimum=0,
        maximum=0.999999,
    )
    bpe_dropout: float = setting(
        0.0, "BPE dropout: probability that a merge is skipped, drawn anew in each epoch", minimum=0, maximum=0.9
    )
    validate_every: int = setting(1000, "steps between validations", minimum=1)
    validate_pairs: int = setting(
        500, "number of validation pairs translated for BLEU and chrF in each validation", minimum=0
    )
    checkpoint_every: int = setting(500, "steps between checkpoints", minimum=1)
    snapshots: int = setting(
        0,
        "number of snapshots kept over the run, evenly by steps, or by time where the steps are not known before: "
        "weights in float16, to watch the model learn",
        minimum=0,
    )
    patience: int | None = setting(
        None, "early stopping: validations without a lower loss before the run ends", minimum=1
    )
