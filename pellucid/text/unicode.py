"""Text that can be written as UTF-8."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """The text with U+FFFD in place of every unpaired surrogate, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
