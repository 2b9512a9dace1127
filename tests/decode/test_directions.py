from __future__ import annotations

import pytest

from pellucid.decode.directions import find_directions
from pellucid.errors import UserError
from pellucid.text.language_identifier import LanguageIdentifier
from pellucid.text.languages import Languages

BOTH = LanguageIdentifier.learn(
    {"en": ["the cat is in the house"] * 20, "de": ["die Katze ist in dem Haus"] * 20}, [("en", "de"), ("de", "en")]
)
THREE = LanguageIdentifier(("en", "de", "fr"), (("en", "de"), ("en", "fr"), ("de", "en")))


def direction(known: LanguageIdentifier, text: str, source: str | None = None, target: str | None = None) -> Languages:
    [found] = find_directions(known, [text], source, target)
    return found


def test_directions() -> None:
    assert direction(BOTH, "the house") == ("en", "de")
    assert direction(BOTH, "die Katze", "auto") == ("de", "en")
    assert direction(BOTH, "die Katze", "en") == ("en", "de")
    assert direction(BOTH, "die Katze", target="de") == ("en", "de")
    assert direction(THREE, "x", "en", "fr") == ("en", "fr")
    assert direction(THREE, "x", target="en") == ("de", "en")
    assert direction(LanguageIdentifier(), "x") == (None, None)
    with pytest.raises(UserError, match="en → de, en → fr"):
        direction(THREE, "x", "en")
    with pytest.raises(UserError, match="does not know the language 'xx'"):
        direction(BOTH, "x", "xx")
    with pytest.raises(UserError, match="does not translate de into fr"):
        direction(THREE, "x", "de", "fr")
    with pytest.raises(UserError, match="no language codes"):
        direction(LanguageIdentifier(), "x", target="de")
    assert find_directions(BOTH, []) == []
    with pytest.raises(UserError, match="does not know the language 'xx'"):  # a wrong code is wrong for no text too
        find_directions(BOTH, [], "xx")
