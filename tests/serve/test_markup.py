from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.serve.api.markup import Marked, Page

PIECES = st.sampled_from([
    "<p>", "</p>", "<b>", "</b>", "<br>", "<br/>", "<img alt='a>b'>", "<script>", "</script>", "<style>", "</style>",
    "<!--x-->", "<!--", "-->", "<!doctype html>", "<?pi?>", "<![CDATA[x]]>", "<code>", "</code>", "</", "<a ", "< ",
    "<p translate=no>", "<textarea>", "</textarea>", "<title>", '"', "'", "=", ">", "a", " b ", "\n", "\r\n", "\u2028",
    "&", "&amp;", "&lt;", "&#60;", "&#x3c", "&nbsp;", "&nonsense;", "&#", "&#x", "é", "😀",
])  # fmt: skip


@given(st.lists(PIECES).map("".join))
def test_unchanged_texts_give_the_same_source(source: str) -> None:
    page = Page(source)
    assert page.write(page.texts) == source


@given(st.lists(PIECES).map("".join), st.text())
def test_a_text_never_becomes_markup(source: str, text: str) -> None:
    """Whatever is put in place of the texts, the tags are those of the source."""
    page = Page(source)
    if "<" in page.text or "&" in page.text:
        return  # a "<" that the parser took for text is escaped, and may then no longer swallow what follows
    assert tags(page.write([with_text(each, text + ".") for each in page.texts])) == tags(source)


def with_text(marked: Marked, text: str) -> Marked:
    return Marked(text, tuple(tag._replace(place=min(tag.place, len(text))) for tag in marked.tags))


def tags(source: str) -> list[str]:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(f"<{tag}{attrs}")

        def handle_endtag(self, tag: str) -> None:
            found.append(f"</{tag}")

    reader = Reader()
    reader.feed(source)
    reader.close()
    return found


@pytest.mark.parametrize(
    ("source", "texts", "shouted"),
    [
        ("plain", ["plain"], "PLAIN"),
        ("<p>a <b>c</b></p>", ["a c"], "<p>A <b>C</b></p>"),
        ("a &amp; b &lt; c", ["a & b < c"], "A &amp; B &lt; C"),
        (
            "<p>&lt;script&gt;x()&lt;/script&gt;</p>",
            ["<script>x()</script>"],
            "<p>&lt;SCRIPT&gt;X()&lt;/SCRIPT&gt;</p>",
        ),
        ("<P CLASS=x  title='a'>t</P >", ["t"], "<P CLASS=x  title='a'>T</P >"),
        ("<script>if (a<b) x</script>t", ["t"], "<script>if (a<b) x</script>T"),
        ("<style>p > a</style><!-- c -->t", ["t"], "<style>p > a</style><!-- c -->T"),
        ("<p>a<code>b<code>c</code>d</code>e</p>", ["a e"], "<p>A<code>b<code>c</code>d</code> E</p>"),
        ("<p>a <code>b</code> e<br>f</p>", ["a e", "f"], "<p>A <code>b</code> E<br>F</p>"),
        ("<li>a<td>b</li>c <em>d</em> <my-tag>e", ["a", "b", "c d e"], "<li>A<td>B</li>C <em>D</em> <my-tag>E"),
        ("<i translate=no>a<b>c</b></i>d", ["d"], "<i translate=no>a<b>c</b></i>D"),
        ("<br translate=no>d", ["d"], "<br translate=no>D"),
        ("<p>\n  a\n</p>\n<p>&nbsp;</p>", ["\n  a\n"], "<p>\n  A\n</p>\n<p>&nbsp;</p>"),
        ("a < b", ["a < b"], "A &lt; B"),
        ("it's &quot;so&quot;", ['it\'s "so"'], 'IT\'S "SO"'),
        ("<img alt='x'>", [], "<img alt='x'>"),
        ("r&d", ["r&d"], "R&amp;D"),
        ("a <b", ["a "], "A <b"),
        ("a<!-- b", ["a"], "A<!-- b"),
        ("a<script>b", ["a"], "A<script>b"),
        ("", [], ""),
    ],
)
def test_text_is_separated_from_markup(source: str, texts: list[str], shouted: str) -> None:
    page = Page(source)
    assert [text for text, _ in page.texts] == texts
    assert page.write([with_text(each, each.text.upper()) for each in page.texts]) == shouted


@pytest.mark.parametrize("source", ["I <![=> you</p>", "<![ ]>", "a <![x[<b>]]> b", "<p>one</p><![=>two"])
def test_a_declaration_that_cannot_be_read_is_no_fault(source: str) -> None:
    page = Page(source)
    assert page.write(page.texts) == source
