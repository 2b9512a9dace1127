"""The formulas of the sublayers: attention, feed-forward, and the residual connection and norm around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pellucid.config import ModelConfig
from pellucid.reference.functions import EPSILON
from pellucid.tracing.formulas.formula import (
    SUBLAYERS,
    Formula,
    Per,
    Place,
    Stack,
    Symbol,
    Term,
    formula,
    indexed,
    value,
    weight,
)

# The letters of what is handed from sublayer to sublayer, of its norm, and of a sum before it is normalised.
LETTERS = {"encoder": {"normed": "H", "sum": "R"}, "decoder": {"normed": "G", "sum": "T"}}
ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "swiglu": "SiLU"}


def sublayer(place: Place, memory: Symbol | None = None) -> Iterator[Formula]:
    """A sublayer with its norm and its residual connection, from the matrix before it to the one after it."""
    pre, number = place.config.norm_place == "pre", place.number
    residual = f"{place.name}_residual"
    x, after = stream(place, number), stream(place, number + 1)
    h, total = x, after
    if pre:
        h = value(f"{residual}.norm", indexed(LETTERS[place.stack]["normed"], number), place.whole)
        yield from norm(place, x, h, f"{residual}.norm", str(number))
    else:
        total = value(f"{residual}.sum", indexed(LETTERS[place.stack]["sum"], number + 1), place.whole)
    output = value(f"{place.name}.output", f"Z{place.mark}", place.whole)
    inner = feed_forward(place, h, output) if place.sublayer == "feed_forward" else attention(place, h, output, memory)
    yield from inner
    yield formula(place, "add", total, x, "+", output)
    if not pre:
        yield from norm(place, total, after, f"{residual}.norm", str(number + 1))


def stream(place: Place, number: int) -> Symbol:
    """The matrix that `number` sublayers of the stack have added to: X in the encoder, Y in the decoder."""
    return value(stream_name(place.config, place.stack, number), indexed(place.letter, number), place.whole)


def stream_name(config: ModelConfig, stack: Stack, number: int) -> str:
    """The name of what is handed on after `number` sublayers of a stack."""
    if number == 0:
        return f"{stack}.input.output"
    layer, last = divmod(number - 1, len(SUBLAYERS[stack]))
    part = "sum" if config.norm_place == "pre" else "norm"
    return f"{stack}.layers.{layer}.{SUBLAYERS[stack][last]}_residual.{part}"


def norm(place: Place, x: Symbol, result: Symbol, name: str, mark: str) -> Iterator[Formula]:
    """The norm of every row of x, with the weights of that name; the statistics are formulas of their own."""
    config, features = place.config, (place.config.d_model,)
    gamma = weight(f"{name}.weight", indexed("γ", mark), features)
    beta = weight(f"{name}.bias", indexed("β", mark), features)
    epsilon = f"{EPSILON:f}".rstrip("0")
    if config.norm == "batch":
        mean = weight(f"{name}.running_mean", indexed("μ", mark), features)
        variance = weight(f"{name}.running_variance", indexed("σ²", mark), features)
    else:
        mean = value(f"{name}.mean", indexed("μ", mark), (place.queries, 1))
        variance = value(f"{name}.variance", indexed("σ²", mark), (place.queries, 1))
    if config.norm == "layer":
        yield formula(place, "row_mean", mean, "mean", "(", x, ")", derived=True)
        yield formula(place, "row_mean", variance, "mean", "(", "(", x, "−", mean, ")", "^", "2", ")", derived=True)
    if config.norm == "rms":
        variance = value(f"{name}.mean_square", indexed("q", mark), (place.queries, 1))
        yield formula(place, "row_mean", variance, "mean", "(", x, "^", "2", ")", derived=True)
        yield formula(place, "norm", result, x, "/", "√", "(", variance, "+", epsilon, ")", "⊙", gamma)
    else:
        centred: tuple[Term, ...] = ("(", x, "−", mean, ")")
        yield formula(
            place, "norm", result, *centred, "/", "√", "(", variance, "+", epsilon, ")", "⊙", gamma, "+", beta
        )


def attention(place: Place, x: Symbol, output: Symbol, memory: Symbol | None) -> Iterator[Formula]:
    """Queries from x; keys and values from x, or from the encoder's output."""
    config, name, mark = place.config, place.name, place.mark
    j = "i" if config.key_heads == config.heads else "j"  # key head j = ⌊i · key heads / heads⌋
    size, source = config.d_head, memory or x
    query = value(f"{name}.query", f"Q_i{mark}", (place.queries, size), "head")
    key = value(f"{name}.key", f"K_{j}{mark}", (place.keys, size), "key_head")
    values = value(f"{name}.value", f"V_{j}{mark}", (place.keys, size), "key_head")
    yield from _projected(place, x, query, "Q,i")
    yield from _projected(place, source, key, f"K,{j}")
    yield from _projected(place, source, values, f"V,{j}")

    square = (place.queries, place.keys)
    masked = (place.stack, place.sublayer) == ("decoder", "self_attention")
    scores = value(f"{name}.scores", f"S_i{mark}", square, "head")
    products = value(f"{name}.products", "P_i", square, "head")
    yield formula(place, "scores", products if masked else scores, query, key, "^T", "/", "√", str(size))
    if masked:
        keep = ("mask", replace(scores[1], kind="mask", name="decoder.self_attention", per=None))
        yield formula(place, "mask", scores, "where", "(", keep, ",", products, ",", "−∞", ")")
    weights = value(f"{name}.weights", f"A_i{mark}", square, "head")
    yield formula(place, "softmax", weights, "softmax", "(", scores, ")")
    heads = value(f"{name}.heads", f"head_i{mark}", (place.queries, size), "head")
    yield formula(place, "weighted_sum", heads, weights, values)
    each = (heads[0], replace(heads[1], per="each"))
    terms = _linear(config, f"{name}.output", f"O{mark}", (config.d_model, config.d_model))
    yield formula(place, "linear", output, "concat", "(", each, ")", *terms)


def _projected(place: Place, x: Symbol, result: Symbol, mark: str) -> Iterator[Formula]:
    """x W + b of one head, rotated where positions are rotary; values, and cross-attention, are not."""
    config, made = place.config, result[1]
    terms = _linear(config, made.name, f"{mark}{place.mark}", (config.d_model, config.d_head), made.per)
    if config.positions != "rotary" or place.sublayer == "cross_attention" or made.name.endswith(".value"):
        yield formula(place, "linear", result, x, *terms)
        return
    flat = value(f"{made.name}.unrotated", indexed("U", mark), made.shape, made.per)
    angles = value(f"{place.stack}.angles", f"Θ_{place.letter}", (place.queries, config.d_head // 2))
    yield formula(place, "linear", flat, x, *terms, derived=True)
    yield formula(place, "rotate", result, "rotate", "(", flat, ",", angles, ")")


def feed_forward(place: Place, h: Symbol, output: Symbol) -> Iterator[Formula]:
    """activation(h W_1 + b_1) W_2 + b_2; with swiglu its hidden layer is multiplied by a gate h W_3 + b_3."""
    config, name = place.config, place.name
    widen, narrow = (config.d_model, config.feed_forward), (config.feed_forward, config.d_model)
    hidden = value(f"{name}.hidden", "F", (place.queries, config.feed_forward))
    terms: list[Term] = [ACTIVATIONS[config.activation], "(", h, *_linear(config, f"{name}.wide", "1", widen), ")"]
    if config.activation == "swiglu":
        terms += ["⊙", "(", h, *_linear(config, f"{name}.gate", "3", widen), ")"]
    yield formula(place, "activation", hidden, *terms)
    yield formula(place, "linear", output, hidden, *_linear(config, f"{name}.narrow", "2", narrow))


def _linear(config: ModelConfig, name: str, mark: str, shape: tuple[int, int], per: Per = None) -> list[Term]:
    """The matrix (in, out), and the bias if the model has one, of a linear map. `mark` is a subscript, and after `^`
    a superscript."""
    below, _, above = mark.partition("^")
    above = f"^{above}" if above else ""
    terms: list[Term] = [weight(f"{name}.weight", indexed("W", below) + above, shape, per, transposed=True)]
    if config.bias:
        terms += ["+", weight(f"{name}.bias", indexed("b", below) + above, shape[1:], per)]
    return terms
