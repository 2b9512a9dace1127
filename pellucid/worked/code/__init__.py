"""A learner's own functions, checked against the reference: `check_code("mycode.py")`."""

from pellucid.worked.code.checker import CheckedCode, check_code
from pellucid.worked.code.function import CheckedFunction, CheckedProperty

__all__ = ["CheckedCode", "CheckedFunction", "CheckedProperty", "check_code"]
