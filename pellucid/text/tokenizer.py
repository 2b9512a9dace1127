"""Text to token ids and back: byte-level BPE in which no text is unknown.

Two things are normalised: text is brought to Unicode's composed form (NFC), and white space at either end is removed.
A space is put before the first word, so that a word is the same token at any position; decoding removes it. Every digit
is a token of its own.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from pellucid.errors import UserError, nearest
from pellucid.text.unicode import well_formed

if TYPE_CHECKING:
    from pellucid.text.pair import Pair

PAD, START, END = 0, 1, 2
SPECIALS = ("<pad>", "<s>", "</s>")

# A word with the space before it (an apostrophe inside belongs to it), one digit, a run of other signs, white space.
# Signs, letters and digits never share a piece, so no merge can ever spell a special token such as "</s>" or "<2de>".
PIECE = r" ?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"

SMALLEST, LARGEST = 512, 32_000
SAMPLE_CHARACTERS = 20_000_000


def byte_characters() -> list[str]:
    """The printable character that represents each byte in the vocabulary: itself, or the next free one from U+0100."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


BYTE_OF = {character: byte for byte, character in enumerate(byte_characters())}


class Tokenizer:
    """A vocabulary and its merges. Ids: padding, start, end, one tag per language, the 256 bytes, then the merges."""

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        # Text from people is never special. The file does not store this setting, so it is set here.
        engine.encode_special_tokens = True
        self.engine = engine
        self._tags = {
            token.content[2:-1]: number
            for number, token in sorted(engine.get_added_tokens_decoder().items())
            if token.content not in SPECIALS
        }
        self.languages = tuple(self._tags)

    @classmethod
    def learn(cls, texts: Iterable[str], size: int | None = None, languages: Sequence[str] = (), seed: int = 1) -> Self:
        """Learn the merges from a sample of `texts`. Equal texts give equal bytes. Fewer than `size` tokens when the
        texts have no more to merge; without a size, `fitting_size` chooses one."""
        specials = [*SPECIALS, *(_tag(language) for language in dict.fromkeys(languages))]
        least = len(specials) + len(BYTE_OF)
        if size is not None and size < least:
            raise UserError(f"{size} is too small", "vocabulary", f"give at least {least}: specials, tags and bytes")
        sampled = sample(map(well_formed, texts), SAMPLE_CHARACTERS, seed)
        engine = tokenizers.Tokenizer(models.BPE())
        steps = [normalizers.NFC(), normalizers.Strip(), normalizers.Prepend(" ")]  # the order matters
        engine.normalizer = normalizers.Sequence(steps)
        by_byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        engine.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PIECE), "isolated"), by_byte])
        engine.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=size or fitting_size(sampled),
            min_frequency=2,
            special_tokens=[AddedToken(text, special=True, normalized=False) for text in specials],
            initial_alphabet=list(BYTE_OF),
            show_progress=False,
        )
        engine.train_from_iterator(sampled, trainer, length=len(sampled))
        return cls(engine)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            remedy = "give the directory of a trained model"
            raise UserError(f"the tokenizer cannot be read: {error.strerror}", str(path), remedy) from error
        except UnicodeDecodeError as error:
            raise _unusable(path, "it is not UTF-8 text") from error
        try:
            engine = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing narrower
            raise _unusable(path, f"it is damaged or of another kind: {error}") from error
        if tuple(engine.id_to_token(number) for number in range(3)) != SPECIALS:
            raise _unusable(path, "its first tokens are not " + " ".join(SPECIALS))
        return cls(engine)

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """The bytes of tokenizer.json, which the library `tokenizers` loads as they are."""
        return str(self.engine.to_str())

    def __len__(self) -> int:
        return int(self.engine.get_vocab_size())

    def tag(self, language: str) -> int:
        """The id that asks for a translation into `language`, first of the source ids."""
        if language not in self._tags:
            raise UserError(f"the model does not know the language {language!r}", "", nearest(language, self._tags))
        return self._tags[language]

    def normalise(self, text: str) -> str:
        """The text as it is after encoding: `decode(encode(text)) == normalise(text)`."""
        normal: str = self.engine.normalizer.normalize_str(well_formed(text))
        return normal.removeprefix(" ")

    def words(self, text: str) -> list[str]:
        """The pieces inside which merges happen, a character for each byte."""
        normal = self.engine.normalizer.normalize_str(well_formed(text))
        return [word for word, _ in self.engine.pre_tokenizer.pre_tokenize_str(normal)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without special ones."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.engine.encode_batch_fast([well_formed(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids. Special tokens are skipped; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_batch([list(ids)])[0]

    def decode_batch(self, ids: Sequence[Sequence[int]]) -> list[str]:
        texts: list[str] = self.engine.decode_batch(ids, skip_special_tokens=True)
        return texts

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The raw vocabulary strings, a character for each byte."""
        return [self._piece(int(number)) for number in ids]

    def readable(self, ids: Iterable[int]) -> list[str]:
        """The pieces for display: a space is ▁; a byte that is not a whole character, or invisible, is ⟨E2⟩."""
        first = len(SPECIALS) + len(self._tags)
        return [self._piece(int(n)) if n < first else _visible(self._piece(int(n))) for n in ids]

    def _piece(self, number: int) -> str:
        piece: str | None = self.engine.id_to_token(number)
        if piece is None:
            raise IndexError(f"token {number} is not in the vocabulary of {len(self)}")
        return piece


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides: one and the same object when the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def learn(
        cls,
        pairs: Iterable[Pair],
        size: int | None = None,
        languages: Sequence[str] = (),
        joint: bool = True,
        seed: int = 1,
    ) -> Self:
        """Learn one vocabulary from both sides, or one from each (`pairs` is then gone through twice)."""
        if joint:
            both = Tokenizer.learn((side for pair in pairs for side in pair[:2]), size, languages, seed)
            return cls(both, both)
        source = Tokenizer.learn((pair.source for pair in pairs), size, languages, seed)
        return cls(source, Tokenizer.learn((pair.target for pair in pairs), size, (), seed))

    @property
    def joint(self) -> bool:
        return self.source is self.target

    @classmethod
    def load(cls, directory: Path | str) -> Self:
        source = Path(directory) / "tokenizer.source.json"
        if source.exists():
            return cls(Tokenizer.load(source), Tokenizer.load(source.with_name("tokenizer.target.json")))
        both = Tokenizer.load(source.with_name("tokenizer.json"))
        return cls(both, both)

    def save(self, directory: Path | str) -> None:
        sides = {"": self.source} if self.joint else {".source": self.source, ".target": self.target}
        for name, side in sides.items():
            side.save(Path(directory) / f"tokenizer{name}.json")

    def language_tag(self, target_language: str | None = None) -> list[int]:
        """The first tokens of a source: the tag of the target language; none if the tokenizer has no tags."""
        if not self.source.languages:
            return []
        if target_language is None:
            known = ", ".join(self.source.languages)
            raise UserError("the language to translate into is not given", "", f"the model knows {known}")
        return [self.source.tag(target_language)]

    def encode_source(self, text: str, target_language: str | None = None) -> list[int]:
        return [*self.language_tag(target_language), *self.source.encode(text), END]

    def encode_target(self, text: str) -> list[int]:
        return [*self.target.encode(text), END]


def fitting_size(texts: Iterable[str]) -> int:
    """A vocabulary size for the texts, from the number of words that occur at least twice (without numbers): one token
    for every word where the words are few (dates, reports), growing with the cube root where they are many. 1,000
    words: 1,256 tokens; 18,000 words: 8,000; 50,000 words: 11,300. A multiple of 8 between 512 and 32,000."""
    counts = Counter(word for text in texts for word in text.split())
    words = sum(count > 1 and not any(map(str.isdigit, word)) for word, count in counts.items())
    merges = min(words, 300 * math.cbrt(words))
    size = min(max(len(SPECIALS) + len(BYTE_OF) + merges, SMALLEST), LARGEST)
    return 8 * round(size / 8)


def sample(texts: Iterable[str], characters: int, seed: int) -> list[str]:
    """At most about `characters` characters of the texts, sampled evenly in one pass: all texts if they fit; each time
    they do not, half of the sampled ones are dropped, and half of those to come."""
    draw = random.Random(seed).random
    sampled: list[str] = []
    total, share = 0, 1.0
    for text in texts:
        if share < 1 and draw() >= share:
            continue
        sampled.append(text)
        total += len(text)
        while total > characters and len(sampled) > 1:
            sampled = [text for text in sampled if draw() < 0.5] or sampled[:1]
            total, share = sum(map(len, sampled)), share / 2
    return sampled


def _tag(language: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]+", language):
        raise UserError(f"{language!r} is not a language code", "", "use letters, digits, - and _, such as pt-BR")
    return f"<2{language}>"


def _visible(piece: str) -> str:
    text = bytes(BYTE_OF[character] for character in piece).decode("utf-8", "surrogateescape").replace(" ", "▁")
    return "".join(character if character.isprintable() else _byte_codes(character) for character in text)


def _byte_codes(character: str) -> str:
    return "".join(f"⟨{byte:02X}⟩" for byte in character.encode("utf-8", "surrogateescape"))


def _unusable(path: Path, why: str) -> UserError:
    return UserError(f"the tokenizer cannot be used: {why}", str(path), "copy it again, or train the model again")
