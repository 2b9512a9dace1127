"""An expression as a formula: a syntax tree becomes MathML, which browsers set by themselves."""

from __future__ import annotations

import ast
import re
from html import escape

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "sigma": "σ", "pi": "π"}
COMMA = '<mo separator="true">,</mo>'
# Spaces of its own: those of an operator between words would be put around the whole product.
DOT = '<mspace width="0.25em"/><mo lspace="0" rspace="0">·</mo><mspace width="0.25em"/>'
SYMBOLS = {**GREEK, "inf": "∞"}
# Functions with a notation of their own.
NOTATION = {
    "sqrt": "<msqrt>{}</msqrt>",
    "exp": "<msup><mi>e</mi>{}</msup>",
    "abs": "<mrow><mo>|</mo>{}<mo>|</mo></mrow>",
}
# How tightly an operation holds its parts together; what holds less tightly inside it needs parentheses.
SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("<mo>+</mo>", SUM),
    ast.Sub: ("<mo>−</mo>", SUM),
    ast.Mult: (DOT, PRODUCT),
    ast.MatMult: ('<mspace width="0.2em"/>', PRODUCT),
    ast.Mod: ("<mo>mod</mo>", PRODUCT),
}


def formula(name: str, tree: ast.expr) -> str:
    """`name = expression` as MathML."""
    return f'<math displaystyle="true">{symbol(name)}<mo>=</mo>{_set(tree)[0]}</math>'


def name_of(name: str) -> str:
    """The name of a value as MathML."""
    return f"<math>{symbol(name)}</math>"


def symbol(name: str) -> str:
    """`W_Q` and `Q1` have an index; `first_layer` is two words; gamma is a letter."""
    if name in SYMBOLS:
        return f"<mi>{SYMBOLS[name]}</mi>"
    indexed = re.fullmatch(r"([^\W\d_])_([^\W_]+)|([^\W\d_]+)_(\d+)|([^\W\d_])(\d+)", name)
    if indexed:
        base, index = (part for part in indexed.groups() if part)
        return f"<msub>{_identifier(base)}{_identifier(index)}</msub>"
    return _identifier(name)


def _identifier(name: str) -> str:
    if name.isdigit():
        return f"<mn>{name}</mn>"
    if len(name) == 1 or name in GREEK:
        return f"<mi>{escape(GREEK.get(name, name))}</mi>"
    return f"<mtext>{escape(name.replace('_', ' '))}</mtext>"


def _set(node: ast.expr) -> tuple[str, int]:
    """The MathML of a tree, and how tightly it holds together."""
    match node:
        case ast.Constant(value=value):
            return f"<mn>{escape(str(value))}</mn>", ATOM
        case ast.Name(id=name):
            return symbol(name), ATOM
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"<mfrac>{_row(left)}{_row(right)}</mfrac>", POWER
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return f"<mrow><mo>⌊</mo><mfrac>{_row(left)}{_row(right)}</mfrac><mo>⌋</mo></mrow>", ATOM
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"<msup>{_held(left, ATOM)}{_row(right)}</msup>", POWER
        case ast.BinOp(left=left, op=operator, right=right):
            sign, strength = OPERATORS[type(operator)]
            first, second = _held(left, strength), _held(right, strength + 1)
            if isinstance(operator, ast.MatMult) and (_is_word(first) or _is_word(second)):
                sign = DOT  # two words side by side would read as one name
            return f"<mrow>{first}{sign}{second}</mrow>", strength
        case ast.UnaryOp(op=operation, operand=operand):
            sign = "−" if isinstance(operation, ast.USub) else "+"
            return f'<mrow><mo form="prefix">{sign}</mo>{_held(operand, SIGN)}</mrow>', SIGN
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return _fenced(_commas(items), "[", "]"), ATOM
        case ast.Attribute(value=value):
            return f"<msup>{_held(value, ATOM)}<mi>⊤</mi></msup>", POWER
        case ast.Subscript(value=value, slice=place):
            places = place.elts if isinstance(place, ast.Tuple) else [place]
            return f"<msub>{_held(value, ATOM)}<mrow>{_commas(places)}</mrow></msub>", POWER
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            return _call(name, arguments, keywords), ATOM
    return f"<mtext>{escape(ast.unparse(node))}</mtext>", ATOM


def _is_word(content: str) -> bool:
    return re.match(r"(<msub>|<msup>)*<mtext>", content) is not None


def _call(name: str, arguments: list[ast.expr], keywords: list[ast.keyword]) -> str:
    if name in NOTATION and len(arguments) == 1:
        return NOTATION[name].format(_row(arguments[0]))
    named = [f"{COMMA}<mrow><mtext>{escape(str(k.arg))}</mtext><mo>=</mo>{_row(k.value)}</mrow>" for k in keywords]
    inside = _commas(arguments) + "".join(named)
    return f"<mrow><mtext>{escape(name.replace('_', ' '))}</mtext>{_fenced(inside)}</mrow>"


def _commas(parts: list[ast.expr]) -> str:
    return COMMA.join(map(_row, parts))


def _row(node: ast.expr) -> str:
    return f"<mrow>{_set(node)[0]}</mrow>"


def _held(node: ast.expr, strength: int) -> str:
    """A part, in parentheses if it holds together less tightly than what it stands in."""
    content, own = _set(node)
    return content if own >= strength else _fenced(content)


def _fenced(content: str, opening: str = "(", closing: str = ")") -> str:
    """Between parentheses, which grow only around fractions: stretched ones stand too far off."""
    stretchy = "true" if "<mfrac>" in content else "false"
    first = f'<mo form="prefix" stretchy="{stretchy}">{opening}</mo>'
    return f'<mrow>{first}{content}<mo form="postfix" stretchy="{stretchy}">{closing}</mo></mrow>'
