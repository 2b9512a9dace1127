"""The formulas of a model as data, and how one number of a trace is computed."""

from pellucid.tracing.formulas.formula import FUNCTIONS, Formula, Operand
from pellucid.tracing.formulas.model import formulas

__all__ = ["FUNCTIONS", "Formula", "Operand", "formulas"]
