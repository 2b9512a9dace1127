"""The rules of the house: files and functions one can read at once, folders one can take in, and the field's own words
as names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pellucid

ROOT = Path(pellucid.__file__).parent

# Rooms that are being rewritten and may break these rules for now. To be emptied.
UNFINISHED: set[str] = set()

FILE_LINES = 300
FUNCTION_LINES = 50
PARAMETERS = 7
FILES_OF_A_FOLDER = 12
LISTS = {"nn", "cli", "labs"}  # one file for each part, for each verb, for each lab

# Words that once named something else than they do elsewhere, and what it is called now.
DIALECT = {
    "agreement": "r_drop",
    "alone": "single",
    "discreet": "redacted",
    "form": "converted model",
    "forms": "converted models",
    "gate": "middleware",
    "joined": "assembled",
    "judge": "pair filter",
    "kept": "protected spans",
    "leads": "is_main",
    "learned": "metadata",
    "nobody": "no_tap",
    "objective": "batch_loss",
    "pen": "heatmap",
    "prompt": "header timeout",
    "pull": "target_term",
    "pulled": "gradient of target_term",
    "ragged": "row store",
    "said": "sentence translation",
    "say": "to_text",
    "spoken": "to_text",
    "told": "reported",
    "together": "process group",
    "watching": "token callback",
    "way": "direction",
    "ways": "directions",
    # whole names
    "look_and_think": "cross_attention_and_feed_forward",
    "never_nothing": "ensure_one_allowed",
}
DOCUMENTED = {"both_ways"}  # a setting that people use
ALLOWED = {
    # the weight of that name in SwiGLU
    "gate": (
        "nn/feed_forward.py",
        "tracing/formulas/opening.py",
        "model_directory/shapes.py",
        "reference/",
        "decode/engines/ctranslate2/convert.py",
    ),
    # a body of an HTTP request
    "form": ("serve/",),
}


def files(*kinds: str) -> list[str]:
    """The files of the package of these kinds, each as its path below the package."""
    paths = [path for kind in kinds for path in sorted(ROOT.rglob(f"*.{kind}"))]
    found = [path.relative_to(ROOT) for path in paths]
    return [path.as_posix() for path in found if path.parts[0].removesuffix(".py") not in UNFINISHED]


def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, *, body_only: bool = False) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - (function.body[0] if body_only else function).lineno + 1


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of the parameters, but not self and cls."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [parameter.arg for place, parameter in enumerate(named) if place or parameter.arg not in ("self", "cls")]


def is_asked_for_by_a_framework(path: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A verb of the command line has a parameter for each option, the forward pass of an `autograd.Function` one for
    each input."""
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in function.decorator_list)
    return path.startswith("cli/") or (static and function.name == "forward")


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module gives or uses, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg, node.value.lineno
        elif isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias):
            yield from ((name, node.lineno) for name in (node.name, node.asname) if name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno


def words(name: str) -> list[str]:
    """The words of a name, which are divided by underscores and capitals."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def dialect(path: str, name: str) -> list[str]:
    """The words of the dialect in a name of the file `path`."""
    if name in DOCUMENTED:
        return []
    phrases = [phrase for phrase in DIALECT if "_" in phrase and phrase in name]
    return phrases + [
        word for word in words(name) if word in DIALECT and not path.startswith(ALLOWED.get(word, ("!",)))
    ]


def test_no_file_is_longer_than_a_reader_can_hold_in_the_head() -> None:
    counts = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in files("py", "js")}
    assert {path: count for path, count in counts.items() if count > FILE_LINES} == {}


def test_no_function_is_long() -> None:
    wrong = [
        f"{path}:{function.lineno} {function.name}: {lines} lines"
        for path in files("py")
        for function in functions(parsed(path))
        if (lines := count_lines(function, body_only=is_asked_for_by_a_framework(path, function))) > FUNCTION_LINES
    ]
    assert not wrong


def test_no_function_has_many_parameters() -> None:
    wrong = [
        f"{path}:{function.lineno} {function.name}: {count} parameters"
        for path in files("py")
        for function in functions(parsed(path))
        if (count := len(parameters(function))) > PARAMETERS and not is_asked_for_by_a_framework(path, function)
    ]
    assert not wrong


def test_no_folder_has_many_files() -> None:
    folders = [Path(path).parent for path in files("py")]
    counts = {folder.as_posix(): folders.count(folder) for folder in folders if folder.as_posix() not in LISTS}
    assert {folder: count for folder, count in counts.items() if count > FILES_OF_A_FOLDER} == {}


def test_no_name_is_in_the_old_dialect() -> None:
    wrong = [
        f"{path}:{line} {name}: say {DIALECT[word]!r}, or what it is"
        for path in files("py")
        for name, line in [*((part, 0) for part in Path(path).with_suffix("").parts), *identifiers(parsed(path))]
        for word in dialect(path, name)
    ]
    assert not wrong, "\n".join(wrong)


# --- the rules themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("find_way", ["way"]),
        ("TargetWays", ["ways"]),
        ("ALONE", ["alone"]),
        ("_HTTPGate", ["gate"]),
        ("never_nothing", ["never_nothing"]),
        ("always", []),
        ("both_ways", []),
        ("information", []),
    ],
)
def test_words_of_a_name(name: str, found: list[str]) -> None:
    assert dialect("decode/search.py", name) == found


def test_a_word_is_allowed_where_it_is_the_fields_own() -> None:
    assert dialect("nn/feed_forward.py", "gate") == dialect("reference/model.py", "gate") == []
    assert dialect("serve/app.py", "gate") == ["gate"]
    assert dialect("serve/requests.py", "form") == []


def test_names_are_found_wherever_they_stand() -> None:
    program = """
import one.two as three
class Four:
    five: int
    def six(self, seven, *eight, nine=1, **ten):
        try: self.eleven = lambda twelve: f(thirteen=14)
        except Error as fifteen: pass
"""
    found = {name for name, _ in identifiers(ast.parse(program))}
    assert found >= {"one.two", "three", "Four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
    assert found >= {"f", "thirteen", "Error", "fifteen"}
    [method] = functions(ast.parse(program))
    assert parameters(method) == ["seven", "nine", "eight", "ten"]
    assert (count_lines(method), count_lines(method, body_only=True)) == (3, 2)
