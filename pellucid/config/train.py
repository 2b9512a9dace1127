"""The settings of a training run."""

from __future__ import annotations

from typing import Literal

from pellucid.fields import Config, setting


class StartConfig(Config):
    """What a training starts from: random weights in a shape that has a name, or a trained model."""

    preset: Literal["tiny", "small", "base", "big"] | None = setting(
        default=None, help="shape of the model by name; default: tiny, or base where a config file has a [model] table"
    )
    start_from: str | None = setting(
        default=None, help="model to fine-tune: the name of a shipped model, or a model or run directory"
    )


class TrainConfig(Config):
    """How a model is trained. A run ends when the first of steps, epochs, minutes or patience is reached."""

    seed: int = setting(
        default=1, help="random seed of the initial weights, batch order, dropout and held-out pairs", minimum=0
    )
    threads: int | None = setting(
        default=None, help="CPU threads; default: one per core. Runs with equal threads give equal weights", minimum=1
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(
        default="auto", help="device to train on: auto, cpu, cuda, mps"
    )
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        default="auto",
        help="type of the matrix products: float32, bfloat16 (mixed precision), or auto: bfloat16 where the hardware "
        "multiplies it",
    )
    steps: int | None = setting(default=None, help="maximum number of updates", minimum=1)
    epochs: int | None = setting(default=None, help="maximum number of passes over the pairs", minimum=1)
    minutes: float | None = setting(
        default=None, help="maximum training time, summed over all resumed sessions of the run", minimum=0
    )
    batch_tokens: int = setting(
        default=4096, help="maximum source plus target tokens per batch, padding included", minimum=16
    )
    accumulate: int = setting(
        default=1, help="batches per update (gradient accumulation); processes under torchrun divide them", minimum=1
    )
    optimizer: Literal["adam", "adamw"] = setting(default="adam", help="adam, or adamw (decoupled weight decay)")
    weight_decay: float = setting(default=0.0, help="weight decay coefficient", minimum=0)
    beta_1: float = setting(default=0.9, help="Adam: decay rate of the first moment", minimum=0, maximum=0.999999)
    beta_2: float = setting(default=0.98, help="Adam: decay rate of the second moment", minimum=0, maximum=0.999999)
    learning_rate: float | None = setting(
        default=None,
        help="peak learning rate; default: 0.0225 d_model^-0.5, which is 1e-3 for the base model. With schedule "
        "'paper', a factor on d_model^-0.5 min(step^-0.5, step warmup^-1.5); default: 1",
        minimum=0,
    )
    schedule: Literal["paper", "inverse_sqrt", "cosine", "constant"] = setting(
        default="inverse_sqrt",
        help="learning rate after the warm-up: inverse_sqrt, cosine (to 0), constant, or paper (section 5.3)",
    )
    warmup: int | None = setting(default=None, help="steps of linear warm-up from 0; default: 2.5 d_model", minimum=0)
    cooldown: int = setting(
        default=0, help="steps of linear decay to 0 at the end of the run, with any schedule", minimum=0
    )
    label_smoothing: float = setting(
        default=0.1, help="probability mass spread evenly over the vocabulary", minimum=0, maximum=0.9
    )
    r_drop: float = setting(
        default=0.0,
        help="weight of R-Drop: the KL divergence between two forward passes with different dropout (5 is usual); "
        "doubles time and memory; 0: off",
        minimum=0,
    )
    clip: float = setting(default=1.0, help="maximum gradient norm; 0: no clipping", minimum=0)
    average: int = setting(
        default=5, help="number of last checkpoints whose weights the final model averages; 1: no averaging", minimum=1
    )
    ema: float = setting(
        default=0.0,
        help="decay of an exponential moving average of the weights, used instead of `average`; 0: off",
        minimum=0,
        maximum=0.999999,
    )
    bpe_dropout: float = setting(
        default=0.0,
        help="BPE dropout: probability that a merge is skipped, drawn anew in each epoch",
        minimum=0,
        maximum=0.9,
    )
    validate_every: int = setting(default=1000, help="steps between validations", minimum=1)
    validate_pairs: int = setting(
        default=500, help="number of validation pairs translated for BLEU and chrF in each validation", minimum=0
    )
    checkpoint_every: int = setting(default=500, help="steps between checkpoints", minimum=1)
    patience: int | None = setting(
        default=None, help="early stopping: validations without a lower loss before the run ends", minimum=1
    )
