"""Augmentation of a corpus: which kinds apply to which pairs, that it is a pure function, that batches stay full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from pellucid.config.data import AUGMENTATIONS, DataConfig
from pellucid.errors import UserError
from pellucid.text.augment import DERIVED, Augmentation, derived_pairs
from pellucid.text.batch import Batch, batches
from pellucid.text.bpe_dropout import BpeDropout
from pellucid.text.corpus import Corpus
from pellucid.text.epoch import Epoch
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import Tokenizers

NOUNS = {"dog": "Hund", "house": "Haus", "letter": "Brief", "garden": "Garten", "train": "Zug"}
VERBS = {"sees": "sieht", "knows": "kennt", "paints": "malt", "follows": "verfolgt"}
NAMES = ("Anna", "Boston", "Kateryna")


def pairs(count: int = 600, languages: tuple[str | None, str | None] = ("en", "de")) -> list[Pair]:
    random = Random(5)
    made = []
    for number in range(count):
        verb, noun, name = random.choice([*VERBS]), random.choice([*NOUNS]), random.choice(NAMES)
        year = random.randint(2, 2030)
        texts = f"{name} {verb} my {noun} since {year}.", f"{name} {VERBS[verb]} mein {NOUNS[noun]} seit {year}."
        made.append(Pair(*texts, *languages, f"made.tsv:{number + 1}"))
    return made


def corpus(directory: Path, languages: tuple[str | None, str | None] = ("en", "de"), both_ways: bool = True) -> Corpus:
    every = [*pairs(languages=languages), *derived_pairs(pairs(languages=languages), DERIVED, 1)]
    tokenizers = Tokenizers.learn(every, 600, ["en", "de"] if both_ways else [])
    return Corpus.build(every, tokenizers, directory, 60, both_ways)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus(tmp_path_factory.mktemp("corpus") / "c")


def texts(corpus: Corpus, batch: Batch) -> list[tuple[str, str]]:
    decode = corpus.tokenizers.source.decode
    return [
        (decode(source[real]), decode(target[real_target]))
        for source, real, target, real_target in zip(
            batch.source, batch.source_real, batch.target_out, batch.target_real, strict=True
        )
    ]


def epoch(corpus: Corpus, kinds: tuple[str, ...], number: int = 0, dropout: BpeDropout | None = None) -> Epoch:
    plan = batches(corpus, 400, 1, number)
    return Epoch(corpus, plan, number, Augmentation(corpus, kinds, seed=1), dropout)


def test_every_pair_is_in_every_epoch_once_whatever_is_done_to_it(made: Corpus) -> None:
    changed = epoch(made, AUGMENTATIONS)
    every = [changed[number] for number in range(len(changed))]
    assert Counter(pair for batch in every for pair in batch.pairs.tolist()) == Counter(range(len(made)))
    assert sum(len(batch.source) for batch in every) < len(made)  # some are joined
    longest = max(batch.source.shape[1] for batch in every)
    assert longest <= made.longest
    sizes = [batch.source.size + batch.target_in.size for batch in every]
    assert max(sizes) < 1.5 * 400


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_a_batch_is_a_function_of_seed_epoch_and_number(made: Corpus, rate: float) -> None:
    dropout = BpeDropout(made.tokenizers, rate, 1) if rate else None
    first, again = (epoch(made, AUGMENTATIONS, 3, dropout) for _ in range(2))
    last = len(first) - 1
    for number in (0, 1, last, 5):  # in any order, from any number on: as a resumed run asks
        one, other = first[number], epoch(made, AUGMENTATIONS, 3, dropout)[number]
        assert np.array_equal(one.source, other.source)
        assert np.array_equal(one.target_out, again[number].target_out)
    assert not np.array_equal(first[0].source, epoch(made, AUGMENTATIONS, 4, dropout)[0].source)


def test_without_kinds_the_batches_are_those_of_the_plan(made: Corpus) -> None:
    plan = batches(made, 400, 1, 0)
    assert np.array_equal(Epoch(made, plan, 0)[3].source, Batch.of(made, plan[3]).source)


@pytest.mark.parametrize("languages", [(None, None), ("report", "summary")])
def test_what_is_in_no_known_language_stays_as_it_is(tmp_path: Path, languages: tuple[str | None, str | None]) -> None:
    plain = corpus(tmp_path / "plain", languages, both_ways=False)
    assert not len(plain.pairs_from(DERIVED))
    unchanged = {plain.text(pair) for pair in range(len(plain))}
    kinds = tuple(kind for kind in AUGMENTATIONS if kind != "paragraphs")
    found = epoch(plain, kinds)
    assert {pair for number in range(len(found)) for pair in texts(plain, found[number])} == unchanged


def test_each_kind_does_what_it_says(made: Corpus) -> None:
    signs: dict[str, Callable[[str, str], bool]] = {
        "capitals": lambda source, target: source == source.upper() and target == target.upper(),
        "punctuation": lambda source, target: source.endswith("...") == target.endswith("...") == (source[-1] == "."),
        "case": lambda source, _: source[:1].islower() or source.istitle(),
        "spaces": lambda source, _: "  " in source or source.count(" ") < 5,
    }
    original = {made.text(pair) for pair in range(len(made)) if len(made.text(pair)[0].split()) == 6}
    for kind, holds in signs.items():
        found = epoch(made, (kind,))
        every = [pair for number in range(len(found)) for pair in texts(made, found[number])]
        sentences = [pair for pair in every if len(pair[0].split()) >= 5 and pair not in original]
        assert len(sentences) > 10, kind
        assert all(holds(*pair) for pair in sentences), kind


def test_paragraphs_are_texts_one_after_the_other(made: Corpus) -> None:
    rows = Augmentation(made, ("paragraphs",), 1).rows(np.arange(len(made)), epoch=0)
    decode = made.tokenizers.source.decode
    joined = [row for row in rows if len(row.pairs) > 1]
    assert 0.05 < sum(len(row.pairs) for row in joined) / len(made) < 0.11
    for row in joined:
        source, target = (" ".join(sides) for sides in zip(*map(made.text, row.pairs), strict=True))
        assert (decode(row.source), decode(row.target)) == (source, target)
        assert len({made.languages(pair) for pair in row.pairs}) == 1
        assert max(len(row.source), len(row.target)) <= made.longest


def test_derived_pairs_are_words_values_and_copies_of_the_pairs() -> None:
    made = [*derived_pairs(pairs(), DERIVED, 1)]
    kinds = Counter(pair.place for pair in made)
    assert set(kinds) == set(DERIVED)
    assert {pair[:2] for pair in made if pair.place == "fragments"} >= {*NOUNS.items(), *VERBS.items()}
    assert all(pair.source == pair.target for pair in made if pair.place == "copies")
    assert kinds["values"] == round(0.03 * 600)
    assert [*derived_pairs(pairs(), DERIVED, 1)] == made != [*derived_pairs(pairs(), DERIVED, 2)]
    assert {pair.place for pair in derived_pairs(pairs(), ("values", "case"), 1)} == {"values"}


def test_the_kinds_of_a_config() -> None:
    def data(**more: Any) -> DataConfig:
        return DataConfig(source="a", target="b", **more)

    assert data().augmentations == AUGMENTATIONS
    assert DataConfig(corpus="dates").augmentations == ()
    assert data(augment="none").augmentations == ()
    assert data(augment=["typos", "case"]).augmentations == ("case", "typos")
    with pytest.raises(UserError, match="capitels"):
        data(augment="capitels")
