"""Translation memories: languages chosen well, codes left out, tricks refused, memory flat."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from pellucid.errors import UserError
from pellucid.text.pair import Pair
from pellucid.text.readers.tmx import READ_BYTES, tmx


def memory(path: Path, body: str, head: str = '<tmx version="1.4"><header srclang="en-US"/>') -> Path:
    path.write_text(f"{head}<body>{body}</body></tmx>", encoding="utf-8")
    return path


def unit(*sides: tuple[str, str]) -> str:
    texts = (f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in sides)
    return f"<tu>{''.join(texts)}</tu>\n"


def sides(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def test_codes_are_left_out_and_words_kept(tmp_path: Path) -> None:
    text = (
        'Press <bpt i="1">&lt;b&gt;</bpt>the <hi>red</hi> key<ept i="1">&lt;/b&gt;</ept><ph><sub>note</sub></ph> now.'
    )
    path = memory(tmp_path / "a.tmx", unit(("en", text), ("de", "Drücke <![CDATA[<rot>]]>.")))
    assert sides(list(tmx(path))) == [("Press the red key now.", "Drücke <rot>.")]


def test_text_outside_segments_is_no_text(tmp_path: Path) -> None:
    side = '<tuv xml:lang="{}"><prop type="x">note</prop><note>note</note><seg>{}</seg></tuv>'
    path = memory(
        tmp_path / "a.tmx", f"<tu><note>note</note>{side.format('en', 'one')}{side.format('de', 'eins')}</tu>"
    )
    assert sides(list(tmx(path))) == [("one", "eins")]


def test_the_source_language_of_the_header_comes_first(tmp_path: Path) -> None:
    path = memory(
        tmp_path / "a.tmx", unit(("de-DE", "eins"), ("EN-us", "one")) + unit(("en-GB", "two"), ("de", "zwei"))
    )
    pairs = list(tmx(path))
    assert [pair[:4] for pair in pairs] == [("one", "eins", "en", "de"), ("two", "zwei", "en", "de")]
    assert sides(list(tmx(path, ("de", "en")))) == [("eins", "one"), ("zwei", "two")]
    assert sides(list(tmx(path, ("en-GB", "de")))) == [("", "eins"), ("two", "zwei")]


def test_more_than_two_languages_are_listed_or_chosen_from(tmp_path: Path) -> None:
    path = memory(
        tmp_path / "a.tmx",
        unit(("en", "one"), ("de", "eins")) + unit(("en", "two"), ("fr", "deux"), ("de", "zwei"), ("fr", "2")),
    )
    with pytest.raises(UserError, match="found: en, de, fr"):
        list(tmx(path))
    with pytest.raises(UserError, match=r"no text in it.*its languages: en, de, fr"):
        list(tmx(path, ("en", "it")))
    assert sides(list(tmx(path, ("fr", "de")))) == [("", "eins"), ("deux", "zwei"), ("2", "zwei")]


def test_two_regions_of_one_language(tmp_path: Path) -> None:
    path = memory(tmp_path / "a.tmx", unit(("pt-BR", "trem"), ("pt-PT", "comboio")))
    assert next(tmx(path))[:4] == ("trem", "comboio", "pt-BR", "pt-PT")


def test_one_language_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found: en"):
        list(tmx(memory(tmp_path / "a.tmx", unit(("en", "one")))))


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ('<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>', "&b;"),  # a small file, gigabytes of text
        ('<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/hostname">]>', "&a;"),
        ('<!DOCTYPE tmx [<!ENTITY % a SYSTEM "a.dtd"> %a;]>', "one"),
        ('<!DOCTYPE tmx SYSTEM "tmx14.dtd">', "one&nbsp;two"),  # would lose the space in silence
    ],
)
def test_entities_are_refused(tmp_path: Path, declaration: str, text: str) -> None:
    path = memory(tmp_path / "a.tmx", unit(("en", text), ("de", "eins")), head=f"{declaration}\n<tmx>")
    with pytest.raises(UserError, match=r"a\.tmx:[12]: the entity '\w+' is not read"):
        list(tmx(path))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<tmx><body>\n<tu></body></tmx>", "a.tmx:2: invalid XML: mismatched tag"),
        ("<tmx><body>\n\n", "a.tmx:3: invalid XML: no element found"),
        ("<tmx><body>\n<tu><tuv><seg>one</seg></tuv></tu></body></tmx>", "a.tmx:2: a <tuv> without xml:lang"),
        ("", "a.tmx: the file is empty"),
        ("\n\n", "a.tmx:3: invalid XML"),
        ('<?xml version="1.0" encoding="shift_jis"?>\n<tmx/>', "a.tmx: its encoding is not read"),
        ('<?xml version="1.0" encoding="none-such"?>\n<tmx/>', "a.tmx: its encoding is not read"),
    ],
)
def test_bad_files_are_reported_with_their_place(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        list(tmx(path, ("en", "de")))
    assert expected in str(caught.value)


def test_memory_stays_flat(tmp_path: Path) -> None:
    one = unit(("en", "A sentence of some length, as they are."), ("de", "Ein Satz von einiger Länge, wie sie sind."))
    path = memory(tmp_path / "a.tmx", one * 20_000)
    assert path.stat().st_size > 30 * READ_BYTES
    tracemalloc.start()
    try:
        assert sum(1 for _ in tmx(path)) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * READ_BYTES


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["<tu><tuv xml:lang='en'><seg>", *["x" * 10_000] * 10_000], "a text of more than 1,000,000 characters"),
        (["<tu>", *["<tuv xml:lang='en'><seg>a</seg></tuv>"] * 100_000], "a unit of more than 200 texts"),
        ([f"<tu><tuv xml:lang='x-{n}'><seg>a</seg></tuv></tu>" for n in range(50_000)], "more than 1,000 languages"),
        (["<tu><tuv xml:lang='", *["x" * 10_000] * 10_000], "a tag of more than 1,048,576 bytes"),
        (["<a>"] * 10_000_000, "elements nested more than 1,000 deep"),
        (["<!-- ", *["x" * 10_000] * 10_000], "a tag of more than 1,048,576 bytes"),
    ],
)
def test_no_file_can_fill_the_memory(tmp_path: Path, content: list[str], expected: str) -> None:
    path = tmp_path / "bomb.tmx.gz"
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(["<?xml version='1.0'?><tmx><header srclang='en'/><body>", *content])
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=rf"bomb.tmx.gz:1: {expected} \(no translation memory"):
            list(tmx(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20  # long before the end of its hundred million characters
