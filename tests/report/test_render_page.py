"""The HTML page: complete, self-contained, and safe for any model name."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from deconfound.report.html import LEFT, WIDTH, render_html

import deconfound as dc
from deconfound.findings import Finding, Notice
from deconfound.report.text import sections, value_rows
from tests.support.results import demo_result

VOID_TAGS = ("meta", "line", "circle", "path")
VALUES = ("values", "direct", "experiment", "raw_log")


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


class Page(HTMLParser):
    """Tags with their attributes and the text between them; checks that tags are nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def test_the_page_starts_with_the_answer_and_shows_every_model(result, tmp_path):
    result.to_html(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert result.summary().splitlines()[0] in page.text
    for row in value_rows(result):
        assert {cell for cell in row if cell} <= set(page.text)
    assert page.count("circle") == page.count("path") == len(result.models)


def test_the_page_has_every_section_of_the_verbose_text(result):
    page = Page(render_html(result))
    for section in sections(result, verbose=True):
        assert set(section.lines) <= set(page.text)
        assert section.heading in ("", *page.text)


def test_a_failed_check_is_the_title_of_the_page(result):
    failed = Finding("replay fidelity", "fail", Notice("Outputs differ."), "A2")
    html = render_html(replace(result, findings=(failed,)))
    assert "<h1>Assumption check failed: A2 (replay fidelity).</h1>" in html


def test_a_model_without_log_rows_has_no_diamond(result):
    estimate = result.raw_log.estimate.copy()
    estimate[0] = np.nan
    page = Page(render_html(replace(result, raw_log=replace(result.raw_log, estimate=estimate))))
    assert page.count("path") == len(result.models) - 1


def test_the_page_fetches_and_runs_nothing(result):
    page = Page(render_html(result))
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}


def test_hostile_names_remain_text(result):
    names = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "\x1b[31m", "e" * 300, "f")
    values = {each: replace(getattr(result, each), models=names) for each in VALUES}
    html = render_html(replace(result, recommendations=(), **values))
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "img"}
    assert "\x1b" not in html
    assert "a&b" in "".join(page.text)


def test_the_plot_reaches_below_zero_where_costs_exceed_values(result):
    """All marks stay inside the plot, and the ticks are on the user's scale."""
    net = replace(result, values=result.values.net_of(np.full(len(result.models), 0.9)), outcome_range=(1.0, 5.0))
    page = Page(render_html(net))
    marks = [float(attributes["cx"]) for tag, attributes in page.tags if tag == "circle"]
    assert all(LEFT <= mark <= WIDTH for mark in marks)
    assert {"-1", "0", "1", "5"} <= set(page.text)
    assert "0.25" in Page(render_html(result)).text
    assert any("net of cost" in text for text in page.text)
    assert "</tspan> net value " in render_html(net)
    costly = Page(render_html(replace(result, values=result.values.net_of(np.full(len(result.models), 1e6)))))
    assert costly.count("text") < len(result.models) + 12


def test_bars_without_costs_keep_their_places(result):
    """The axis from 0 to 1 fills the plot."""
    page = Page(render_html(result))
    first = next(float(attributes["cx"]) for tag, attributes in page.tags if tag == "circle")
    assert first == pytest.approx(LEFT + (WIDTH - LEFT - 20) * result.values.table()[0]["estimate"], abs=0.1)
