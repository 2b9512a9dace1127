"""Conversion of a model for CTranslate2: the same numbers under other names. Every ModelConfig but batch norm has one.

What CTranslate2 lacks is expressed in what it has: sinusoidal positions become a table, no positions a table of zeros,
and query heads that share keys and values get a copy each.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid.config import ModelConfig
from pellucid.decode.engines import ComputeType
from pellucid.errors import UserError
from pellucid.model_directory import ModelDirectory
from pellucid.model_directory.alignment_heads import AlignmentHeads
from pellucid.model_directory.checksums import intact, write_checksums
from pellucid.storage import new_directory
from pellucid.text.tokenizer import SPECIALS, Tokenizer

Weights = Mapping[str, NDArray[np.floating]]

STEPS = 64  # of an int8 weight on either side of 0
VERSION = 6  # raised when the same weights are to be converted anew
FINGERPRINT = "weights.txt"  # the fingerprint of the model that was converted, and the version of the conversion
POSITIONS = 2048  # rows of an exported position table: 4 MB at d_model 512


def convert(directory: ModelDirectory, out: Path, compute_type: ComputeType, language: str | None = None) -> None:
    """Write the converted model to `out`, whole or not at all. With a `language`, its target vocabulary has only the
    tokens that the vocabulary restriction of that language allows."""
    from pellucid.reference.functions import EPSILON  # not needed to load a converted model: 8 ms

    config = directory.config
    check_supported(config)
    # float32 also where the file holds float16, which few processors compute with
    weights = {name: weight.astype(np.float32) for name, weight in directory.weights().items()}
    source_pieces = _vocabulary(directory.tokenizers.source, config.source_tokens, directory.path)
    target_pieces = _vocabulary(directory.tokenizers.target, config.target_tokens, directory.path)
    allowed = directory.restriction.allowed(language)
    target_ids = np.arange(config.target_tokens) if allowed is None else allowed
    spec = _spec(config, weights, target_ids, directory.alignment)
    spec.register_source_vocabulary(source_pieces)
    spec.register_target_vocabulary([target_pieces[token] for token in target_ids])
    spec.config.unk_token = SPECIALS[0]  # nothing is unknown to a vocabulary of bytes, but the library wants a name
    spec.config.layer_norm_epsilon = EPSILON
    spec.validate()
    spec.optimize()  # equal matrices are stored once
    if compute_type == "int8":
        _quantise(spec)
    with new_directory(out, keep=lambda existing, _draft: intact(existing)) as draft:
        spec.save(str(draft))
        (draft / FINGERPRINT).write_text(_mark(directory.fingerprint()), encoding="utf-8")
        write_checksums(draft)


def is_made_of(converted: Path, fingerprint: str) -> bool:
    """Whether a converted model was made of the model with that fingerprint by this version of the conversion, and is
    undamaged; one that does not say so was not."""
    path = converted / FINGERPRINT
    return intact(converted) and path.is_file() and path.read_text(encoding="utf-8") == _mark(fingerprint)


def _mark(fingerprint: str) -> str:
    return f"{fingerprint} {VERSION}\n"


def check_supported(config: ModelConfig) -> None:
    if config.norm == "batch":
        remedy = "use engine 'torch' or 'reference'"
        raise UserError("CTranslate2 has no batch normalisation, which this model uses", "engine", remedy)


def converted_positions(config: ModelConfig) -> int | None:
    """How many positions the converted model has; None: unlimited."""
    return None if config.positions == "rotary" else config.max_positions or POSITIONS


def _vocabulary(tokenizer: Tokenizer, size: int, directory: Path) -> list[str]:
    if len(tokenizer) != size:
        remedy = "config.json and the tokenizer do not belong together"
        raise UserError(f"the tokenizer has {len(tokenizer)} tokens, the model {size}", str(directory), remedy)
    return tokenizer.pieces(range(size))


def _spec(config: ModelConfig, weights: Weights, target_ids: NDArray[np.int64], alignment: AlignmentHeads) -> Any:
    """`target_ids`: the target vocabulary, (tokens,)."""
    with _without_torch():
        from ctranslate2.specs import TransformerSpec
        from ctranslate2.specs.common_spec import Activation
        from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    activation = {
        "relu": Activation.RELU,
        "gelu": Activation.GELU,
        "silu": Activation.SWISH,
        "swiglu": Activation.SWISH,
    }[config.activation]
    shape = {
        "num_heads": config.heads,
        "pre_norm": config.norm_place == "pre",
        "activation": activation,
        "ffn_glu": config.activation == "swiglu",
        "rms_norm": config.norm == "rms",
        "layernorm_embedding": config.embedding_norm,
        "rotary_dim": config.d_head if config.positions == "rotary" else None,
        "rotary_interleave": config.position_layout == "interleaved",
    }
    encoder = TransformerEncoderSpec(config.encoder_layers, **shape)
    reported = {"alignment_layer": alignment.layer, "alignment_heads": len(alignment.heads)}
    decoder = TransformerDecoderSpec(config.decoder_layers, **shape, **reported)
    name = "source_embedding" if config.tie == "all" else "target_embedding"
    encoder.embeddings[0].weight = weights["source_embedding.weight"]
    decoder.embeddings.weight = weights[f"{name}.weight"][target_ids]
    decoder.projection.weight = weights["output.weight" if config.tie == "none" else f"{name}.weight"][target_ids]
    if config.output_bias:
        decoder.projection.bias = weights["output.bias"][target_ids]
    fill = _Filler(config, weights, alignment)
    fill.stack(encoder, "encoder")
    fill.stack(decoder, "decoder")
    return TransformerSpec(encoder, decoder)


class _Filler:
    """Copies weights into a spec."""

    def __init__(self, config: ModelConfig, weights: Weights, alignment: AlignmentHeads) -> None:
        self.config, self.weights, self.alignment = config, weights, alignment

    def stack(self, spec: Any, name: str) -> None:
        spec.scale_embeddings = self.config.embedding_scale
        if self.config.positions != "rotary":
            spec.position_encodings.encodings = self.positions(name)
        if self.config.embedding_norm:
            self.norm(spec.layernorm_embedding, f"{name}.input.norm")
        if self.config.norm_place == "pre":
            self.norm(spec.layer_norm, f"{name}.norm")
        for number, layer in enumerate(spec.layer):
            place = f"{name}.layers.{number}"
            self.attention(layer.self_attention, f"{place}.self_attention", ("query", "key", "value"), ("output",))
            if name == "decoder":
                self.attention(layer.attention, f"{place}.cross_attention", ("query",), ("key", "value"), ("output",))
            self.feed_forward(layer.ffn, f"{place}.feed_forward")

    def positions(self, name: str) -> NDArray[np.floating]:
        """(positions, d_model)."""
        from pellucid.reference.functions import sinusoidal

        if self.config.positions == "learned":
            return self.weights[f"{name}.input.positions.weight"]
        if self.config.positions == "none":
            return np.zeros((POSITIONS, self.config.d_model), np.float32)
        return sinusoidal(POSITIONS, self.config.d_model, self.config.position_layout).astype(np.float32)

    def attention(self, spec: Any, name: str, *maps: tuple[str, ...]) -> None:
        """Each linear map of the spec does the work of one or several of ours, stacked."""
        for linear, parts in zip(spec.linear, maps, strict=True):
            self.linear(linear, *(f"{name}.{part}" for part in parts))
        self.norm(spec.layer_norm, f"{name}_residual.norm")

    def feed_forward(self, spec: Any, name: str) -> None:
        self.linear(spec.linear_0, f"{name}.wide")
        if self.config.activation == "swiglu":
            self.linear(spec.linear_0_noact, f"{name}.gate")
        self.linear(spec.linear_1, f"{name}.narrow")
        self.norm(spec.layer_norm, f"{name}_residual.norm")

    def linear(self, spec: Any, *names: str) -> None:
        spec.weight = np.concatenate([self.for_every_head(name, "weight") for name in names])
        if self.config.bias:
            spec.bias = np.concatenate([self.for_every_head(name, "bias") for name in names])

    def for_every_head(self, name: str, kind: str) -> NDArray[np.floating]:
        """A weight or bias; that of shared keys or values repeated, so that every query head has its own."""
        values = self.weights[f"{name}.{kind}"]
        group = self.config.heads // self.config.key_heads
        if group > 1 and name.endswith((".key", ".value")):
            heads = values.reshape(self.config.key_heads, self.config.d_head, *values.shape[1:])
            # (key heads, d_head, ...) -> (heads, d_head, ...) -> (heads * d_head, ...)
            values = np.repeat(heads, group, axis=0).reshape(-1, *values.shape[1:])
        aligning = name.startswith(f"decoder.layers.{self.alignment.layer}.cross_attention.")
        return self.alignment_heads_first(name, values) if aligning else values

    def alignment_heads_first(self, name: str, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """A weight or bias with the alignment heads before the others: CTranslate2 reports the mean attention of the
        first heads of a layer. Whatever the order of the heads, the sum over them is the same."""
        first = self.alignment.heads
        order = [*first, *(head for head in range(self.config.heads) if head not in first)]
        if name.endswith(".output"):
            if values.ndim == 1:
                return values  # the bias of a sum over the heads
            heads = values.reshape(len(values), self.config.heads, self.config.d_head)[:, order]
            return heads.reshape(values.shape)  # (d_model, heads, d_head) -> (d_model, d_model)
        return values.reshape(self.config.heads, self.config.d_head, *values.shape[1:])[order].reshape(values.shape)

    def norm(self, spec: Any, name: str) -> None:
        spec.gamma = self.weights[f"{name}.weight"]
        if self.config.norm == "layer":
            spec.beta = self.weights[f"{name}.bias"]


def _quantise(spec: Any) -> None:
    """Every matrix in whole numbers of 7 bits and their sign, each row with its own scale.

    CTranslate2's own quantisation uses all 127 steps. A CPU with AVX2 and without VNNI adds two products in 16 bits,
    where 255 * 127 * 2 is cut off at 32,767: in a small model that is an error of a third of the largest logit.
    255 * 64 * 2 fits, and 64 steps are fine enough.
    """
    from ctranslate2.specs.model_spec import NumpyVariable, Variable, visit_spec

    def quantise(layer: Any, name: str, value: Any) -> None:
        if not (name.endswith("/weight") and hasattr(layer, "weight_scale") and isinstance(value, Variable)):
            return
        weight = value.numpy()
        largest = np.abs(weight).max(axis=1)
        scale = STEPS / np.where(largest == 0, STEPS, largest)
        layer.weight = NumpyVariable(np.rint(weight * scale[:, None]).astype(np.int8))
        layer.weight_scale = NumpyVariable(scale.astype(np.float32))

    visit_spec(spec, quantise)


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Hide torch: CTranslate2's specs import it where it is installed, which takes seconds and is not needed here."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]
