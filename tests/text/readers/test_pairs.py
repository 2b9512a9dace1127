"""Whatever is written in any format is read back; whatever is wrong with a file is reported with its place."""

from __future__ import annotations

import gzip
import json
import lzma
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pellucid.config import FilterConfig
from pellucid.errors import UserError
from pellucid.text.pair import Pair
from pellucid.text.readers import Aligned, Pairs, Report

NO_RULES = FilterConfig(drop_empty=False, max_characters=0, max_ratio=0, identical_words=0, drop_duplicates=False)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}

# U+FEFF is left out because at the start of a file it is a byte order mark, which has a test of its own.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\ufeff")
LINE = st.text(CHARACTERS | st.sampled_from("\r\t\v\f\x85\u2028\u2029 <&\"'\\é語🙂"), max_size=12)
LINES = st.lists(st.tuples(LINE, LINE), min_size=1, max_size=8)
TEXTS = st.lists(st.tuples(st.text(CHARACTERS | st.just("\n"), max_size=12), LINE), min_size=1, max_size=8)


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(COMPRESS[path.suffix if path.suffix in COMPRESS else ""](raw))
    return path


def read(
    *inputs: Path | Aligned, languages: tuple[str, str] | None = None, rules: FilterConfig = NO_RULES
) -> list[Pair]:
    return list(Pairs(inputs, languages, rules))


def problem(*inputs: Path | Aligned, languages: tuple[str, str] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        read(*inputs, languages=languages)
    return str(caught.value)


def stripped(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(source.strip(), target.strip()) for source, target in pairs]


def texts(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def tmx_text(units: Sequence[str]) -> str:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
    return f'{head}<header srclang="en"/><body>\n' + "".join(units) + "</body></tmx>"


def unit(**texts: str) -> str:
    """One line of TMX; `pt_BR="..."` is the language pt-BR."""
    sides = (f'<tuv xml:lang="{name.replace("_", "-")}"><seg>{text}</seg></tuv>' for name, text in texts.items())
    return f"<tu>{''.join(sides)}</tu>\n"


@settings(max_examples=60, deadline=None)
@given(pairs=LINES, ending=st.sampled_from(sorted(COMPRESS)), line_end=st.sampled_from(["\n", "\r\n"]))
def test_aligned_files_read_back(pairs: list[tuple[str, str]], ending: str, line_end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            write(Path(folder, f"train.{language}{ending}"), "".join(pair[side] + line_end for pair in pairs))
            for side, language in enumerate(("en", "de"))
        ]
        found = read(Aligned(sides[0], sides[1]))
    assert texts(found) == stripped(pairs)
    assert [pair.place for pair in found] == [f"{sides[0]}:{number + 1}" for number in range(len(pairs))]
    assert {pair[2:4] for pair in found} == {("en", "de")}


@settings(max_examples=60, deadline=None)
@given(pairs=LINES, ending=st.sampled_from(sorted(COMPRESS)), line_end=st.sampled_from(["\n", "\r\n"]))
def test_tsv_reads_back(pairs: list[tuple[str, str]], ending: str, line_end: str) -> None:
    pairs = [(source.replace("\t", ""), target.replace("\t", "")) for source, target in pairs]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder, "a.tsv" + ending), "".join("\t".join(pair) + line_end for pair in pairs))
        found = read(path, languages=("en", "de"))
    assert texts(found) == stripped(pairs)
    assert [pair.place for pair in found] == [f"{path}:{number + 1}" for number in range(len(pairs))]


@settings(max_examples=60, deadline=None)
@given(
    pairs=TEXTS,
    ending=st.sampled_from(sorted(COMPRESS)),
    shape=st.sampled_from(["plain", "languages", "translation", "named"]),
    ascii_only=st.booleans(),
)
def test_jsonl_reads_back(pairs: list[tuple[str, str]], ending: str, shape: str, ascii_only: bool) -> None:
    shapes: dict[str, Callable[[str, str], object]] = {
        "plain": lambda source, target: {"id": 7, "source": source, "target": target},
        "languages": lambda source, target: {
            "target": source,
            "target_language": "en",
            "source_language": "de",
            "source": target,
        },
        "translation": lambda source, target: {"translation": {"de": target, "en": source}},
        "named": lambda source, target: {"fr": "autre", "de": target, "en": source, "score": 0.5},
    }
    records = [json.dumps(shapes[shape](*pair), ensure_ascii=ascii_only) + "\n" for pair in pairs]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder, "a.jsonl" + ending), "".join(records))
        found = read(path, languages=("en", "de"))
    assert texts(found) == stripped(pairs)
    assert [pair.place for pair in found] == [f"{path}:{number + 1}" for number in range(len(pairs))]


@settings(max_examples=60, deadline=None)
@given(pairs=TEXTS, ending=st.sampled_from(sorted(COMPRESS)), encoding=st.sampled_from(["UTF-8", "UTF-16"]))
def test_tmx_reads_back(pairs: list[tuple[str, str]], ending: str, encoding: str) -> None:
    illegal_in_xml = {chr(code) for code in range(32)} - set("\t\n\r") | {"\ufffe", "\uffff"}
    assume(not any(illegal_in_xml & set(side) for pair in pairs for side in pair))
    units = [
        unit(en=escape(source, {"\r": "&#13;", "\n": "&#10;"}), de=escape(target, {"\r": "&#13;"}))
        for source, target in pairs
    ]
    content = tmx_text(units).replace("UTF-8", encoding).encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder, "a.tmx" + ending), content)
        found = read(path)
    assert texts(found) == stripped(pairs)
    assert [pair.place for pair in found] == [f"{path}:{number + 4}" for number in range(len(pairs))]
    assert {pair[2:4] for pair in found} == {("en", "de")}


@settings(max_examples=40, deadline=None)
@given(pairs=LINES, drop=st.data())
def test_a_line_short_is_always_found(pairs: list[tuple[str, str]], drop: st.DataObject) -> None:
    """Whichever line is missing, on whichever side: nothing that is silently shifted."""
    sides = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
    short = drop.draw(st.integers(0, 1))
    del sides[short][drop.draw(st.integers(0, len(pairs) - 1))]
    with tempfile.TemporaryDirectory() as folder:
        source, target = (
            write(Path(folder, name), "".join(line + "\n" for line in side))
            for name, side in zip("ab", sides, strict=True)
        )
        message = problem(Aligned(source, target))
    if len(pairs) == 1:
        assert "empty" in message
    else:
        assert f"{len(sides[0])} lines" in message
        assert f"has {len(sides[1])}" in message


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_a_compressed_file_cut_anywhere_is_found(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.tsv{ending}", "".join(f"one {n}\teins {n}\n" for n in range(5)))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert str(path) in problem(path), length


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv.gz", "".join(f"one {n}\teins {n}\n" for n in range(100)))
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 0xFF  # the checksum
    path.write_bytes(raw)
    assert "damaged" in problem(path)


def test_a_name_may_lie_about_compression(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(b"one\teins\n")
    (tmp_path / "b.tsv").write_bytes(gzip.compress(b"two\tzwei\n"))
    assert texts(read(tmp_path / "a.tsv.gz", tmp_path / "b.tsv")) == [("one", "eins"), ("two", "zwei")]


def test_line_ends(tmp_path: Path) -> None:
    """A byte order mark and CRLF go; separators that str.splitlines would split at stay inside the line."""
    source = write(tmp_path / "a", b"\xef\xbb\xbfone\r\ntwo\xe2\x80\xa8still two\n three\x0cstill three\rand still \n")
    target = write(tmp_path / "b", "eins\nzwei\x85noch zwei\r\ndrei")
    assert texts(read(Aligned(source, target))) == [
        ("one", "eins"),
        ("two\u2028still two", "zwei\x85noch zwei"),
        ("three\x0cstill three\rand still", "drei"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"good\tgut\nb\xe4d\tschlecht\n", "a.tsv:2: invalid UTF-8: byte 0xe4 at byte 2"),
        (b"good\tgut\nbad\0\tschlecht\n", "a.tsv:2: a NUL byte"),
        ("good\tgut\n".encode("utf-16"), "a.tsv:1: a NUL byte, or UTF-16"),
        (b"one\teins\rtwo\tzwei\r", "a.tsv:1: lines end in CR alone"),
        (b"one\teins\n\nthree\n", "a.tsv:3: 1 column, not 2"),
        (b"one\teins\ttoo many\n", "a.tsv:1: 3 columns, not 2"),
        (b"", "a.tsv: the file is empty"),
        pytest.param(b"x" * (1 << 24) + b"\tend\n", "a.tsv:1: a line of more than", id="endless line"),
    ],
)
def test_bad_lines_are_reported_with_their_place(tmp_path: Path, content: bytes, expected: str) -> None:
    assert expected in problem(write(tmp_path / "a.tsv", content))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ('["one", "eins"]', "not a JSON object"),
        ('{"source": 1, "target": "eins"}', "1 is not text"),
        ('{"source": "a\\u0000b", "target": "eins"}', "a NUL character"),
        ('{"source": "\\ud83d", "target": "eins"}', "an unpaired surrogate"),
        ('{"en": "one", "de": "eins", "fr": "un"}', "found: en, de, fr"),
        ('{"src": "one", "tgt": "eins"}', "found: none"),
    ],
)
def test_bad_json_is_reported_with_its_place(tmp_path: Path, line: str, expected: str) -> None:
    message = problem(write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n'))
    assert "a.jsonl:2: " in message
    assert expected in message


def test_json_of_another_direction_is_refused(tmp_path: Path) -> None:
    record = {"source": "one", "target": "un", "source_language": "en", "target_language": "fr"}
    path = write(tmp_path / "a.jsonl", json.dumps(record))
    assert "languages en and fr, not en and de" in problem(path, languages=("en", "de"))
    assert read(path)[0][2:4] == ("en", "fr")


def test_jsonl_keys_in_capitals_are_no_languages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"ID": "17", "Key": "a", "en": "one", "de": "eins"}\n')
    assert texts(read(path)) == [("one", "eins")]


def test_json_sides_keep_the_order_of_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"en": "one", "de": "eins"}\n{"de": "zwei", "en": "two"}\n{"en": "three"}\n\n')
    assert read(path)[:3] == [
        Pair("one", "eins", "en", "de", f"{path}:1"),
        Pair("two", "zwei", "en", "de", f"{path}:2"),
        Pair("three", "", "en", "de", f"{path}:3"),
    ]


def test_every_bad_file_is_told_at_once(tmp_path: Path) -> None:
    write(tmp_path / "train.en.gz", "one\n")
    (tmp_path / "folder.tsv").mkdir()
    write(tmp_path / "notes.docx", "one")
    with pytest.raises(UserError) as caught:
        Pairs(
            [
                Aligned(tmp_path / "train.en", tmp_path / "nowhere" / "train.de"),
                tmp_path / "folder.tsv",
                tmp_path / "notes.docx",
            ]
        )
    message = str(caught.value)
    assert len(caught.value.problems) == 4
    assert "did you mean 'train.en.gz'?" in message
    assert "train.de: no such file" in message
    assert "folder.tsv: is a directory" in message
    assert "notes.docx: unknown format .docx" in message


def test_no_input_is_an_error() -> None:
    with pytest.raises(UserError, match="no files of pairs"):
        Pairs([])


@pytest.mark.parametrize(
    ("header", "asked", "expected"),
    [
        ("en\tde", None, ("one", "eins", "en", "de")),
        ("en\tde", ("de", "en"), ("eins", "one", "de", "en")),
        ("source\ttarget", None, ("one", "eins", None, None)),
        ("Target\tSource", ("de", "en"), ("eins", "one", "de", "en")),
        ("the\tder", None, ("the", "der", None, None)),  # words, not codes: the first pair
        ("EN-us\tde", ("en", "de"), ("one", "eins", "en", "de")),
        ("to\tzu", ("en", "de"), ("to", "zu", "en", "de")),  # words that are codes, too: the first pair
    ],
)
def test_tsv_headers(
    tmp_path: Path, header: str, asked: tuple[str, str] | None, expected: tuple[str, str, str | None, str | None]
) -> None:
    path = write(tmp_path / "a.tsv", f"{header}\none\teins\n")
    assert read(path, languages=asked)[0][:4] == expected


def test_tsv_columns_of_other_languages_than_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "en\tfr\none\tun\n")
    with pytest.raises(UserError, match=r"a\.tsv:1: the columns are en and fr, not en and de"):
        read(path, languages=("en", "de"))


def test_tsv_columns_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "id\tfr\tde\ten\n1\tun\teins\tone\n\n2\tdeux\tzwei\ttwo\n")
    assert texts(read(path, languages=("en", "de"))) == [("one", "eins"), ("", ""), ("two", "zwei")]
    assert "4 columns, not 2" in problem(path)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("t.en", "t.de.gz"), ("en", "de")),
        (("t.eng", "t.deu"), ("eng", "deu")),
        (("t.pt-BR", "t.pt_PT"), ("pt-BR", "pt_PT")),
        (("t.EN", "t.De"), ("EN", "De")),
        (("t.src", "t.tgt"), (None, None)),
        (("a.txt", "b.txt"), (None, None)),
        (("a", "b"), (None, None)),
    ],
)
def test_languages_of_file_endings(
    tmp_path: Path, names: tuple[str, str], expected: tuple[str | None, str | None]
) -> None:
    source, target = (write(tmp_path / name, "text\n") for name in names)
    assert read(Aligned(source, target))[0][2:4] == expected
    assert read(Aligned(source, target), languages=("xx", "yy"))[0][2:4] == ("xx", "yy")


def test_swapped_files_are_told(tmp_path: Path) -> None:
    source, target = write(tmp_path / "t.de", "eins\n"), write(tmp_path / "t.en", "one\n")
    assert "t.de: the source is asked for in en" in problem(Aligned(source, target), languages=("en", "de"))


def test_several_inputs_in_order_and_again(tmp_path: Path) -> None:
    pairs = Pairs(
        [
            write(tmp_path / "b.tsv", "one\teins\ntwo\tzwei\n"),
            write(tmp_path / "a.jsonl.xz", '{"fr": "trois", "en": "three"}\n'),
            Aligned(write(tmp_path / "t.en", "four\none\n"), write(tmp_path / "t.de", "vier\neins\n")),
        ]
    )
    first = list(pairs)
    assert [pair.source for pair in first] == ["one", "two", "trois", "four"]  # the last comes again, with a label
    assert list(pairs) == first
    report = Report()
    list(pairs.read(report))
    assert report.directions == {(None, None): 2, ("fr", "en"): 1, ("en", "de"): 1}


def test_nothing_left_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\t\n\teins\n")
    with pytest.raises(UserError, match=r"no pair is left[\s\S]*empty side +2"):
        read(path, rules=FilterConfig())
