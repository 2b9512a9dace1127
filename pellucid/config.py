"""Every setting of a model, of its training and of its decoding, field by field.

The same names are used in Python, in TOML and JSON files and after `--set`.
"""

from __future__ import annotations

from typing import Any, Literal

from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, setting

Positions = Literal["sinusoidal", "learned", "rotary", "none"]
PositionLayout = Literal["interleaved", "halves"]
Norm = Literal["layer", "rms", "batch"]
NormPlace = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "silu", "swiglu"]
Tie = Literal["all", "decoder", "none"]
Schedule = Literal["paper", "inverse_sqrt", "cosine", "constant"]
Strategy = Literal["greedy", "beam", "sample"]
Stopping = Literal["ctranslate2", "exact"]


class ModelConfig(Config):
    """The shape of a model. The defaults are the base model of "Attention Is All You Need"."""

    vocabulary: int | None = setting(
        default=None, doc="tokens shared by both sides; chosen from the corpus when not given", least=4
    )
    source_vocabulary: int | None = setting(
        default=None, doc="tokens of the source side, when the sides do not share", least=4
    )
    target_vocabulary: int | None = setting(
        default=None, doc="tokens of the target side, when the sides do not share", least=4
    )
    d_model: int = setting(default=512, doc="size of the vector that stands for a token", least=1)
    heads: int = setting(default=8, doc="attention heads; each is d_model / heads wide", least=1)
    kv_heads: int | None = setting(
        default=None, doc="heads of keys and values, shared by groups of query heads; default: heads", least=1
    )
    feed_forward: int = setting(default=2048, doc="width of the hidden layer in the feed-forward part", least=1)
    encoder_layers: int = setting(default=6, doc="layers of the encoder", least=1)
    decoder_layers: int = setting(default=6, doc="layers of the decoder", least=1)
    positions: Positions = setting(
        default="sinusoidal", doc="how a token is told where it stands: sinusoidal, learned, rotary, none"
    )
    position_layout: PositionLayout = setting(
        default="interleaved",
        doc="sines and cosines (or rotated pairs) alternate, as in the paper (interleaved), or fill two halves",
    )
    max_length: int = setting(default=512, doc="longest sequence of a learned position table", least=1)
    norm: Norm = setting(default="layer", doc="which normalisation: layer, rms, batch")
    norm_place: NormPlace = setting(
        default="post", doc="norm(x + f(x)) as in the paper (post), or x + f(norm(x)) (pre)"
    )
    activation: Activation = setting(
        default="relu", doc="the non-linearity of the feed-forward part: relu, gelu, silu, swiglu"
    )
    tie: Tie = setting(
        default="all",
        doc="which embeddings are one matrix: source, target and output (all); the last two (decoder); none",
    )
    embedding_scale: bool = setting(default=True, doc="multiply embeddings by sqrt(d_model)")
    embedding_norm: bool = setting(default=False, doc="normalise the sum of embedding and position")
    bias: bool = setting(default=True, doc="biases in the linear maps of the layers")
    output_bias: bool = setting(default=False, doc="a bias on the logits")
    dropout: float = setting(
        default=0.1, doc="dropped of every sublayer's output and of the embedded input", least=0, most=0.95
    )
    attention_dropout: float = setting(default=0.0, doc="dropped of the attention weights", least=0, most=0.95)
    activation_dropout: float = setting(default=0.0, doc="dropped inside the feed-forward part", least=0, most=0.95)

    def conflicts(self) -> list[Problem]:
        problems = []
        if self.d_model % self.heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            near = min(fitting, key=lambda h: abs(h - self.heads))
            problems.append(
                Problem(
                    f"{self.d_model} is not divisible by heads {self.heads}", "d_model", f"for instance heads={near}"
                )
            )
        elif self.positions == "rotary" and self.d_head % 2:
            remedy = "choose d_model and heads so that d_model / heads is even"
            problems.append(Problem(f"rotary positions need an even head size, not {self.d_head}", "positions", remedy))
        if self.positions == "sinusoidal" and self.d_model % 2:
            problems.append(
                Problem(f"sinusoidal positions need an even d_model, not {self.d_model}", "d_model", "add 1")
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            problems.append(
                Problem(
                    f"heads {self.heads} is not divisible by it ({self.kv_heads})",
                    "kv_heads",
                    "give a divisor of heads",
                )
            )
        both = self.source_vocabulary is not None and self.target_vocabulary is not None
        either = self.source_vocabulary is not None or self.target_vocabulary is not None
        if either and not both:
            missing = "source_vocabulary" if self.source_vocabulary is None else "target_vocabulary"
            problems.append(
                Problem("missing, though the other side is given", missing, "give both, or vocabulary alone")
            )
        if either and self.vocabulary is not None:
            problems.append(Problem("given beside a vocabulary for each side", "vocabulary", "give one or the other"))
        if either and self.tie == "all":
            problems.append(
                Problem("'all' needs one shared vocabulary", "tie", "tie='decoder' or 'none', or give vocabulary alone")
            )
        return problems

    @property
    def d_head(self) -> int:
        return self.d_model // self.heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values: fewer than `heads` when groups of queries share them."""
        return self.kv_heads or self.heads

    @property
    def most_positions(self) -> int | None:
        """Where a learned table ends; None: there are as many as are asked for."""
        return self.max_length if self.positions == "learned" else None

    @property
    def source_tokens(self) -> int:
        return self._tokens(self.source_vocabulary)

    @property
    def target_tokens(self) -> int:
        return self._tokens(self.target_vocabulary)

    def _tokens(self, side: int | None) -> int:
        size = side or self.vocabulary
        if size is None:
            raise UserError("not given", "vocabulary", "give the number of tokens, or learn a tokenizer first")
        return size


PRESETS: dict[str, dict[str, Any]] = {
    # Small models have pre-norm: it learns faster and forgives high learning rates.
    "tiny": {
        "d_model": 128,
        "heads": 4,
        "feed_forward": 256,
        "encoder_layers": 4,
        "decoder_layers": 4,
        "norm_place": "pre",
    },
    "small": {
        "d_model": 256,
        "heads": 4,
        "feed_forward": 1024,
        "encoder_layers": 6,
        "decoder_layers": 3,
        "norm_place": "pre",
    },
    # The paper's two.
    "base": {},
    "big": {"d_model": 1024, "heads": 16, "feed_forward": 4096, "dropout": 0.3},
}


def preset(name: str, **values: Any) -> ModelConfig:
    """The model of a preset, with some of its fields changed."""
    if name not in PRESETS:
        raise UserError(f"unknown preset {name!r}", "preset", nearest(name, PRESETS))
    return ModelConfig(**{**PRESETS[name], **values})


class TrainConfig(Config):
    """How a model is trained. A run ends at the first of steps, epochs, minutes or patience that is reached."""

    seed: int = setting(
        default=1, doc="of everything drawn at random: first weights, order, dropout, held-out pairs", least=0
    )
    threads: int | None = setting(
        default=None, doc="CPU threads; default: one a core. Equal counts give equal weights", least=1
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(default="auto", doc="where to train: auto, cpu, cuda, mps")
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        default="auto",
        doc="of the matrix products: float32, bfloat16, or auto: bfloat16 where the hardware multiplies it",
    )
    steps: int | None = setting(default=None, doc="updates at most", least=1)
    epochs: int | None = setting(default=None, doc="passes over the pairs at most", least=1)
    minutes: float | None = setting(default=None, doc="time at most, over all sessions of the run", least=0)
    batch_tokens: int = setting(
        default=4096, doc="source and target tokens of one batch at most, padding included", least=16
    )
    accumulate: int = setting(default=1, doc="batches of one update; processes under torchrun share them out", least=1)
    optimizer: Literal["adam", "adamw"] = setting(
        default="adam", doc="adam, or adamw, which keeps weight decay apart from the gradient"
    )
    weight_decay: float = setting(default=0.0, doc="pull of the weights towards zero", least=0)
    beta_1: float = setting(default=0.9, doc="memory of the gradient's mean", least=0, most=0.999999)
    beta_2: float = setting(default=0.98, doc="memory of the gradient's square", least=0, most=0.999999)
    learning_rate: float | None = setting(
        default=None,
        doc="the highest one; default: 0.0225 d_model^-0.5, which is 1e-3 for the base model. For schedule 'paper' "
        "a factor on d_model^-0.5 min(step^-0.5, step warmup^-1.5); default: 1",
        least=0,
    )
    schedule: Schedule = setting(
        default="inverse_sqrt",
        doc="how the learning rate changes after the warm-up: inverse_sqrt, cosine (to 0), constant, paper",
    )
    warmup: int | None = setting(
        default=None, doc="steps over which the learning rate rises from 0; default: 2.5 d_model", least=0
    )
    cooldown: int = setting(
        default=0,
        doc="steps at the end over which the learning rate is led to 0 in a line, whatever the schedule",
        least=0,
    )
    label_smoothing: float = setting(
        default=0.1, doc="probability spread evenly over the vocabulary", least=0, most=0.9
    )
    r_drop: float = setting(
        default=0.0,
        doc="how much two passes over each batch, with other parts dropped, are held to agree (R-Drop; 5 is usual), "
        "which takes twice the time and the memory; 0: one pass",
        least=0,
    )
    clip: float = setting(default=1.0, doc="largest norm of the gradient; 0: no limit", least=0)
    average: int = setting(default=5, doc="how many of the last checkpoints the final model averages; 1: none", least=1)
    ema: float = setting(
        default=0.0,
        doc="decay of an exponential moving average of the weights, instead of `average`; 0: none",
        least=0,
        most=0.999999,
    )
    bpe_dropout: float = setting(
        default=0.0, doc="chance that a merge of the tokenizer is left out, afresh each epoch", least=0, most=0.9
    )
    validate_every: int = setting(default=1000, doc="steps between validations", least=1)
    validate_pairs: int = setting(default=500, doc="pairs that a validation during the run translates", least=0)
    checkpoint_every: int = setting(default=500, doc="steps between checkpoints", least=1)
    patience: int | None = setting(
        default=None, doc="validations without a better loss before the run ends early", least=1
    )


class DecodeConfig(Config):
    """How a translation is searched for. Scores are log-probabilities divided by length ** length_penalty."""

    strategy: Strategy = setting(
        default="beam", doc="greedy: the likeliest token; beam: the likeliest sequences; sample: drawn"
    )
    beam: int = setting(default=5, doc="hypotheses kept alive", least=1)
    length_penalty: float = setting(
        default=1.0, doc="exponent of the length a score is divided by; 0: none", least=-10, most=10
    )
    top_k: int | None = setting(default=None, doc="sample from the k likeliest tokens", least=1)
    top_p: float | None = setting(
        default=None, doc="sample from the fewest tokens whose probability exceeds p", least=0, most=1
    )
    temperature: float = setting(default=1.0, doc="divides the logits before sampling", least=0)
    seed: int | None = setting(default=None, doc="of the sampling; equal seeds give equal texts", least=0)
    n_best: int = setting(default=1, doc="translations returned for each sentence", least=1)
    min_length: int = setting(default=0, doc="tokens before the end may come", least=0)
    max_length: int | None = setting(
        default=None, doc="tokens at most; default: three times the source and ten more", least=1
    )
    repetition_penalty: float = setting(default=1.0, doc="above 1: tokens already said are less likely", least=0.01)
    no_repeat_ngram: int = setting(default=0, doc="no n tokens in a row come twice; 0: they may", least=0)
    stopping: Stopping = setting(
        default="ctranslate2",
        doc="when a beam ends: with `beam` finished ones, or (exact) when no live hypothesis can win",
    )
    scores: bool = setting(default=True, doc="say how likely a translation is; a greedy search is faster without")

    def conflicts(self) -> list[Problem]:
        problems = []
        if self.strategy == "beam" and self.n_best > self.beam:
            problems.append(Problem(f"{self.n_best} is more than beam {self.beam}", "n_best", "raise beam"))
        if self.strategy == "greedy" and self.n_best > 1:
            problems.append(Problem("greedy finds one translation", "n_best", "use strategy 'beam' or 'sample'"))
        if self.max_length is not None and self.max_length < self.min_length:
            problems.append(
                Problem(f"{self.max_length} is below min_length {self.min_length}", "max_length", "raise it")
            )
        if self.strategy != "sample":
            problems += [
                Problem(f"has no meaning with strategy {self.strategy!r}", name, "choose the strategy 'sample'")
                for name, neutral in (("top_k", None), ("top_p", None), ("temperature", 1.0))
                if getattr(self, name) != neutral
            ]
        return problems
