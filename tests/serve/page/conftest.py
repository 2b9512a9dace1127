"""A browser on a real server whose model translates numbers in words, and a person who uses the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from pellucid.decode.translator import load

PATIENCE = 20_000  # milliseconds: a busy machine is no mistake
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def client(serve: Callable[..., Any], number_model: Path) -> Any:
    return serve(load(number_model))


@dataclass(frozen=True)
class Visitor:
    """Somebody who uses the page."""

    page: Page

    def types(self, text: str) -> None:
        self.page.get_by_label("Text to translate").fill(text)

    def translated(self) -> Locator:
        """The output, when the search is over."""
        output = self.page.locator("#output[aria-busy=false]:not(.draft):not(:empty)")
        output.wait_for()
        return output

    def aligned(self) -> None:
        self.page.locator("#alignment .word").first.wait_for()

    def opens(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab).click()

    def looks_inside(self, text: str) -> None:
        self.page.get_by_label("Sentence to look into").fill(text)
        self.page.get_by_role("button", name="See inside").click()
        self.page.locator(".stage h2").wait_for()

    def stages(self) -> list[str]:
        return self.page.locator(".stages button").all_inner_texts()

    def walks_to(self, stage: str) -> None:
        self.page.locator(".stages").get_by_role("button", name=stage, exact=True).click()
        expect(self.page.locator(".stage h2")).to_have_text(stage)

    def reads(self, figure: Locator, *keys: str) -> str:
        """What a picture tells after some keys, of which the first finds the first cell."""
        figure.locator(".scroll canvas").focus()
        for key in keys:
            self.page.keyboard.press(key)
        return figure.locator("output").inner_text()

    def alert(self) -> Locator:
        return self.page.get_by_role("alert")

    def overflow(self) -> int:
        """Pixels that the page is wider than the window."""
        return int(self.page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"))


@pytest.fixture
def visit(browser: Browser, client: Any) -> Iterator[Callable[..., Visitor]]:
    """Opens the page; at the end nothing may have been complained about in the console, or asked of another origin."""
    complaints: list[str] = []
    foreign: list[str] = []
    contexts: list[BrowserContext] = []

    def start(
        url: str = client.url,
        tab: str = "translate",
        width: int = 1440,
        scheme: Literal["light", "dark"] = "light",
        complains: bool = False,
    ) -> Visitor:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: foreign.append(request.url) if _leaves(request.url, url) else None)
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        if not complains:
            page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.goto(f"{url}/#/{tab}")
        expect(page.locator("#model")).not_to_be_empty()
        return Visitor(page)

    yield start
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []


def _leaves(url: str, home: str) -> bool:
    return urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != urlsplit(home).netloc
