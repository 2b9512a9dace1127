"""The generated sentences against German by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pellucid.labs.parts.phrases import ADJECTIVES, NOUNS, VERBS, clause, pairs


class Script:
    """Chooses the entries whose English is in the list, one after the other; with an adjective where one comes next."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def choice(self, entries: tuple[Any, ...]) -> Any:
        word = self.words.pop(0)
        return next(entry for entry in entries if entry[0] == word)

    def random(self) -> float:
        return 1.0 if self.words[0] in dict(ADJECTIVES) else 0.0


@pytest.mark.parametrize(
    ("words", "german", "last"),
    [
        ("dog old cat red sees", "der alte Hund sieht die rote Katze", "der alte Hund die rote Katze sieht"),
        ("woman tree new buys", "die Frau kauft den neuen Baum", "die Frau den neuen Baum kauft"),
        ("book small man loves", "das kleine Buch liebt den Mann", "das kleine Buch den Mann liebt"),
        ("tree house old paints", "der Baum malt das alte Haus", "der Baum das alte Haus malt"),
    ],
)
def test_a_clause_by_hand(words: str, german: str, last: str) -> None:
    for at_the_end, expected in ((False, german), (True, last)):
        draw: Any = Script(*words.split())
        assert clause(draw, at_the_end)[1] == expected
        assert not draw.words


def test_after_because_the_verb_comes_last() -> None:
    verbs = {german for _, german in VERBS}
    nouns = {german for _, german, _ in NOUNS}
    for pair in pairs(200, 1, (2, 2)):
        link = "because" if " because " in pair.source else "and"
        german = pair.target.split(" weil " if link == "because" else " und ")[1].split()
        assert german[-1] in (verbs if link == "because" else nouns)


def test_the_number_of_clauses_is_as_asked() -> None:
    for pair in pairs(50, 2, (3, 3)):
        assert sum(word in ("and", "because") for word in pair.source.split()) == 2
    assert pairs(5, 1) == pairs(5, 1) != pairs(5, 2)
