"""Write docs/labs.md and its figures from the committed results of the labs; first run some of them again, if asked to.

python scripts/labs.py
python scripts/labs.py --run xor collapse --remark "Other work ran beside it."
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from pellucid.labs import DATA, NAMES, Result, committed, lab
from pellucid.web.bundle import read, script_of

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs/labs.md"
PICTURES = ROOT / "docs/pictures"
CHROMIUM = "/usr/bin/chromium"
WIDTH = 680  # pixels of a figure
TABLE, END = "<!-- labs -->", "<!-- end -->"


def file_name(name: str, number: int) -> str:
    return f"lab-{name}-{number}.svg"


def document(results: list[Result]) -> str:
    """What stands between the marks in docs/labs.md: a table of all labs, then each with its figures."""
    rows = [
        f"| [{lab.title}](#{anchor(result)}) | {lab.claims} | {result.verdict.outcome} | `pellucid lab {lab.name}` "
        f"| {result.seconds:g} |"
        for result in results
        for lab in [result.lab]
    ]
    head = ["| lab | claim | verdict | command | CPU seconds |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, *(line for result in results for line in section(result)), ""])


def anchor(result: Result) -> str:
    """The link that a heading has: small letters, digits, and - for spaces."""
    return re.sub(r"[^\w -]", "", heading(result).lower()).replace(" ", "-")


def heading(result: Result) -> str:
    return f"{result.lab.claims}: {result.lab.title}"


def section(result: Result) -> Iterator[str]:
    found, verdict = result.lab, result.verdict
    yield from ("", f"## {heading(result)}", "", found.question, "")
    yield from (f"- **The notes say**: {found.notes}", f"- **Method**: {found.method}")
    yield from (f"- **Criterion**: {found.criterion}", f"- **It would have been refuted by**: {found.refuted_by}")
    yield from (
        f"- **To break it** (`--broken`): {found.broken}",
        "",
        f"**{verdict.outcome.capitalize()}.** {verdict.sentence}",
        "",
    )
    took = f"`{result.command}`, {result.seconds:g} s of CPU time."
    yield f"{took} {result.remark}".rstrip()
    for number, figure in enumerate(found.draw(result.data), start=1):
        yield from ("", f"**{figure['title']}**", "")
        if figure["kind"] == "table":
            yield from markdown_table(figure["headings"], figure["rows"])
        else:
            yield f"![{figure['title']}](pictures/{file_name(found.name, number)})"
        if figure["note"]:
            yield from ("", figure["note"])


def markdown_table(headings: list[str], rows: list[list[str]]) -> Iterator[str]:
    for row in (headings, ["---"] * len(headings), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def with_labs(text: str, results: list[Result]) -> str:
    before, _, rest = text.partition(TABLE)
    return f"{before}{TABLE}\n\n{document(results)}\n{END}{rest.partition(END)[2]}"


def pictures(page: Page, results: list[Result]) -> dict[str, str]:
    """File name -> SVG, drawn in a browser by the modules of the page; the colours of both themes are in each."""
    page.set_content("<!doctype html><body></body>")
    page.add_script_tag(content=f"{script_of('labs/figure.js')}\nwindow.picture = picture;", type="module")
    page.wait_for_function("window.picture !== undefined")
    draw = "([figure, width]) => new XMLSerializer().serializeToString(window.picture(figure, width))"
    return {
        file_name(result.lab.name, number): styled(page.evaluate(draw, [figure, WIDTH]))
        for result in results
        for number, figure in enumerate(result.lab.draw(result.data), start=1)
        if figure["kind"] != "table"
    }


def styled(drawn: str) -> str:
    """An SVG that stands for itself: with the colours that it uses, light and dark, on a background."""
    theme, chart = read("theme.css"), read("labs/labs.css")
    classes = {name for found in re.findall(r'class="([^"]+)"', drawn) for name in found.split()}
    rules = [rule for rule in re.findall(r"\.chart [^{]+\{[^}]*\}", chart) if used(rule, classes)]
    wanted = set(re.findall(r"var\((--[\w-]+)\)", "".join(rules))) | {"--card"}
    light, dark = (
        "".join(f"{name}:{value};" for name, value in re.findall(r"(--[\w-]+): ([^;]+);", block) if name in wanted)
        for block in re.findall(r":root \{(.*?)\}", theme, re.DOTALL)
    )
    style = f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}svg{{background:var(--card)}}"
    start, rest = drawn.split(">", 1)
    return f"{start}><style>{style}{''.join(rules)}</style>{rest}\n"


def used(rule: str, classes: set[str]) -> bool:
    """Whether a rule is for one of these classes, or for elements of any class."""
    selectors = rule.split("{")[0].split(",")
    return any(set(re.findall(r"\.([\w-]+)", selector)) - {"chart"} <= classes for selector in selectors)


def run(name: str, remark: str) -> dict[str, Any]:
    """The full run of a lab, as its file keeps it."""
    return {**lab(name).run().to_dict(), **({"remark": remark} if remark else {})}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs="*", choices=NAMES, default=[])
    parser.add_argument("--remark", default="", help="how the run was made, where that matters")
    given = parser.parse_args()
    for name in given.run:
        (DATA / f"{name}.json").write_text(json.dumps(run(name, given.remark)) + "\n", encoding="utf-8")
    results = [committed(name) for name in NAMES]
    DOCUMENT.write_text(with_labs(DOCUMENT.read_text(encoding="utf-8"), results), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        drawn = pictures(browser.new_page(), results)
        browser.close()
    for old in PICTURES.glob("lab-*.svg"):
        if old.name not in drawn:
            old.unlink()
    for name, content in drawn.items():
        (PICTURES / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
