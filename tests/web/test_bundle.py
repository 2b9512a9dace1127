"""The front end: one set of modules for page, report and sheet, and their joining into one script."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from pellucid.web.bundle import STATIC, dependencies, offline_page, read

PAGE, REPORT, SHEET, LABS, LEARNING = "page/main.js", "report.js", "sheet.js", "labs.js", "learning.js"
OWN = {REPORT, SHEET, LABS, LEARNING, "recompute.js", "packed.js"}  # what the page does not need: it has a server
MODULES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))
DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:const|let|var|class|function\*?) +(\[[^]]*\]|\{[^}]*\}|\w+)", re.MULTILINE
)


def names(module: str) -> list[str]:
    """What a module declares at its top level."""
    return [name for found in DECLARED.findall(read(module)) for name in re.findall(r"\w+", found)]


def test_report_sheet_and_labs_are_drawn_by_the_modules_of_the_page() -> None:
    page, report, sheet, labs, learning = (set(dependencies(entry)) for entry in (PAGE, REPORT, SHEET, LABS, LEARNING))
    shared = {"address.js", "dom.js", "heatmap.js"}
    assert shared | {name for name in MODULES if name.startswith("trace/")} == report - OWN
    assert {"dom.js", *(name for name in MODULES if name.startswith("worked/"))} == sheet - OWN
    assert {"dom.js", *(name for name in MODULES if name.startswith("labs/"))} == labs - OWN
    assert "learning/learning.js" in learning
    assert (report | sheet | labs | learning) - OWN <= page
    assert page | report | sheet | labs | learning == set(MODULES)  # and nothing is left over


def test_the_page_has_the_styles_of_report_and_sheet() -> None:
    styles = set(re.findall(r'href="/static/([\w/]+\.css)"', read("index.html")))
    assert styles == {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.css")}
    coloured = [name for name in styles if re.search(r":\s*#[0-9a-f]{3,6}\b", read(name))]
    assert coloured == ["theme.css"]  # every colour is declared once


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_draws_and_imports_only_what_is_there(module: str) -> None:
    text = read(module)
    assert text.startswith("// ")
    assert text.count("\n") <= 300
    lines = [line for line in text.splitlines() if re.match(r"\s*import\b", line)]
    folder = PurePosixPath(module).parent
    for line in lines:
        found = re.fullmatch(r'import \{ [\w, ]+ \} from "(\.\.?/[\w/]+\.js)";', line)
        assert found, line  # names as they are exported, one line each: what the joining can read
        assert (STATIC / folder / found[1]).resolve().is_relative_to(STATIC.resolve())
        assert (STATIC / folder / found[1]).is_file()


@pytest.mark.parametrize("entry", [REPORT, SHEET, LABS, LEARNING])
def test_the_joined_script_declares_every_name_once_and_imports_nothing(entry: str) -> None:
    declared = [name for module in dependencies(entry) for name in names(module)]
    assert len(declared) > 20
    assert sorted(declared) == sorted(set(declared))
    script = offline_page("title", "{}", entry).split('<script type="module">')[1].split("</script>")[0]
    assert not re.search(r"^\s*(import|export)\b|\bimport\(", script, re.MULTILINE)
    for module in dependencies(entry):
        assert read(module).splitlines()[-1].removeprefix("export ") in script


def test_a_module_comes_after_what_it_imports() -> None:
    order = dependencies(REPORT)
    assert order[-1] == REPORT
    assert (
        order.index("dom.js")
        < order.index("heatmap.js")
        < order.index("trace/view.js")
        < order.index("trace/stages.js")
    )


def test_data_and_title_stay_text() -> None:
    text = offline_page("<b>{{data}}</b>", '{"text": "</script><!-- & {{title}}"}', SHEET, "theme.css")
    assert "<title>&lt;b&gt;{{data}}&lt;/b&gt;</title>" in text
    assert '{"text": "\\u003c/script\\u003e\\u003c!-- \\u0026 {{title}}"}' in text
    assert text.count("</script>") == 2
