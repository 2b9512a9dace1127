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
        self.explained(text)

    def explained(self, text: str) -> None:
        """Until the trace of the text is there."""
        expect(self.page.locator("#inside-status")).to_contain_text(f"{text} →")
        self.page.locator("#walk:not([aria-busy=true]) .stage h2").wait_for()

    def here(self) -> str:
        """The stage that is shown."""
        return str(self.page.locator(".stages [aria-current=step]").get_attribute("data-stage"))

    def stages(self) -> Iterator[str]:
        """Every stage from the first on, with a press of Next between two."""
        following = self.page.get_by_role("link", name="Next →", exact=True)
        while True:
            stage = self.here()
            yield stage
            if not following.count():
                return
            following.click()
            self.page.wait_for_function(
                "(stage) => document.querySelector('.stages [aria-current=step]').dataset.stage !== stage", arg=stage
            )

    def walks_to(self, stage: str) -> None:
        """By the list of stages, where the stages of a sublayer are folded unless one of them is shown."""
        link = self.page.locator(f'.stages [data-stage="{stage}"]')
        if not link.count():
            self.page.locator(f'.stages [data-stage^="{stage.rsplit(".", 1)[0]}."]').first.click()
        link.click()
        expect(link).to_have_attribute("aria-current", "step")

    def chooses(self, name: str, value: object) -> None:
        """One of the choices of a stage, such as its head."""
        self.page.get_by_role("group", name=name, exact=True).get_by_role("radio", name=str(value), exact=True).check()

    def figure(self, value: str) -> Locator:
        """The picture of a recorded value."""
        return self.page.locator(f'.stage figure[data-value="{value}"]')

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
        address: str = "",
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
        page.goto(f"{url}/#{address or '/' + tab}")
        expect(page.locator("#model")).not_to_be_empty()
        return Visitor(page)

    yield start
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []


def _leaves(url: str, home: str) -> bool:
    return urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != urlsplit(home).netloc
