"""The pictures of the page in docs/: a real model, a real server, a real browser.

python scripts/screenshots.py --model runs/dates --text "the third of March 2021"
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
PATIENCE = 120_000  # milliseconds: a busy machine is no mistake
STAGES = ("map", "decoder.cross_attention.softmax", "heads")


@contextmanager
def served(model: str) -> Iterator[str]:
    """The address of a server for the model."""
    command = [sys.executable, "-m", "pellucid", "serve", "--model", model, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.split()[-1]
        finally:
            process.terminate()


def photograph(browser: Browser, url: str, text: str, folder: Path, size: str, scheme: str, every_stage: bool) -> None:
    width, height = SIZES[size]
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1,
    )

    page.set_default_timeout(PATIENCE)

    def shoot(name: str) -> None:
        page.screenshot(path=folder / f"page-{name}-{size}-{scheme}.png", full_page=True)

    page.goto(url)
    page.get_by_label("Text to translate").fill(text)
    page.locator(".strategy small").nth(3).wait_for()
    page.locator("#alignment .word").nth(2).wait_for()
    page.locator("#map .cells").first.wait_for()
    page.locator("#alignment .words").nth(1).locator(".word").nth(2).hover()
    shoot("translate")
    page.get_by_role("tab", name="Inside").click()
    page.locator("#walk:not([aria-busy=true]) .stages a").first.wait_for()
    for stage in _stages(page) if every_stage else STAGES:
        _open(page, stage=stage, layer="1", head="0")
        shoot("inside-" + stage.replace(".", "-").replace("_", "-"))
    _open(page, stage="decoder.cross_attention.scores", layer="1", cell="decoder.layers.1.cross_attention.scores.0.2.4")
    page.locator(".cell .operands").wait_for()
    shoot("cell")
    _open(page, stage="map", intervene="encoder.positions=0")
    page.locator(".compared canvas").first.wait_for()
    shoot("what-if")
    page.evaluate("(hash) => { location.hash = hash; }", "/learning?run=dates&at=520")
    page.locator("#learning-view[aria-busy=false] .thumbnail").first.wait_for()
    shoot("learning")
    page.get_by_role("tab", name="Worked examples").click()
    page.locator(".working li").first.wait_for()
    shoot("worked")
    page.close()


def _stages(page: Page) -> list[str]:
    """Every stage, by walking through them."""
    following = page.get_by_role("link", name="Next →", exact=True)
    found = []
    while True:
        found.append(str(page.locator(".stages [aria-current=step]").get_attribute("data-stage")))
        if not following.count():
            return found
        following.click()
        page.wait_for_timeout(100)


def _open(page: Page, **settings: str) -> None:
    """By its address."""
    text = parse_qs(urlsplit(urlsplit(page.url).fragment).query).get("text", [])
    query = urlencode({"text": text[0], **settings} if text else settings)
    page.evaluate("(hash) => { location.hash = hash; }", f"/inside?{query}")
    page.wait_for_timeout(1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--text", default="The old bridge was built before the war.")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["desktop"])
    parser.add_argument("--schemes", nargs="+", choices=["light", "dark"], default=["light"])
    parser.add_argument("--every-stage", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with served(given.model) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for size in given.sizes:
            for scheme in given.schemes:
                photograph(browser, url, given.text, given.out, size, scheme, given.every_stage)
        browser.close()


if __name__ == "__main__":
    main()
