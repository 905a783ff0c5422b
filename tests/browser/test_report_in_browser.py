"""The page as a reader meets it: in a real browser, at two widths, in light and dark, on paper, by keyboard."""

from __future__ import annotations

import io
import re
from itertools import product

import pytest

from tests.support.browser import DESKTOP, PHONE, open_page, wait_until
from tests.support.results import demo_result, small_demo

VIEWS = list(product((PHONE, DESKTOP), ("light", "dark")))
WCAG_AA = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
PDF_PAGE = re.compile(rb"/Type\s*/Page[^s]")


@pytest.mark.parametrize(("size", "scheme"), VIEWS)
def test_nothing_is_requested_and_nothing_goes_wrong(browser, report, size, scheme):
    with open_page(browser, report, size, scheme) as opened:
        opened.page.click("#contexts tbody button >> nth=1")
        opened.page.wait_for_selector(".pair-view ins")
        assert (opened.console, opened.requests, opened.dialogs) == ([], [], [])


@pytest.mark.parametrize(("size", "scheme"), VIEWS)
def test_the_answer_is_visible_without_scrolling(browser, report, size, scheme):
    with open_page(browser, report, size, scheme) as opened:
        page = opened.page
        assert demo_result().values.ranking()[0] in page.inner_text("h1")
        for part in ("h1", "#answer dl > div:last-child"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]  # nothing to scroll sideways


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "light"), (DESKTOP, "dark")])
def test_an_automated_check_finds_no_barrier(browser, report, size, scheme):
    from axe_playwright_python.sync_playwright import Axe

    with open_page(browser, report, size, scheme) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        found = Axe().run(opened.page, options=WCAG_AA)
        assert found.violations_count == 0, found.generate_report()


def test_the_check_finds_a_barrier(browser, report):
    """So that the test above can fail."""
    from axe_playwright_python.sync_playwright import Axe

    with open_page(browser, report) as opened:
        opened.page.evaluate("document.querySelector('h1').style.color = '#eeeeee'")
        assert Axe().run(opened.page, options=WCAG_AA).violations_count == 1


def test_search_filter_and_sort(browser, report):
    demo, result = small_demo(), demo_result()
    contexts = dict(zip(demo.replay["context_id"].to_pylist(), demo.replay["context"].to_pylist(), strict=True))
    with open_page(browser, report) as opened:
        page = opened.page
        assert page.inner_text("#status") == f"{len(contexts)} of {len(contexts)} contexts"
        page.fill("#search", "please ORDER")
        expected = sum("please" in text.lower() and "order" in text.lower() for text in contexts.values())
        assert 0 < expected < len(contexts)
        assert page.inner_text("#status") == f"{expected} of {len(contexts)} contexts"
        page.fill("#search", "")
        page.select_option("#filter-verdict", "1")
        clear = sum(row.verdict == "clear" for row in result.recommendations)
        assert page.inner_text("#status") == f"{clear} of {len(contexts)} contexts"
        page.select_option("#filter-verdict", "")
        page.click("#contexts button[data-sort=value]")
        shown = [float(cell) for cell in page.locator("#contexts tbody td:nth-child(3)").all_inner_texts()]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] == pytest.approx(max(row.q for row in result.recommendations), abs=5e-4)
        assert page.locator("th[aria-sort=descending]").inner_text().startswith("value")


def test_two_outputs_side_by_side(browser, report):
    """The texts are those of the replay, the numbers those of the result, and differing words are marked."""
    demo, result = small_demo(), demo_result()
    rows = demo.replay.to_pylist()
    with open_page(browser, report) as opened:
        page = opened.page
        page.click("#contexts tbody tr:nth-child(4) button")
        row = result.recommendations[2]
        wait_until(page, "text => document.querySelector('#detail h3').textContent === text", row.context_id)
        first, second = result.models[0], result.models[3]
        page.select_option(".side:nth-child(1) select", label=first)
        page.select_option(".side:nth-child(2) select", label=second)
        for side, model in enumerate((first, second), start=1):
            output = next(r["output"] for r in rows if r["context_id"] == row.context_id and r["model"] == model)
            assert page.locator(f".side:nth-child({side}) .text").text_content() == output
            value = row.values[result.models.index(model)]
            assert f"value {value:.3f}" in page.inner_text(f".side:nth-child({side}) .amount")
        ahead = row.values[0] - row.values[3]
        verb = "behind" if ahead < 0 else "ahead of"
        assert page.inner_text(".margin").startswith(f"{first} is {verb} {second} by {abs(ahead):.3f}")
        removed = " ".join(page.locator(".side del").all_inner_texts()).split()
        added = " ".join(page.locator(".side ins").all_inner_texts()).split()
        assert removed
        assert added
        assert row.context_id == page.inner_text("#detail h3")


def test_the_explorer_works_by_keyboard(browser, report):
    with open_page(browser, report) as opened:
        page = opened.page
        page.focus("#search")
        reached = set()
        for _ in range(16):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert {"filter-model", "filter-verdict", "rows", "open"} <= reached
        page.focus("#contexts tbody tr:nth-child(2) button")
        for _ in range(20):  # further than the rows in view
            page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.context") == "20"
        page.keyboard.press("Enter")
        wait_until(
            page,
            "text => document.querySelector('#detail h3').textContent === text",
            demo_result().recommendations[20].context_id,
        )
        assert page.evaluate("document.activeElement.dataset.context") == "20"


def test_the_page_can_be_printed(browser, report):
    """Several pages, and no picture or row is cut at the end of one."""
    with open_page(browser, report) as opened:
        printed = opened.page.pdf(format="A4", print_background=True)
        assert 2 <= len(PDF_PAGE.findall(io.BytesIO(printed).getvalue())) <= 8
        opened.page.emulate_media(media="print")
        assert not opened.page.is_visible(".explorer")
        assert opened.page.is_visible(".print-only")
        cut = opened.page.evaluate("getComputedStyle(document.querySelector('#values tr')).breakInside")
        assert cut == "avoid"
