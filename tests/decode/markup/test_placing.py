"""Tags in a translation: on the words that theirs became, nested as they were, and the text is that without tags."""

from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pellucid
from pellucid import Translation, Translator
from pellucid.decode.markup.placing import Aligned, Alignment, place_tags
from pellucid.decode.markup.tags import put_back, tag_pieces, take_out
from pellucid.decode.markup.words import find_words

TAGS = ("b", "i", "em", "a")


def placed(source: str, target: str, links: dict[int, int]) -> str:
    """The target with the tags of the source, where target word -> source word is known."""
    text, tags = take_out(tag_pieces(source))
    words, translated = find_words(text), find_words(target)
    weights = np.zeros((len(translated), len(words)))
    for target_word, source_word in links.items():
        weights[target_word, source_word] = 1
    sentences = [Aligned((0, len(words)), (0, len(translated)), weights)]
    return put_back(target, place_tags(tags, Alignment(words, translated, sentences), len(target)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>a</b> b c", "3 2 <b>1</b>"),
        ("a <b>b</b> c", "3 <b>2</b> 1"),
        ("<b>a b</b> c", "3 <b>2 1</b>"),
        ("<b>a <i>b</i></b> c", "3 <b><i>2</i> 1</b>"),
        ("<b>a b c</b>", "<b>3 2 1</b>"),
        ("a <br/>b c", "3 <br/>2 1"),
        ("a b c<br/>", "3 2 1<br/>"),
        ("<b><i>a</i> b</b> <a>c</a>", "<a>3</a> <b>2 <i>1</i></b>"),
        ("a <b></b>b c", "3 <b></b>2 1"),
        ("a </b>b c", "3 </b>2 1"),
        ("<b>a b c", "<b>3 2 1"),
    ],
)
def test_tags_follow_their_words(source: str, expected: str) -> None:
    assert placed(source, "3 2 1", {0: 2, 1: 1, 2: 0}) == expected


def nested_texts(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def element(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(st.sampled_from(TAGS), st.lists(inside, max_size=3)).map(
            lambda each: f"<{each[0]}>{' '.join(each[1])}</{each[0]}>"
        )

    return st.lists(st.recursive(words, element, max_leaves=8), min_size=1, max_size=5).map(" ".join)


def is_nested(text: str) -> bool:
    """Whether every element that begins ends within the one around it."""
    found: list[str] = []
    for closing, name in re.findall(r"<(/?)(\w+)>", text):
        if not closing:
            found.append(name)
        elif not found or found.pop() != name:
            return False
    return not found


@given(nested_texts(st.sampled_from(["one", "two", "<em></em>", "three, four"])), st.integers(0, 2**32 - 1))
def test_whatever_is_aligned_no_tag_is_lost_and_elements_stay_nested(source: str, seed: int) -> None:
    assert is_nested(source)
    random = Random(seed)
    words = len(find_words(take_out(tag_pieces(source))[0]))
    target = " ".join(random.choice(["eins", "zwei", ","]) for _ in range(random.randrange(7)))
    count = len(find_words(target))
    links = {place: random.randrange(words) for place in range(count)} if words else {}
    found = placed(source, target, links)
    assert is_nested(found)
    assert re.sub(r"<[^>]*>", "", found) == target
    assert sorted(re.findall(r"<[^>]*>", found)) == sorted(re.findall(r"<[^>]*>", source))


@pytest.mark.parametrize("part", ["<b>", "</b>", "<b></b>", "<b>x</b> ", "<b><i>x</b>"])
def test_many_tags_take_no_time_and_all_come_through(part: str) -> None:
    source = part * (20_000 // part.count("<")) + ("</b>" * 20_000 if part == "<b>" else "")
    text, tags = take_out(tag_pieces(source))
    found = place_tags(tags, Alignment([], [], []), len(text))
    assert [tag.text for tag in found] == [tag.text for tag in tags]
    assert all(before.place <= after.place for before, after in pairwise(found))


def test_elements_that_never_close_are_no_depth_without_bound() -> None:
    source = "Hello " + "<i></b>" * 500 + "world" + "</i><b>" * 500
    _, tags = take_out(tag_pieces(source))
    found = placed(source, "eins zwei", {0: 0, 1: 1})
    assert len(re.findall("<", found)) == len(tags) == 2000
    assert re.sub(r"<[^>]*>", "", found) == "eins zwei"


def test_a_kept_element_is_not_closed_by_the_tag_of_another() -> None:
    whole = '<span translate="no">X</span>'
    pieces = [("a ", False), ("<span>", True), ("b ", False), (whole, True), (" c", False), ("</span>", True)]
    text, tags = take_out(pieces)
    words, target = find_words(text), find_words("3 2 1")
    weights = np.eye(3)[::-1]
    alignment = Alignment(words, target, [Aligned((0, 3), (0, 3), weights)])
    assert put_back("3 2 1", place_tags(tags, alignment, 5)) == f"<span>{whole} 3 2</span> 1"


def test_text_that_is_not_translated_takes_little_memory(translator_of_numbers: Translator) -> None:
    tracemalloc.start()
    try:
        found = translator_of_numbers.translate("<b>one</b>\n" + "-" * 30_000, "en", "de", protect=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(found, Translation)
    assert found.text == "<b>eins</b>\n" + "-" * 30_000
    assert peak < 30 << 20


def test_many_protected_spans_and_surrogates(translator_of_numbers: Translator) -> None:
    found = translator_of_numbers.translate("{n}<b>one</b> " * 300, "en", "de", protect=True)
    assert isinstance(found, Translation)
    assert (found.text.count("{n}"), found.text.count("<b>"), found.text.count("</b>")) == (300, 300, 300)
    smiles = translator_of_numbers.translate("\ud83d\ude00 " * 3 + "one <b>two</b>", "en", "de", protect=True)
    assert isinstance(smiles, Translation)
    assert smiles.text.endswith("eins <b>zwei</b>")


def test_deep_elements_are_placed() -> None:
    source = "<b>" * 200 + "a" + "</b>" * 200 + " b"
    assert placed(source, "2 1", {0: 1, 1: 0}) == "2 " + "<b>" * 200 + "1" + "</b>" * 200


# --- by the model that ships --------------------------------------------------------------------------------------

NAMES = ("Anna", "Peter", "Maria", "Tom", "Berlin", "Paris", "London", "Boston")
SAME = (
    ("en", "de", "{0} lives in {1}."),
    ("en", "de", "I saw {0} in {1}."),
    ("en", "de", "{0} and {1} are here."),
    ("en", "de", "My sister knows {0}, but she does not know {1}."),
    ("de", "en", "{0} wohnt in {1}."),
    ("de", "en", "Gestern habe ich {0} in {1} gesehen."),
    ("de", "en", "{0} und {1} sind hier."),
)


def tagged_sentence(random: Random) -> tuple[str, str, str, str]:
    """Source and target language, a sentence with a tag around a name, and the name."""
    source, target, frame = random.choice(SAME)
    first, second = random.sample(NAMES, 2)
    chosen = random.choice([first, second])
    tag = random.choice(TAGS)
    words = [f"<{tag}>{name}</{tag}>" if name == chosen else name for name in (first, second)]
    return source, target, frame.format(*words), chosen


def check_sentences(translator: Translator, count: int, seed: int) -> None:
    """Every tag is there, the text is that of the untagged sentence, and names that are copied have their tag."""
    random = Random(seed)
    on_the_name = copied = 0
    for _ in range(count):
        source, target, text, name = tagged_sentence(random)
        found = translator.translate(text, source, target, protect=True)
        plain = translator.translate(re.sub(r"<[^>]*>", "", text), source, target)
        assert isinstance(found, Translation)
        assert isinstance(plain, Translation)
        assert re.sub(r"<[^>]*>", "", found.text) == plain.text
        assert re.findall(r"<[^>]*>", found.text) == re.findall(r"<[^>]*>", text)
        if plain.text.count(name) == 1:
            copied += 1
            on_the_name += re.search(rf"<(\w+)>{name}</\1>", found.text) is not None
    assert copied > count / 2
    assert on_the_name >= 0.95 * copied
    print(f"{count} sentences: {on_the_name} of {copied} tags on the right word")


def test_tags_of_names_stay_on_the_names() -> None:
    check_sentences(pellucid.load(), 40, seed=1)


@pytest.mark.proof
def test_tags_of_names_stay_on_the_names_in_1000_sentences() -> None:
    check_sentences(pellucid.load(), 1000, seed=2)


def test_sentences_breaks_and_alternatives(translator_of_numbers: Translator) -> None:
    found = translator_of_numbers.translate("<p>one <b>two</b></p><p>three</p>", "en", "de", protect=True, n_best=2)
    assert isinstance(found, Translation)
    assert found.text == "<p>eins <b>zwei</b></p> <p>drei</p>"  # without the space, "two" and "three" were one word
    assert found.tags == ()
    assert all(re.findall(r"<[^>]*>", each.text) == ["<p>", "<b>", "</b>", "</p>", "<p>", "</p>"]
               for each in found.alternatives)  # fmt: skip


@pytest.fixture
def translator_of_numbers(number_model: object) -> Translator:
    return pellucid.load(str(number_model))
