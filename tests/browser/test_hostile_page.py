"""Text that others wrote stays text: in names, contexts, outputs, files and numbers of any size."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import deconfound as dc
from deconfound.atomic import write_text
from deconfound.findings import Finding, Notice
from deconfound.report.page.render_page import render_html
from tests.support.browser import open_page, wait_until
from tests.support.large_results import replay_of, resized_result
from tests.support.results import demo_result

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ATTACKS = (
    "<script>document.title='run'</script>",
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    '"><svg onload="document.title=\'run\'">',
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "]]>&lt;b&gt;\u202e\u2066evil\u2069\u200b\x00\x1b[31m".replace("\x00", "\x01"),
    "javascript:document.title='run'",
    "__proto__",
    "' onmouseover='document.title=\"run\"",
)
RUNS = "document.title === 'run' || document.querySelector('main img, main script, [onerror], [onload]') !== null"
LONG = "word " * 2_000_000  # 10 MB


@pytest.fixture(scope="module")
def hostile() -> dc.Result:
    """A result in which every name, file and sentence is an attack."""
    contexts = [f"{attack}{at}" for at, attack in enumerate(ATTACKS)]
    result = resized_result(demo_result(), ATTACKS, contexts)
    counts = replace(result.counts, log=replace(result.counts.log, source=ATTACKS[1], unused_columns=ATTACKS))
    finding = Finding(ATTACKS[0], "fail", Notice(ATTACKS[1], ATTACKS[2]), "A2")
    command = f"deconfound evaluate --log '{ATTACKS[1]}'"
    return replace(
        result, counts=counts, findings=(*result.findings, finding), command=command, outcome_unit=ATTACKS[2]
    )


@pytest.fixture(scope="module")
def page(hostile, tmp_path_factory) -> Path:
    texts = [f"{attack}\nsecond line" for attack in ATTACKS]
    outputs = [f"{one} {other}" for one in ATTACKS for other in ATTACKS]
    outputs[0] += LONG
    replay = replay_of(hostile.models, [row.context_id for row in hostile.recommendations], texts, outputs)
    path = tmp_path_factory.mktemp("hostile") / "<script>alert(1)<!--.html"
    write_text(path, render_html(hostile, replay))
    return path


def choose(page: Page, row: Locator, name: str) -> None:
    """Click on a row until its context is shown: rows that scroll into view are drawn again, and may miss a click."""
    for _ in range(10):
        row.click()
        with suppress(AssertionError):
            shown = "text => document.querySelector('#detail h3').textContent.startsWith(text)"
            return wait_until(page, shown, name, seconds=10)
    raise AssertionError(f"{name} is not shown")


def test_nothing_runs_and_nothing_breaks(browser, page, hostile):
    with open_page(browser, page) as opened:
        rows = opened.page.locator("#contexts tbody button")
        for at in range(len(ATTACKS)):
            choose(opened.page, rows.nth(at), hostile.recommendations[at].context_id[:5])
            opened.page.select_option(".side:nth-child(1) select", index=at)
            assert not opened.page.evaluate(RUNS)
        assert (opened.console, opened.requests, opened.dialogs) == ([], [], [])
        assert opened.page.locator("#pairs tbody tr").count() == len(ATTACKS)


def test_an_output_is_shown_as_it_was_written(browser, page):
    """Markup is visible as text; what would change the direction of text is an escape."""
    with open_page(browser, page) as opened:
        opened.page.select_option(".side:nth-child(1) select", index=2)
        shown = opened.page.locator(".side:nth-child(1) .text").text_content()
        assert shown == f"{ATTACKS[0]} {ATTACKS[2]}"
        opened.page.select_option(".side:nth-child(1) select", index=6)
        shown = opened.page.locator(".side:nth-child(1) .text").text_content()
        assert "\\u202e\\u2066evil" in shown


def test_a_long_cell_is_cut_and_folded(browser, page):
    with open_page(browser, page) as opened:
        opened.page.select_option(".side:nth-child(1) select", index=0)
        text = opened.page.locator(".side:nth-child(1) .text")
        assert len(text.text_content()) < 9_000
        assert text.text_content().endswith("…")
        height = text.bounding_box()["height"]
        assert height < 250
        opened.page.click(".side:nth-child(1) .unfold")
        assert text.bounding_box()["height"] > height
        assert "1 output after 8,000 characters" in opened.page.inner_text("#explore .lede")
    assert page.stat().st_size < 1_000_000
