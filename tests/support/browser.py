"""A real browser for tests: Chromium of the system, without a window and without a network."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "no Chromium on this machine; install it (Debian: apt-get install chromium) to test the page in a browser"
FLAGS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PHONE, DESKTOP = (375, 812), (1440, 900)


@dataclass
class OpenPage:
    """A page in the browser, and what happened while it was open."""

    page: Page
    console: list[str] = field(default_factory=list)  # warnings, errors and exceptions
    requests: list[str] = field(default_factory=list)  # besides the file itself
    dialogs: list[str] = field(default_factory=list)


def chromium() -> str | None:
    """The path of the system's Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def open_page(
    browser: Browser, path: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light"
) -> Iterator[OpenPage]:
    """Open a file and wait until its script has run."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]
    opened = OpenPage(context.new_page())
    page = opened.page
    page.on("console", lambda message: opened.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: opened.console.append(f"exception: {error}"))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=120_000)
        opened.requests.remove(path.as_uri())
        yield opened
    finally:
        context.close()


def wait_until(page: Page, expression: str, value: object = None, seconds: float = 60.0) -> None:
    """Wait until a JavaScript expression, or a function of a value, is true.

    Playwright's own function evaluates text inside the page, which the page's policy forbids.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression, value):
        assert time.monotonic() < end, f"{expression} did not become true"
        page.wait_for_timeout(50)
