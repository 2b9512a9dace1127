"""The command as people and pipes use it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pellucid.cli import application
from pellucid.errors import UserError


def pellucid(*words: str, given: bytes = b"", fails: int = 0) -> tuple[str, str]:
    """Run the command; its standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", *words],
        input=given,
        capture_output=True,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == fails, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def test_words_of_the_command_are_texts(number_model: Path) -> None:
    out, err = pellucid("translate", "one two three", "drei", "--model", str(number_model))
    assert out == "eins zwei drei\nthree\n"
    assert err == ""


def test_line_n_in_is_line_n_out(number_model: Path) -> None:
    given = "one\n\n  \ntwo\r\n---\nthree \xa0\nfour".encode()
    out, _ = pellucid("translate", "--model", str(number_model), "--from", "en", given=given)
    assert out == "eins\n\n  \nzwei\r\n---\ndrei \xa0\nvier\n"


def test_bad_bytes_long_lines_and_many_empty_ones(number_model: Path) -> None:
    long = "one two three " * 2000
    given = b"one \xff two\n" + long.encode() + b"\nt\x00w\x07o\n" + b"\n" * 10_000 + b"four\n"
    out, err = pellucid("translate", "--model", str(number_model), "--from", "en", "--strategy", "greedy", given=given)
    lines = out.split("\n")
    assert len(lines) == 10_005
    assert lines[3:10_003] == [""] * 10_000
    assert lines[10_003:] == ["vier", ""]
    assert len(lines[1].split()) > 50
    assert "line 1 is not UTF-8" in err
    assert "more than 256 tokens" in err


def test_many_sentences_that_had_to_be_cut_are_counted(number_model: Path) -> None:
    given = b"one two three four " * 80 + b"\n"
    words = ["translate", "--model", str(number_model), "--from", "en", "--to", "de", "--strategy", "greedy"]
    _, few = pellucid(*words, given=given * 3)
    assert [line.partition(":")[0] for line in few.splitlines()] == ["pellucid"] * 3
    assert "more such notes" not in few
    _, many = pellucid(*words, given=given * 7)
    assert many == few + "pellucid: 4 more such notes; --format jsonl shows each with its text\n"


def test_a_byte_order_mark_is_not_text(number_model: Path) -> None:
    model = ["--model", str(number_model), "--from", "en"]
    assert pellucid("translate", *model, given="\ufeffone\ntwo\n".encode()) == ("eins\nzwei\n", "")
    out, err = pellucid("translate", *model, given="one\ntwo\n".encode("utf-16"), fails=2)
    assert out == ""
    assert err.startswith("pellucid: standard input: is UTF-16 (save the file as UTF-8, or: iconv")


def test_lines_in_another_encoding_are_reported_once(number_model: Path) -> None:
    _, err = pellucid("translate", "--model", str(number_model), "--from", "de", given="fünf\n".encode("latin1") * 60)
    assert err == (
        "pellucid: line 1 and 59 more are not UTF-8: invalid bytes were replaced by U+FFFD "
        "(for Latin-1: iconv -f latin1 -t utf-8)\n"
    )


def test_the_name_of_a_file_is_a_text_and_the_file_is_pointed_to(
    number_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one").write_text("two\n", encoding="utf-8")
    out, err = pellucid("translate", "one", "--model", str(number_model))
    assert out == "eins\n"
    assert err == "pellucid: 'one' is translated as a text; to translate the lines of that file: < one\n"
    out, err = pellucid("translate", "one " * 300, "--model", str(number_model), "--from", "en")
    assert out.split()
    assert "translated as a text" not in err  # too long for a name of a file


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00", "a zip archive, as .docx"),
        (b"%PDF-1.7\n", "a PDF"),
        (gzip.compress(b"one\n"), "compressed by gzip"),
        (lzma.compress(b"one\n"), "compressed by xz"),
        (bz2.compress(b"one\n"), "compressed by bzip2"),
        (b"one\ntwo\n".decode().encode("utf-16-le"), "not text: it has zero bytes"),
    ],
)
def test_what_is_not_text_is_refused(
    content: bytes, kind: str, number_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("manual.docx").write_bytes(content)
    model = ["--model", str(number_model), "--from", "en"]
    for words, given, where in ((["manual.docx"], b"", "manual.docx"), ([], content, "standard input")):
        out, err = pellucid("translate", *words, *model, given=given, fails=2)
        assert out == ""
        assert err.startswith(f"pellucid: {where}: is {kind}")


def test_nothing_in_nothing_out(number_model: Path) -> None:
    assert pellucid("translate", "--model", str(number_model), "--to", "de") == ("", "")


def test_json_and_tables(number_model: Path) -> None:
    given = b"one\ttwo\nsix\n"
    model = ["--model", str(number_model), "--to", "de"]
    out, _ = pellucid("translate", *model, "--format", "jsonl", "--n-best", "2", given=given)
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["input"] for row in rows] == ["one\ttwo", "six"]
    assert rows[1]["text"] == "sechs"
    assert rows[1]["source"] == "en"
    assert len(rows[1]["alternatives"]) == 1
    out, _ = pellucid("translate", *model, "--format", "tsv", given=given)
    assert [len(line.split("\t")) for line in out.splitlines()] == [3, 3]
    out, _ = pellucid("translate", os.fsdecode(b"one \xff"), *model, "--format", "jsonl")
    assert json.loads(out)["input"] == "one \N{REPLACEMENT CHARACTER}"


def test_a_stream_prints_the_translation(number_model: Path) -> None:
    words = ["translate", "one two three", "--model", str(number_model), "--strategy", "greedy"]
    assert pellucid(*words, "--stream") == pellucid(*words)


def test_each_piece_of_a_stream_is_printed_before_the_next_is_made(
    number_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def stream(*_: object) -> Iterator[str]:
        for piece in ("eins", " zwei"):
            events.append(f"made {piece}")
            yield piece

    monkeypatch.setattr("pellucid.decode.translator.Translator.stream", stream)
    monkeypatch.setattr("pellucid.cli.translate.write", lambda text: events.append(f"printed {text}"))
    CliRunner().invoke(application(("translate",)), ["translate", "one", "--model", str(number_model), "--stream"])
    assert events == ["made eins", "printed eins", "made  zwei", "printed  zwei", "printed \n"]


def test_lines_can_be_counted_off_where_each_has_several_translations(number_model: Path) -> None:
    out, _ = pellucid("translate", "--model", str(number_model), "--n-best", "2", given=b"one\n\nsix\n")
    lines = out.splitlines()
    assert (lines[0], lines[2:4], lines[4]) == ("eins", ["", ""], "sechs")
    assert len(lines) == 6


def test_a_dash_is_the_standard_input(number_model: Path) -> None:
    assert pellucid("translate", "--model", str(number_model), "-", given=b"one\n") == ("eins\n", "")


def test_a_problem_names_the_option(number_model: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pellucid", "translate", "one", "--model", str(number_model), "--n-best", "9"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "pellucid: --n-best: 9 is more than beam 5 (raise beam)\n")
    # --target of evaluate names a file; the target of a translation is --to.
    (tmp_path / "a.tsv").write_text("one\teins\n", encoding="utf-8")
    words = [sys.executable, "-m", "pellucid", "evaluate", "--pairs", str(tmp_path / "a.tsv"), "--to", "fr"]
    done = subprocess.run([*words, "--model", str(number_model)], capture_output=True, text=True)
    assert done.stderr.startswith("pellucid: --to: the model does not know the language 'fr'")


def test_a_closed_pipe_ends_it_quietly(number_model: Path) -> None:
    command = f"yes one two three | '{sys.executable}' -m pellucid translate --model '{number_model}' | head -n 2"
    done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[1]}}"], capture_output=True, timeout=120)
    assert done.stdout.decode() == "eins zwei drei\neins zwei drei\n0\n"
    assert done.stderr == b""


def test_whoever_feeds_a_pipe_line_by_line_is_answered_line_by_line(number_model: Path) -> None:
    words = [sys.executable, "-m", "pellucid", "translate", "--model", str(number_model), "--to", "de"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for word, wanted in (("one", b"eins\n"), ("two", b"zwei\n")):
            process.stdin.write(word.encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == wanted
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "fr"], "does not know the language 'fr'"),
        (["--strategy", "beem"], "did you mean 'beam'?"),
        (["--engine", "tensorflow"], "engine: 'tensorflow' is not a choice"),
        (["--format", "xml"], "unknown format"),
        (["--compute-type", "int4"], "did you mean 'int8'?"),
        (["--n-best", "9"], "raise beam"),
        (["--top-k", "5"], "choose the strategy 'sample'"),
        (["--stream", "--protect", "--format", "tsv"], "--protect: has no meaning with --stream"),
        (["--stream", "--prefix", "eins"], "--prefix: has no meaning with --stream"),
        (["--engine", "torch", "--compute-type", "int8"], "torch has one compute type only"),
        (["--engine", "ctranslate2", "--strategy", "sample", "--seed", "1"], "no seed"),
    ],
)
def test_a_wrong_request_is_reported(number_model: Path, words: list[str], message: str) -> None:
    result = CliRunner().invoke(application(("translate",)), ["translate", "one", "--model", str(number_model), *words])
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
    assert result.stdout == ""


def test_a_wrong_request_exits_with_2(number_model: Path) -> None:
    out, err = pellucid("translate", "one", "--model", str(number_model), "--to", "fr", fails=2)
    assert out == ""
    assert err == "pellucid: --to: the model does not know the language 'fr' (known: en, de)\n"
