"""Every setting of the project, field by field. Frozen; checked when made; all problems reported at once.

The same names are used in Python, in TOML and JSON files and after `--set`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self, cast, dataclass_transform, get_args, get_type_hints

from pellucid.errors import Problem, UserError, nearest

Positions = Literal["sinusoidal", "learned", "rotary", "none"]
PositionLayout = Literal["interleaved", "halves"]
Norm = Literal["layer", "rms", "batch"]
NormPlace = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "silu", "swiglu"]
Tie = Literal["all", "decoder", "none"]
Schedule = Literal["paper", "inverse_sqrt", "cosine", "constant"]
Strategy = Literal["greedy", "beam", "sample"]
Stopping = Literal["ctranslate2", "exact"]


def setting(default: Any, doc: str, least: float | None = None, most: float | None = None) -> Any:
    """A documented field with the range it may lie in (both ends allowed)."""
    return field(default=default, metadata={"doc": doc, "least": least, "most": most})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Config:
    """A frozen set of fields that lists everything wrong with its values in one `UserError`."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, init=False)(cls)

    def __init__(self, **values: Any) -> None:
        known = {f.name: f for f in fields(cast(Any, self))}
        problems = [
            Problem(f"unknown key (value {value!r})", name, nearest(name, known))
            for name, value in values.items()
            if name not in known
        ]
        types = get_type_hints(type(self))
        for name, spec in known.items():
            value = values.get(name, spec.default)
            expected = get_args(types[name]) or (types[name],)
            problem = _problem(name, value, expected, spec.metadata["least"], spec.metadata["most"])
            if problem:
                problems.append(problem)
                value = spec.default  # lets the checks across fields run, so that every problem is told at once
            object.__setattr__(self, name, float(value) if type(value) is int and float in expected else value)
        problems += self.conflicts()
        if problems:
            raise UserError(problems)

    def conflicts(self) -> list[Problem]:
        """Problems between fields that are each right alone."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """The fields that have a value, ready for JSON or TOML (which knows no null)."""
        return {name: value for name, value in asdict(cast(Any, self)).items() if value is not None}

    def changed(self, **values: Any) -> Self:
        """A copy with other values, checked as a whole."""
        return replace(cast(Any, self), **values)  # type: ignore[no-any-return]


def _problem(
    name: str, value: Any, expected: tuple[Any, ...], least: float | None, most: float | None
) -> Problem | None:
    words = [choice for choice in expected if isinstance(choice, str)]
    if words:
        if value in words:
            return None
        return Problem(f"{value!r} is not a choice", name, nearest(str(value), words))
    kinds = tuple(kind for kind in expected if isinstance(kind, type))
    if value is None and type(None) in kinds:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        (number and float in kinds)
        or (isinstance(value, int) and not isinstance(value, bool) and int in kinds)
        or any(isinstance(value, kind) for kind in kinds if kind not in (int, float))
    )
    if not fits:
        wanted = " or ".join(kind.__name__ for kind in kinds if kind is not type(None))
        return Problem(f"{value!r} is not of type {wanted}", name, f"give a value of type {wanted}")
    if number and not ((least is None or value >= least) and (most is None or value <= most)):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        return Problem(f"{value!r} is out of range", name, f"give a number {bounds}")
    return None


class ModelConfig(Config):
    """The shape of a model. The defaults are the base model of "Attention Is All You Need"."""

    vocabulary: int | None = setting(None, "tokens shared by both sides; chosen from the corpus when not given", 4)
    source_vocabulary: int | None = setting(None, "tokens of the source side, when the sides do not share", 4)
    target_vocabulary: int | None = setting(None, "tokens of the target side, when the sides do not share", 4)
    d_model: int = setting(512, "size of the vector that stands for a token", 1)
    heads: int = setting(8, "attention heads; each is d_model / heads wide", 1)
    kv_heads: int | None = setting(None, "heads of keys and values, shared by groups of query heads; default: heads", 1)
    feed_forward: int = setting(2048, "width of the hidden layer in the feed-forward part", 1)
    encoder_layers: int = setting(6, "layers of the encoder", 1)
    decoder_layers: int = setting(6, "layers of the decoder", 1)
    positions: Positions = setting("sinusoidal", "how a token is told where it stands")
    position_layout: PositionLayout = setting(
        "interleaved", "sines and cosines (or rotated pairs) alternate, as in the paper, or fill two halves"
    )
    max_length: int = setting(512, "longest sequence of a learned position table", 1)
    norm: Norm = setting("layer", "which normalisation")
    norm_place: NormPlace = setting("post", "norm(x + f(x)) as in the paper (post), or x + f(norm(x)) (pre)")
    activation: Activation = setting("relu", "the non-linearity of the feed-forward part")
    tie: Tie = setting("all", "which embeddings are one matrix: source, target and output; the last two; none")
    embedding_scale: bool = setting(True, "multiply embeddings by sqrt(d_model)")
    embedding_norm: bool = setting(False, "normalise the sum of embedding and position")
    bias: bool = setting(True, "biases in the linear maps of the layers")
    output_bias: bool = setting(False, "a bias on the logits")
    dropout: float = setting(0.1, "dropped of every sublayer's output and of the embedded input", 0, 0.95)
    attention_dropout: float = setting(0.0, "dropped of the attention weights", 0, 0.95)
    activation_dropout: float = setting(0.0, "dropped inside the feed-forward part", 0, 0.95)

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
    "tiny": {"d_model": 128, "heads": 4, "feed_forward": 256, "encoder_layers": 4, "decoder_layers": 4},
    "small": {"d_model": 256, "heads": 4, "feed_forward": 1024, "encoder_layers": 6, "decoder_layers": 3},
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

    seed: int = setting(1, "of everything drawn at random: first weights, order, dropout, held-out pairs", 0)
    threads: int | None = setting(None, "CPU threads; default: one a core. Equal counts give equal weights", 1)
    device: Literal["auto", "cpu", "cuda", "mps"] = setting("auto", "where to train")
    precision: Literal["auto", "float32", "bfloat16"] = setting(
        "auto", "of the matrix products; auto: bfloat16 where the hardware multiplies it"
    )
    steps: int | None = setting(None, "updates at most", 1)
    epochs: float | None = setting(None, "passes over the pairs at most", 0)
    minutes: float | None = setting(None, "time at most, over all sessions of the run", 0)
    batch_tokens: int = setting(4096, "source and target tokens of one batch at most, padding included", 16)
    accumulate: int = setting(1, "batches of one update", 1)
    optimizer: Literal["adam", "adamw"] = setting("adam", "adamw keeps weight decay apart from the gradient")
    weight_decay: float = setting(0.0, "pull of the weights towards zero", 0)
    beta_1: float = setting(0.9, "memory of the gradient's mean", 0, 1)
    beta_2: float = setting(0.98, "memory of the gradient's square", 0, 1)
    learning_rate: float = setting(
        1e-3, "the highest one; for schedule 'paper' a factor on d_model^-0.5 min(step^-0.5, step warmup^-1.5)", 0
    )
    schedule: Schedule = setting("inverse_sqrt", "how the learning rate changes after the warm-up")
    warmup: int = setting(2000, "steps over which the learning rate rises from 0", 0)
    label_smoothing: float = setting(0.1, "probability spread evenly over the vocabulary", 0, 0.9)
    clip: float = setting(1.0, "largest norm of the gradient; 0: no limit", 0)
    average: int = setting(5, "how many of the last checkpoints the final model averages; 1: none", 1)
    ema: float = setting(
        0.0, "decay of an exponential moving average of the weights, instead of `average`; 0: none", 0, 1
    )
    bpe_dropout: float = setting(0.0, "chance that a merge of the tokenizer is left out, afresh each epoch", 0, 0.9)
    validate_every: int = setting(1000, "steps between validations", 1)
    validate_pairs: int = setting(500, "pairs that a validation during the run translates", 0)
    checkpoint_every: int = setting(500, "steps between checkpoints", 1)
    patience: int | None = setting(None, "validations without a better loss before the run ends early", 1)


class DecodeConfig(Config):
    """How a translation is searched for. Scores are log-probabilities divided by length ** length_penalty."""

    strategy: Strategy = setting("beam", "greedy: the likeliest token; beam: the likeliest sequences; sample: drawn")
    beam: int = setting(5, "hypotheses kept alive", 1)
    length_penalty: float = setting(1.0, "exponent of the length a score is divided by; 0: none")
    top_k: int | None = setting(None, "sample from the k likeliest tokens", 1)
    top_p: float | None = setting(None, "sample from the fewest tokens whose probability exceeds p", 0, 1)
    temperature: float = setting(1.0, "divides the logits before sampling", 0)
    seed: int | None = setting(None, "of the sampling; equal seeds give equal texts", 0)
    n_best: int = setting(1, "translations returned for each sentence", 1)
    min_length: int = setting(0, "tokens before the end may come", 0)
    max_length: int | None = setting(None, "tokens at most; default: three times the source and ten more", 1)
    repetition_penalty: float = setting(1.0, "above 1: tokens already said are less likely", 0)
    no_repeat_ngram: int = setting(0, "no n tokens in a row come twice; 0: they may", 0)
    stopping: Stopping = setting(
        "ctranslate2", "when a beam ends: with `beam` finished ones, or (exact) when no live hypothesis can win"
    )

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
                Problem(f"has no meaning with strategy {self.strategy!r}", name, "add strategy='sample'")
                for name, neutral in (("top_k", None), ("top_p", None), ("temperature", 1.0))
                if getattr(self, name) != neutral
            ]
        return problems


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """`key=value` words as given after `--set`; values are read as TOML, bare words as text."""
    values: dict[str, Any] = {}
    problems = []
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            problems.append(Problem(f"{text!r} is no setting", "--set", "write key=value"))
            continue
        values[name.strip()] = parse_value(value.strip())
    if problems:
        raise UserError(problems)
    return values


def parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def split_settings(values: Mapping[str, Any], *kinds: type[Config]) -> list[dict[str, Any]]:
    """Deal settings out to the configs that know their names; a name that none knows is an error."""
    names = [{f.name for f in fields(cast(Any, kind))} for kind in kinds]
    unknown = [name for name in values if not any(name in known for known in names)]
    if unknown:
        every = [name for known in names for name in sorted(known)]
        raise UserError(
            Problem(f"unknown key (value {values[name]!r})", name, nearest(name, every)) for name in unknown
        )
    return [{name: value for name, value in values.items() if name in known} for known in names]
