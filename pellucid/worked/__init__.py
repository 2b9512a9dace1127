"""Worked examples as data, and the checker that recomputes every step: `check(read("homework.toml"))`."""

from pellucid.worked.checker import CheckedExample, CheckedStep, check
from pellucid.worked.examples import Example, read, shipped, templates

__all__ = ["CheckedExample", "CheckedStep", "Example", "check", "read", "shipped", "templates"]
