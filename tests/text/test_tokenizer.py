"""The tokenizer against the library it is built on, brute force and hand calculation."""

from __future__ import annotations

import json
import unicodedata
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from pellucid.errors import UserError
from pellucid.text.bpe_dropout import BpeDropout, Merges
from pellucid.text.pair import Pair
from pellucid.text.tokenizer import (
    END,
    PAD,
    SPECIALS,
    START,
    Tokenizer,
    Tokenizers,
    byte_characters,
    fitting_size,
    sample,
)

TEXTS = [
    "The river carries the boat down to the sea.",
    "Down by the sea, the boats don't wait for the river.",
    "Der Fluss trägt das Boot hinunter zum Meer.",
    "Am Meer warten die Boote nicht auf den Fluss. Größe: 1234, Länge: 5678!",
    "naïve café, façade; 川は海へ流れる。海は広い。",
] * 4
# Unicode's White_Space, which is what is cut at the ends. Python's str.strip() takes U+001C to U+001F away as well.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

tokenizer = Tokenizer.learn(TEXTS, 400, ["de", "en"])
MERGES = Merges(tokenizer)
assigned = st.characters(exclude_categories=["Cs", "Cn"])
any_text = st.text(assigned, max_size=60) | st.text(
    st.sampled_from("aé e\u0301\t\n  ’'<2de></s>0٣ש🙂🏽\u200d\ufeff\x00\x1c河the "), max_size=40
)


def test_ids_come_in_the_fixed_order() -> None:
    assert (PAD, START, END) == (0, 1, 2)
    assert tokenizer.pieces(range(5)) == ["<pad>", "<s>", "</s>", "<2de>", "<2en>"]
    assert tokenizer.languages == ("de", "en")
    assert (tokenizer.tag("de"), tokenizer.tag("en")) == (3, 4)
    assert set(tokenizer.pieces(range(5, 261))) == set(byte_characters())
    assert len(tokenizer) == 400


@given(any_text)
def test_any_text_comes_back_composed_and_trimmed(text: str) -> None:
    ids = tokenizer.encode(text)
    expected = unicodedata.normalize("NFC", text).strip(WHITE_SPACE)
    assert tokenizer.decode(ids) == expected
    assert tokenizer.normalise(text) == expected
    assert all(number >= 5 for number in ids)


@pytest.mark.proof
def test_every_character_comes_back() -> None:
    characters = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
    for text, ids in zip(characters, tokenizer.encode_batch(["a" + c + "b" for c in characters]), strict=True):
        assert tokenizer.decode(ids) == unicodedata.normalize("NFC", "a" + text + "b")


@given(st.lists(any_text, max_size=5))
def test_a_batch_is_each_text_alone(texts: list[str]) -> None:
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


def test_a_word_is_the_same_at_the_start_and_inside() -> None:
    first, inside = tokenizer.encode("river"), tokenizer.encode("the river")
    assert inside[-len(first) :] == first
    assert len(first) == 1


def test_digits_stand_alone_and_are_one_token_wherever_they_stand() -> None:
    pieces = tokenizer.pieces(tokenizer.encode("1234 x 5678 2024-12-03"))
    digits = [piece for piece in pieces if any(c.isdigit() for c in piece)]
    assert digits == list("1234567820241203")


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a\ufffdb"
    assert tokenizer.decode(tokenizer.encode("\ud83d\ude42")) == "🙂"


@pytest.mark.parametrize("text", ["</s>", "<2de>", "<pad>", "a <s> b", "<2de>Hello.</s>"])
def test_text_from_people_is_never_special(text: str, tmp_path: Path) -> None:
    # Not even when the texts it was learned from are full of it.
    learned = Tokenizer.learn([*TEXTS, *([text] * 1000)], 500, ["de"])
    learned.save(tmp_path / "tokenizer.json")
    for each in (learned, Tokenizer.load(tmp_path / "tokenizer.json")):
        assert min(each.encode(text)) > 3
        assert each.decode(each.encode(text)) == text


def test_special_ids_are_skipped_and_broken_bytes_marked() -> None:
    ids = tokenizer.encode("the sea")
    assert tokenizer.decode([START, 3, *ids, END, PAD]) == "the sea"
    euro = tokenizer.encode("€")
    assert tokenizer.decode(euro[:-1]) == "\ufffd"


def test_pieces_for_people() -> None:
    ids = tokenizer.encode("the €\n sea")
    readable = tokenizer.readable([START, *ids, END])
    assert (readable[0], readable[-1]) == ("<s>", "</s>")
    assert "".join(readable[1:-1]) == "▁the▁⟨E2⟩⟨82⟩⟨AC⟩⟨0A⟩▁sea"
    assert "".join(tokenizer.readable(tokenizer.encode("Größe"))) == "▁Größe"


def test_the_library_loads_the_file_as_it_is(tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    plain = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXTS:
        ids = plain.encode(text).ids
        assert ids == tokenizer.encode(text)
        assert plain.decode(ids) == text


def test_equal_texts_give_equal_bytes(tmp_path: Path) -> None:
    again = Tokenizer.learn(TEXTS, 400, ["de", "en"])
    assert again.to_json() == tokenizer.to_json()
    again.save(tmp_path / "t.json")
    assert Tokenizer.load(tmp_path / "t.json").to_json() == tokenizer.to_json()


def test_merges_are_the_most_frequent_pairs() -> None:
    # " aab" three times, " xab" twice: (a, b) 5, (" ", a) 3, (a, a) 3, (" ", x) 2, (x, a) 2.
    small = Tokenizer.learn(["aab aab", "aab", "xab xab"], 3 + 256 + 1)
    assert small.pieces([len(small) - 1]) == ["ab"]


def test_a_vocabulary_without_room_for_the_bytes_is_refused() -> None:
    with pytest.raises(UserError, match="at least 260"):
        Tokenizer.learn(TEXTS, 259, ["de"])


@pytest.mark.parametrize("name", ["", "d e", "de>", "<2de>"])
def test_a_language_that_makes_no_tag_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="language"):
        Tokenizer.learn(TEXTS, 300, [name])


def test_the_size_grows_with_the_words() -> None:
    def sizes(counts: list[int]) -> list[int]:
        letters = str.maketrans("0123456789", "abcdefghij")
        return [fitting_size([" ".join(map(str, range(count))).translate(letters)] * 2) for count in counts]

    # By hand: 259 bytes and special tokens, 1,000 words; 300 times the cube root of 27,000 is 9,000.
    assert sizes([0, 10, 1_000, 27_000]) == [512, 512, 1256, 9256]
    assert 8_000 <= sizes([18_000])[0] < sizes([53_000])[0] <= 12_000
    assert sizes([1_300_000]) == [32_000]


def test_words_seen_once_and_numbers_need_no_tokens() -> None:
    once = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(600)]
    numbers = [f"{n}th" for n in range(2000)] * 2
    assert fitting_size([*once, *numbers]) == 512
    assert fitting_size([*once, *once]) == 856


def test_a_sample_is_bounded_even_and_seeded() -> None:
    texts = [f"{number:010}" for number in range(10_000)]
    kept = sample(texts, 20_000, 7)
    assert kept == sample(iter(texts), 20_000, 7) != sample(texts, 20_000, 8)
    assert kept == sorted(set(kept))
    assert 800 <= len(kept) <= 2_000
    # Drawn from everywhere: each quarter has its share, give or take five standard deviations.
    quarters = [sum(text < bound for text in kept) for bound in (texts[2500], texts[5000], texts[7500])]
    for quarter, count in enumerate(quarters, 1):
        assert abs(count - len(kept) * quarter / 4) < 5 * len(kept) ** 0.5 / 2
    assert sample(texts, 100_000, 7) == texts


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": "1.0"}', b"\xff\xfe", b"null"])
def test_a_damaged_file_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"tokenizer\.json: the tokenizer cannot be used: .*\(copy it again"):
        Tokenizer.load(path)


def test_a_truncated_a_foreign_and_a_missing_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json()[:-100], encoding="utf-8")
    with pytest.raises(UserError, match="damaged"):
        Tokenizer.load(path)
    tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, [])).save(str(path))
    with pytest.raises(UserError, match="first tokens are not <pad> <s> </s>"):
        Tokenizer.load(path)
    with pytest.raises(UserError, match=r"nothing\.json: the tokenizer cannot be read: No such file"):
        Tokenizer.load(tmp_path / "nothing.json")


def test_one_tokenizer_for_both_sides(tmp_path: Path) -> None:
    both = Tokenizers(tokenizer, tokenizer)
    assert both.encode_source("the sea", "de") == [3, *tokenizer.encode("the sea"), END]
    assert both.encode_target("das Meer") == [*tokenizer.encode("das Meer"), END]
    with pytest.raises(UserError, match="de, en"):
        both.encode_source("the sea")
    with pytest.raises(UserError, match=r"'fr'.*known: de, en"):
        both.encode_source("the sea", "fr")
    both.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    loaded = Tokenizers.load(tmp_path)
    assert loaded.joint
    assert loaded.encode_source("the sea", "en") == both.encode_source("the sea", "en")


def test_a_tokenizer_for_each_side(tmp_path: Path) -> None:
    pairs = [Pair("the sea " * 3, "das Meer " * 3), Pair("the river " * 3, "der Fluss " * 3)]
    both = Tokenizers.learn(pairs, 280, joint=False)
    assert not both.joint
    assert both.encode_source("the sea") == [*both.source.encode("the sea"), END]
    assert len(both.source.encode("the")) == 1 < len(both.target.encode("the"))
    both.save(tmp_path)
    loaded = Tokenizers.load(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.source.json", "tokenizer.target.json"]
    assert loaded.source.to_json() == both.source.to_json()
    assert loaded.target.to_json() == both.target.to_json()
    (tmp_path / "tokenizer.target.json").unlink()
    with pytest.raises(UserError, match=r"tokenizer\.target\.json"):
        Tokenizers.load(tmp_path)


# BPE dropout


def slow_bpe(word: str, rate: float, random: Random, merges: list[tuple[str, str]]) -> list[str]:
    """The definition: before every merge each candidate is left out with the chance `rate`; the best of the rest."""
    pieces = list(word)
    while True:
        candidates = [
            (merges.index(pair), at)
            for at, pair in enumerate(pairwise(pieces))
            if pair in merges and random.random() >= rate
        ]
        if not candidates:
            return pieces
        _, at = min(candidates)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


@given(any_text | st.sampled_from(TEXTS))
def test_dropout_0_is_the_plain_encoding_and_1_is_bytes(text: str) -> None:
    assert MERGES.encode(text, 0.0, Random(1)) == tokenizer.encode(text)
    dropped = MERGES.encode(text, 1.0, Random(1))
    normal = tokenizer.normalise(text)
    assert len(dropped) == (len(normal.encode()) + 1 if normal else 0)
    assert tokenizer.decode(dropped) == normal


@given(any_text, st.floats(0, 1), st.integers(0, 2**40))
def test_dropped_pieces_spell_the_same_text(text: str, rate: float, seed: int) -> None:
    ids = MERGES.encode(text, rate, Random(seed))
    assert tokenizer.decode(ids) == tokenizer.normalise(text)
    assert ids == MERGES.encode(text, rate, Random(seed))


def test_dropout_has_the_distribution_of_its_definition() -> None:
    pairs = [tuple(pair) for pair in json.loads(tokenizer.to_json())["model"]["merges"]]
    merges = [(str(left), str(right)) for left, right in pairs]
    random, draws = Random(5), 3000
    fast: dict[str, int] = {}
    slow: dict[str, int] = {}
    for _ in range(draws):
        ids = MERGES.encode("river", 0.3, random)
        cut = "|".join(tokenizer.pieces(ids))
        fast[cut] = fast.get(cut, 0) + 1
        cut = "|".join(slow_bpe("Ġriver", 0.3, random, merges))
        slow[cut] = slow.get(cut, 0) + 1
    assert len(fast) > 5
    for cut in fast | slow:
        first, second = fast.get(cut, 0), slow.get(cut, 0)
        # Two counts of one event differ by no more than five standard deviations.
        assert abs(first - second) <= 5 * (first + second) ** 0.5, cut


def test_dropout_depends_on_seed_epoch_pair_and_side_alone() -> None:
    text = " ".join(TEXTS[:5])
    both = Tokenizers(tokenizer, tokenizer)
    dropout = BpeDropout(both, 0.3, seed=1)
    once = dropout.source(text, epoch=2, pair=3)
    dropout.source(text, epoch=2, pair=4)
    assert dropout.source(text, epoch=2, pair=3) == once == BpeDropout(both, 0.3, seed=1).source(text, 2, 3)
    others = [
        dropout.source(text, 2, 4),
        dropout.source(text, 3, 3),
        dropout.target(text, 2, 3),
        BpeDropout(both, 0.3, seed=2).source(text, 2, 3),
    ]
    assert all(other != once for other in others)


# Long input


@pytest.mark.parametrize("unit", ["a", "the sea ", "é", "!", "1", "a'", " ", "\u0301"])
def test_a_line_of_a_megabyte_is_read(unit: str) -> None:
    text = "x" + unit * (2**20 // len(unit)) + "x"
    assert tokenizer.decode(tokenizer.encode(text)) == unicodedata.normalize("NFC", text)


def test_specials_are_listed_once() -> None:
    assert tokenizer.pieces([PAD, START, END]) == list(SPECIALS)
    with pytest.raises(IndexError):
        tokenizer.pieces([len(tokenizer)])
