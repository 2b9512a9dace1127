"""A corpus by a small grammar: English clauses and their German, with cases, genders and verbs that move."""

from __future__ import annotations

import random

from pellucid.text.pair import Pair

NOUNS = (
    ("dog", "Hund", "m"), ("man", "Mann", "m"), ("tree", "Baum", "m"), ("cat", "Katze", "f"), ("woman", "Frau", "f"),
    ("flower", "Blume", "f"), ("child", "Kind", "n"), ("house", "Haus", "n"), ("book", "Buch", "n"),
)  # fmt: skip
ADJECTIVES = (("old", "alt"), ("small", "klein"), ("red", "rot"), ("new", "neu"))
VERBS = (("sees", "sieht"), ("finds", "findet"), ("buys", "kauft"), ("loves", "liebt"), ("paints", "malt"))
ARTICLES = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}  # nominative, accusative


def pairs(count: int, seed: int, clauses: tuple[int, int] = (1, 3)) -> list[Pair]:
    """So many sentences, each of a number of clauses drawn from the range `clauses`."""
    draw = random.Random(f"phrases {seed}")
    return [sentence(draw.randint(*clauses), draw, number) for number in range(1, count + 1)]


def sentence(clauses: int, draw: random.Random, number: int = 1) -> Pair:
    """Clauses with "and", and with "because", after which the German verb comes last."""
    english, german = zip(clause(draw, last=False), *(_linked(draw) for _ in range(clauses - 1)), strict=True)
    return Pair(" ".join(english), " ".join(german), "en", "de", f"phrases:{number}")


def _linked(draw: random.Random) -> tuple[str, str]:
    word, conjunction, last = draw.choice((("and", "und", False), ("because", "weil", True)))
    english, german = clause(draw, last)
    return f"{word} {english}", f"{conjunction} {german}"


def clause(draw: random.Random, last: bool) -> tuple[str, str]:
    """the old dog sees the tree -> der alte Hund sieht den Baum; with `last`: der alte Hund den Baum sieht."""
    subject, object_ = _noun(draw, 0), _noun(draw, 1)
    verb = draw.choice(VERBS)
    german = (subject[1], object_[1], verb[1]) if last else (subject[1], verb[1], object_[1])
    return f"{subject[0]} {verb[0]} {object_[0]}", " ".join(german)


def _noun(draw: random.Random, case: int) -> tuple[str, str]:
    """With its article, perhaps an adjective; `case` is 0 for the subject, 1 for the object."""
    english, german, gender = draw.choice(NOUNS)
    article = ARTICLES[gender][case]
    if draw.random() < 0.5:
        return f"the {english}", f"{article} {german}"
    adjective = draw.choice(ADJECTIVES)
    ending = "en" if case and gender == "m" else "e"
    return f"the {adjective[0]} {english}", f"{article} {adjective[1]}{ending} {german}"
