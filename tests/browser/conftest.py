"""One browser for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import FLAGS, MISSING, chromium
from tests.support.results import demo_result

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file at a time: while it is open, no other test could run an event loop in the same process."""
    program = chromium()
    if program is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the small demo."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    demo_result().to_html(path)
    return path
