"""Every formula of a model, made from its config, in the order in which the reference computes the values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pellucid.config import ModelConfig
from pellucid.tracing.formulas.formula import SUBLAYERS, Formula, Operand, Place, Symbol, Term, formula, value, weight
from pellucid.tracing.formulas.sublayers import norm, stream, sublayer


def formulas(config: ModelConfig, source: int, target: int) -> tuple[Formula, ...]:
    """The formulas for a source and a target of these lengths, in tokens."""
    return (*_encoder(config, source), *_decoder(config, source, target))


def _encoder(config: ModelConfig, source: int) -> Iterator[Formula]:
    place = Place(config, "encoder", None, "input", source, source)
    yield from _input(place)
    for layer in range(config.encoder_layers):
        for at, name in enumerate(SUBLAYERS["encoder"]):
            yield from sublayer(replace(place, layer=layer, sublayer=name, number=2 * layer + at))
    yield from _output(replace(place, sublayer="output", number=2 * config.encoder_layers))


def _decoder(config: ModelConfig, source: int, target: int) -> Iterator[Formula]:
    place = Place(config, "decoder", None, "input", target, target)
    memory = value("encoder.output", "M", (source, config.d_model))
    yield from _input(place)
    for layer in range(config.decoder_layers):
        for at, name in enumerate(SUBLAYERS["decoder"]):
            cross = name == "cross_attention"
            here = replace(place, layer=layer, sublayer=name, number=3 * layer + at, keys=source if cross else target)
            yield from sublayer(here, memory if cross else None)
    end = replace(place, sublayer="output", number=3 * config.decoder_layers)
    yield from _output(end)
    yield from _logits(end)
    yield _alignment(replace(place, sublayer="alignment", keys=source))
    yield _score(replace(place, sublayer="score"))


def _input(place: Place) -> Iterator[Formula]:
    """Embedding plus position: what the first layer sees."""
    config, letter = place.config, place.letter
    sources = place.stack == "encoder"
    ids = "s" if sources else "t", Operand("tokens", "source_tokens" if sources else "target_in", (place.queries,))
    embedded = value(f"{place.name}.embedding", f"E_{letter}", place.whole)
    lookup: tuple[Term, ...] = (_embedding(config, "source" if sources else "target"), "[", ids, "]")
    scale: tuple[Term, ...] = ("√", str(config.d_model), "·") if config.embedding_scale else ()
    yield formula(place, "lookup", embedded, *scale, *lookup)

    terms: list[Term] = [embedded]
    if config.positions in ("sinusoidal", "learned"):
        position = value(f"{place.name}.position", f"P_{letter}", place.whole)
        yield from _positions(place, position)
        terms += ["+", position]
    result, operation = stream(place, 0), "add" if len(terms) > 1 else "copy"
    if config.embedding_norm:
        total = value(f"{place.name}.sum", f"I_{letter}", place.whole)
        yield formula(place, operation, total, *terms, derived=True)
        yield from norm(place, total, result, f"{place.name}.norm", "in")
    else:
        yield formula(place, operation, result, *terms)
    if config.positions == "rotary":
        yield from _angles(place, f"{place.stack}.angles", config.d_head, derived=False)


def _positions(place: Place, position: Symbol) -> Iterator[Formula]:
    config, letter = place.config, place.letter
    if config.positions == "learned":
        table = weight(f"{place.name}.positions.weight", f"W_{{P,{letter}}}", (config.max_length, config.d_model))
        places = f"p_{letter}", Operand("positions", "positions", (place.queries,))
        yield formula(place, "row", position, table, "[", places, "]")
        return
    yield from _angles(place, f"{place.name}.angles", config.d_model, derived=True)
    angles = value(f"{place.name}.angles", f"Θ_{letter}", (place.queries, config.d_model // 2))
    join = "interleave" if config.position_layout == "interleaved" else "concat"
    yield formula(place, "position", position, join, "(", "sin", "(", angles, ")", ",", "cos", "(", angles, ")", ")")


def _angles(place: Place, name: str, size: int, *, derived: bool) -> Iterator[Formula]:
    """position / 10000^(2k / size): a row for every position, a column for every pair k of features."""
    letter = place.letter
    pairs = "k", Operand("pairs", "pairs", (1, size // 2))
    frequencies = value(f"{place.stack}.frequencies", f"ω_{letter}", (1, size // 2))
    places = f"p_{letter}", Operand("positions", "positions", (place.queries, 1))
    exponent: tuple[Term, ...] = ("(", "−", "2", "·", pairs, "/", str(size), ")")
    yield formula(place, "frequency", frequencies, "10000", "^", *exponent, derived=True)
    angles = value(name, f"Θ_{letter}", (place.queries, size // 2))
    yield formula(place, "angle", angles, places, frequencies, derived=derived)


def _output(place: Place) -> Iterator[Formula]:
    """Pre-norm leaves the last sum unnormalised, so the stack ends with a norm of its own."""
    last = stream(place, place.number)
    result = value(f"{place.stack}.output", "M" if place.stack == "encoder" else "D", place.whole)
    if place.config.norm_place == "pre":
        yield from norm(place, last, result, f"{place.stack}.norm", "out")
    else:
        yield formula(place, "copy", result, last)


def _logits(place: Place) -> Iterator[Formula]:
    """Scores over the vocabulary, by the embedding itself when it is tied, and their softmax."""
    config = place.config
    shape = (place.queries, config.target_tokens)
    decoded = value("decoder.output", "D", place.whole)
    logits = value("output.logits", "L", shape)
    table = (
        _embedding(config, "target")
        if config.tie != "none"
        else (weight("output.weight", "W_{out}", (config.target_tokens, config.d_model)))
    )
    bias: tuple[Term, ...] = ()
    if config.output_bias:
        bias = ("+", weight("output.bias", "b_{out}", (config.target_tokens,)))
    yield formula(place, "linear", logits, decoded, table, "^T", *bias)
    yield formula(
        place, "softmax", value("output.probabilities", "p", shape), "softmax", "(", logits, ")", derived=True
    )


def _alignment(place: Place) -> Formula:
    """The mean of all heads of the cross-attention of the last decoder layer but one."""
    layer = max(0, place.config.decoder_layers - 2)
    weights = value(f"decoder.layers.{layer}.cross_attention.weights", "A_i^c", (place.queries, place.keys), "each")
    result = value("alignment", "alignment", (place.queries, place.keys))
    return formula(place, "mean", result, "mean_i", "(", weights, ")", derived=True)


def _score(place: Place) -> Formula:
    """The mean of the logarithms of the probabilities of the output tokens, by which a search ranks hypotheses."""
    probabilities = value("output.probabilities", "p", (place.queries, place.config.target_tokens))
    output = "y", Operand("tokens", "target_out", (place.queries,))
    picked: tuple[Term, ...] = ("sum", "(", "ln", "(", "pick", "(", probabilities, ",", output, ")", ")", ")")
    return formula(place, "score", value("score", "score", ()), *picked, "/", str(place.queries), derived=True)


def _embedding(config: ModelConfig, side: str) -> Symbol:
    """The embedding matrix of a side: one and the same where all are tied."""
    label = {"source": "E_s", "target": "E_t"}[side] if config.tie != "all" else "E"
    side = "source" if config.tie == "all" else side
    tokens = config.source_tokens if side == "source" else config.target_tokens
    return weight(f"{side}_embedding.weight", label, (tokens, config.d_model))
