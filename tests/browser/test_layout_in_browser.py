"""Layout of pages with long model names, segments, no script and on paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deconfound as dc
from deconfound.findings import Notice
from deconfound.report.page.plan_chart import PlanChart
from deconfound.report.page.render_page import render_html
from tests.support.browser import DESKTOP, PHONE, open_page
from tests.support.segmented import QUICK, segmented_result, segmented_tables

WCAG_AA = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
LONG = {"ant": "vendor-a/assistant-2026-05-13-preview", "bee": "vendor-b/assistant-2026-05-13-preview"}
FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models whose names differ in the middle, in segments; contexts are not in alphabetical order."""
    tables = {name: _renamed(table) for name, table in segmented_tables().items()}
    result = dc.evaluate(dc.load(**tables, segments="language"), "exp-only", options=QUICK)
    path = tmp_path_factory.mktemp("long") / "report.html"
    result.to_html(path)
    return path


def _renamed(table: pa.Table) -> pa.Table:
    named = pa.array([LONG[name] for name in table["model"].to_pylist()])
    return table.set_column(table.column_names.index("model"), "model", named)


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_long_names_make_no_page_wider_than_the_window(browser, long_names, size):
    with open_page(browser, long_names, size) as opened:
        page = opened.page
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        for part in (".panel", "#detail select", ".controls select", ".segment-chart"):
            edges = page.evaluate(
                "part => [...document.querySelectorAll(part)].map((each) => each.getBoundingClientRect().right)", part
            )
            assert edges
            assert max(edges) <= size[0]


def test_names_in_the_table_of_contexts_are_shown_whole(browser, long_names):
    with open_page(browser, long_names) as opened:
        boxes = opened.page.evaluate(
            "[...document.querySelectorAll('#contexts td.name span')]"
            ".map((each) => [each.scrollHeight - each.clientHeight, each.scrollWidth - each.clientWidth])"
        )
        assert boxes
        assert max(max(box) for box in boxes) <= 1
        heights = opened.page.evaluate(
            "[...document.querySelectorAll('#contexts tbody tr:not([aria-hidden])')].map((each) => each.offsetHeight)"
        )
        assert set(heights) == {45}  # that the script counts with


def test_contexts_are_sorted_by_what_is_shown(browser, long_names):
    with open_page(browser, long_names) as opened:
        opened.page.click("#contexts button[data-sort=context]")
        shown = opened.page.locator("#contexts .open").all_inner_texts()
        assert shown[:4] == ["e0", "e1", "e2", "e3"]
        opened.page.click("#contexts button[data-sort=context]")
        assert opened.page.locator("#contexts .open").first.inner_text() == "e119"


def test_without_a_script_there_is_a_sentence_instead_of_an_empty_frame(browser, long_names):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(long_names.as_uri())
    assert page.is_visible("noscript p")
    assert not page.is_visible("#rows")
    assert not page.is_visible("#search")
    context.close()


def test_paper_has_all_numbers_and_no_invitation_to_choose(browser, report):
    with open_page(browser, report) as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.is_visible("#value-table td")
        assert opened.page.is_visible("#method details p")
        assert not opened.page.is_visible(".screen-only")


def test_emoji_and_joined_letters_are_shown_as_written(browser, tmp_path):
    """In texts; an invisible character alone is still an escape, and names are as strict as before."""
    tables = segmented_tables()
    texts = {name: f"{FAMILY} नमस्ते क्\u200dष {name} a\u200db" for name in tables["experiment"]["context_id"].to_pylist()}
    tables["replay"] = tables["replay"].append_column(
        "context", pa.array([texts[name] for name in tables["replay"]["context_id"].to_pylist()])
    )
    tables["replay"] = tables["replay"].append_column(
        "output", pc.binary_join_element_wise(tables["replay"]["model"], "says", " ")
    )
    for name in ("log", "experiment"):
        ids = tables[name]["context_id"].to_pylist()
        tables[name] = tables[name].append_column("context", pa.array([texts.get(each, each) for each in ids]))
        tables[name] = tables[name].append_column(
            "output", pc.binary_join_element_wise(tables[name]["model"], "says", " ")
        )
    dc.evaluate(dc.load(**tables), "exp-only", options=QUICK).to_html(tmp_path / "emoji.html")
    with open_page(browser, tmp_path / "emoji.html") as opened:
        shown = opened.page.locator("#detail .text").first.text_content()
        assert FAMILY in shown
        assert "क्\u200dष" in shown
        assert "a\\u200db" in shown


def test_contexts_can_be_chosen_by_segment(browser, long_names):
    languages = segmented_tables()["experiment"]["language"].to_pylist()
    with open_page(browser, long_names) as opened:
        page = opened.page
        assert page.locator(".controls label", has_text="language").count() == 1
        for language in ("de", "en"):
            page.select_option(".filter-segment", label=language)
            assert page.inner_text("#status") == f"{languages.count(language)} of {len(languages)} contexts"
        page.select_option(".filter-segment", label="all")
        assert page.inner_text("#status") == f"{len(languages)} of {len(languages)} contexts"


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), pytest.param(DESKTOP, "light", marks=pytest.mark.slow)])
def test_an_automated_check_finds_no_barrier_on_a_page_with_everything(browser, tmp_path, size, scheme):
    """Segments, a failed check, a plan and ratios beyond the axis."""
    from axe_playwright_python.sync_playwright import Axe

    result = segmented_result()
    failed = dc.Finding("replay fidelity", "fail", Notice("Outputs differ."), "A2")
    far = tuple(replace(one, tipping_shift=13 * one.observed_difference) for one in result.sensitivity)
    plan = PlanChart.from_widths([60, 120, 240], [[0.4, 0.3, 0.5], [0.3, 0.2, 0.4], [0.2, 0.1, 0.3]], "")
    path = tmp_path / "everything.html"
    path.write_text(render_html(replace(result, findings=(failed,), sensitivity=far), plan=plan), encoding="utf-8")
    with open_page(browser, path, size, scheme) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        found = Axe().run(opened.page, options=WCAG_AA)
        assert found.violations_count == 0, found.generate_report()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        opened.page.click(".caution a")
        assert "#checks" in opened.page.url
