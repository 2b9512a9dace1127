"""The shape of a model, and the presets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pellucid.errors import Problem, UserError, nearest
from pellucid.fields import Config, setting

PositionLayout = Literal["interleaved", "halves"]


class ModelConfig(Config):
    """The shape of a model. The defaults are the base model of "Attention Is All You Need"."""

    vocabulary: int | None = setting(
        None, "size of the vocabulary that both sides share; default: chosen from the corpus", minimum=4
    )
    source_vocabulary: int | None = setting(
        None, "size of the source vocabulary, where the sides have separate ones", minimum=4
    )
    target_vocabulary: int | None = setting(
        None, "size of the target vocabulary, where the sides have separate ones", minimum=4
    )
    d_model: int = setting(512, "size of the vector of each token (embedding size)", minimum=1, maximum=65_536)
    heads: int = setting(8, "attention heads; each has size d_model / heads", minimum=1, maximum=65_536)
    kv_heads: int | None = setting(
        None,
        "key and value heads, each shared by a group of query heads (grouped-query attention); default: heads",
        minimum=1,
    )
    feed_forward: int = setting(2048, "size of the hidden layer of the feed-forward network", minimum=1)
    encoder_layers: int = setting(6, "number of encoder layers", minimum=1, maximum=1000)
    decoder_layers: int = setting(6, "number of decoder layers", minimum=1, maximum=1000)
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = setting(
        "sinusoidal", "positional encoding: sinusoidal, learned, rotary, none"
    )
    position_layout: PositionLayout = setting(
        "interleaved",
        "order of sines and cosines (or rotated pairs): alternating as in the paper (interleaved), or two halves",
    )
    max_length: int = setting(512, "number of positions in the table of learned positional encodings", minimum=1)
    norm: Literal["layer", "rms", "batch"] = setting("layer", "normalisation: layer, rms, batch")
    norm_place: Literal["pre", "post"] = setting("post", "post: norm(x + f(x)), as in the paper; pre: x + f(norm(x))")
    activation: Literal["relu", "gelu", "silu", "swiglu"] = setting(
        "relu", "activation function of the feed-forward network: relu, gelu, silu, swiglu"
    )
    tie: Literal["all", "decoder", "none"] = setting(
        "all", "which embeddings share one matrix: source, target and output (all); target and output (decoder); none"
    )
    embedding_scale: bool = setting(True, "multiply embeddings by sqrt(d_model)")
    embedding_norm: bool = setting(False, "normalise the sum of embedding and positional encoding")
    bias: bool = setting(True, "biases in the linear maps of the layers")
    output_bias: bool = setting(False, "bias of the output layer (the logits)")
    dropout: float = setting(
        0.1, "dropout probability of every sublayer's output and of the embeddings", minimum=0, maximum=0.95
    )
    attention_dropout: float = setting(0.0, "dropout probability of the attention weights", minimum=0, maximum=0.95)
    activation_dropout: float = setting(
        0.0, "dropout probability of the feed-forward network's hidden layer", minimum=0, maximum=0.95
    )

    def conflicts(self) -> Iterator[Problem]:
        if self.d_model % self.heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            near = min(fitting, key=lambda h: abs(h - self.heads))
            yield Problem(
                f"{self.d_model} is not divisible by heads {self.heads}", "d_model", f"for instance heads={near}"
            )
        elif self.positions == "rotary" and self.d_head % 2:
            remedy = "choose d_model and heads so that d_model / heads is even"
            yield Problem(f"rotary positions need an even head size, not {self.d_head}", "positions", remedy)
        if self.positions == "sinusoidal" and self.d_model % 2:
            yield Problem(f"sinusoidal positions need an even d_model, not {self.d_model}", "d_model", "add 1")
        if self.kv_heads is not None and self.heads % self.kv_heads:
            what = f"heads {self.heads} is not divisible by it ({self.kv_heads})"
            yield Problem(what, "kv_heads", "give a divisor of heads")
        separate = {"source_vocabulary": self.source_vocabulary, "target_vocabulary": self.target_vocabulary}
        missing = [name for name, size in separate.items() if size is None]
        if len(missing) == 2:
            return
        if missing:
            yield Problem("missing, though the other side is given", missing[0], "give both, or vocabulary alone")
        if self.vocabulary is not None:
            yield Problem("given beside a vocabulary for each side", "vocabulary", "give one or the other")
        if self.tie == "all":
            remedy = "tie='decoder' or 'none', or give vocabulary alone"
            yield Problem("'all' needs one shared vocabulary", "tie", remedy)

    @property
    def d_head(self) -> int:
        return self.d_model // self.heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values: fewer than `heads` when groups of queries share them."""
        return self.kv_heads or self.heads

    @property
    def max_positions(self) -> int | None:
        """Number of positions in a learned table; None: unlimited."""
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


_TINY = {"d_model": 128, "heads": 4, "feed_forward": 256, "encoder_layers": 4, "decoder_layers": 4}
_SMALL = {"d_model": 256, "heads": 4, "feed_forward": 1024, "encoder_layers": 6, "decoder_layers": 3}
PRESETS: dict[str, dict[str, Any]] = {
    # Small models have pre-norm, which learns faster and tolerates higher learning rates.
    "tiny": {**_TINY, "norm_place": "pre"},
    "small": {**_SMALL, "norm_place": "pre"},
    # The two models of the paper.
    "base": {},
    "big": {"d_model": 1024, "heads": 16, "feed_forward": 4096, "dropout": 0.3},
}


def preset(name: str, **values: Any) -> ModelConfig:
    """The model of a preset, with some of its fields changed."""
    if name not in PRESETS:
        raise UserError(f"unknown preset {name!r}", "preset", nearest(name, PRESETS))
    return ModelConfig(**{**PRESETS[name], **values})
