from __future__ import annotations

import pytest

from pellucid.serve.languages import language_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("en", "English"),
        ("de", "German"),
        ("nb", "Norwegian Bokmål"),
        ("zh-Hant", "Traditional Chinese"),
        ("source", "Source"),
        ("target", "Target"),
        ("no-such-code", "no-such-code"),
    ],
)
def test_a_language_has_its_english_name(code: str, name: str) -> None:
    assert language_name(code) == name
