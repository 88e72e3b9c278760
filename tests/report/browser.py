"""A real browser for tests: the system's Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Without a graphics card, 3D is drawn by the processor.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Return why there is no browser; nothing where there is one."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return "" if program() else "Chromium is not installed"


def program() -> str | None:
    """Return the path of the browser."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running() -> Iterator[Any]:
    """Run a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def expect(shown: Any) -> Any:
    """Return assertions about what a tab shows, which wait until they hold."""
    from playwright.sync_api import expect as assertions

    # Playwright's own 5 s are few for a page with 3D on a busy machine.
    assertions.set_options(timeout=60_000)
    return assertions(shown)


class Watched:
    """A tab that notes what goes wrong and what is asked of whom."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", self._note)
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def open(self, address: str) -> Any:
        """Open a page and wait until it is ready."""
        self.tab.goto(address)
        self.tab.wait_for_selector("html[data-ready]")
        return self.tab

    def others(self, host: str) -> list[str]:
        """Return addresses of other hosts that were asked."""
        own = ("data:", "blob:", "about:", host)
        return [one for one in self.asked if not one.startswith(own)]
