"""The page: complete, self-contained, and with the sentences and numbers of the text and the JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import deconfound as dc
from deconfound.findings import Finding, Notice
from deconfound.report.page.chart_axis import ChartAxis, round_step
from deconfound.report.page.pair_matrix import PairMatrix
from deconfound.report.page.plan_chart import PlanChart
from deconfound.report.page.render_page import PageContent, render_html
from deconfound.report.scale import UNIT, Scale
from deconfound.report.text import answer_lines, sections, value_rows
from tests.support.results import demo_result

VOID_TAGS = ("meta", "input")
FAILED = Finding("replay fidelity", "fail", Notice("Outputs differ."), "A2")
NUMBER = re.compile(r"[+-]?\d+\.\d+")


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

    @property
    def flat(self) -> str:
        return " ".join(" ".join(self.text).split())

    def count(self, tag: str, class_name: str) -> int:
        return sum(name == tag and class_name in (attributes.get("class") or "") for name, attributes in self.tags)


def test_the_page_has_the_sentences_of_the_text_and_every_model(result, tmp_path):
    result.to_html(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert all(line in page.flat for line in answer_lines(result))
    for row in value_rows(result):
        assert {cell for cell in row if cell} <= set(page.text)
    for section in sections(result, verbose=True)[1:]:
        assert all(" ".join(line.replace("`", "").split()) in page.flat for line in section.lines)
        assert section.heading in (*page.text, "Comparisons")  # that one is "Who beats whom" here


def test_a_failed_check_stands_above_the_answer_and_changes_its_wording(result):
    html = render_html(replace(result, findings=(FAILED,)))
    caution, heading = html.index("Assumption check failed: A2 (replay fidelity).</strong>"), html.index("<h1>")
    assert caution < heading
    assert "<h1>Highest estimate, not reliable while a check fails: " in html
    assert "Best model" not in html
    assert "No clear winner" not in html


def test_a_model_without_log_rows_has_no_diamond(result):
    estimate = result.raw_log.estimate.copy()
    estimate[0] = np.nan
    marks = [
        Page(render_html(each)).count("path", "log-mark")
        for each in (result, replace(result, raw_log=replace(result.raw_log, estimate=estimate)))
    ]
    assert marks[0] - marks[1] == 1


def test_a_model_that_was_only_replayed_has_no_interval(result):
    covariance = result.values.covariance.copy()
    covariance[2, :] = covariance[:, 2] = 0.0
    covariance[2, 2] = np.inf
    chart = PageContent.from_result(replace(result, values=replace(result.values, covariance=covariance))).values
    assert [mark.name for mark in chart.marks if mark.low is None] == [result.models[2]]


def test_every_number_of_a_picture_is_in_the_json(result):
    """Numbers on hover are numbers of the document, on the user's scale: here from 1 to 5."""
    stars = replace(result, outcome_range=(1.0, 5.0), outcome_unit="of 5 stars")
    scale, known = Scale(1.0, 5.0), set()
    for number in _numbers(stars.document()):
        known |= {scale.value(number), scale.difference(number), scale.improvement(number), f"{number:.3f}"}
        known |= {f"{number:.2f}", scale.improvement(-number), scale.rough_difference(number)}
    for contrast in stars.contrasts():
        known |= {scale.improvement(-contrast.high), scale.improvement(-contrast.low)}
    known |= {scale.difference(float(error)) for error in stars.experiment.standard_error}
    titles = re.findall(r"<title>([^<]*)</title>", render_html(stars)) + re.findall(
        r'title="([^"]*)"', render_html(stars)
    )
    shown = {number for title in titles for number in NUMBER.findall(title)}
    assert len(shown) > 40
    ratios = {f"{one.tipping_ratio:.2g}" for one in stars.sensitivity}
    assert shown - known - ratios == {"0.5"}  # the AUC of sources that are alike


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_a_tiny_p_value_of_a_pair_is_not_rounded_to_zero(result):
    best = result.models.index(result.values.ranking()[0])
    estimate = np.array(result.values.estimate)
    estimate[best] += 0.3
    values = replace(result.values, estimate=estimate, covariance=result.values.covariance / 100)
    certain = replace(result, values=values)
    titles = [cell.title for row in PairMatrix.from_result(certain).rows for cell in row.cells]
    assert any("adjusted p < 0.001" in title for title in titles)
    assert not any("p = 0.000" in title for title in titles)


def test_hostile_names_remain_text(result):
    names = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&b", "\x1b[31m", "e" * 300, "f")
    values = {
        each: replace(getattr(result, each), models=names) for each in ("values", "direct", "experiment", "raw_log")
    }
    html = render_html(replace(result, recommendations=(), **values))
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "img"}  # without contexts there is nothing to explore
    assert "\x1b" not in html
    assert "a&b" in "".join(page.text)


def test_a_page_without_a_replay_says_so(result):
    page = Page(render_html(result))
    assert "This page has no texts" in page.flat
    assert "This page has no texts" not in Page(render_html(result, result.replay)).flat


def test_costs_move_all_marks(result):
    net = replace(result, values=result.values.net_of(np.full(len(result.models), 0.9)))
    chart = PageContent.from_result(net).values
    assert chart.value_name == "net value"
    assert all(0 <= mark.value <= 100 and 0 <= mark.log <= 100 for mark in chart.marks)
    assert any(tick.label.startswith("-") for tick in chart.ticks)


def test_ticks_are_round_numbers_on_the_users_scale():
    axis = ChartAxis.around([0.3, 0.7])
    assert [tick.label for tick in axis.value_ticks(UNIT)] == ["0.3", "0.4", "0.5", "0.6", "0.7"]
    seconds = axis.value_ticks(Scale(60.0, 0.0, "s"))  # less is better, and stands to the right
    assert [tick.label for tick in seconds] == ["20", "25", "30", "35", "40"][: len(seconds)] or len(seconds) > 2
    places = [tick.at for tick in sorted(seconds, key=lambda tick: float(tick.label))]
    assert places == sorted(places, reverse=True)
    assert [round_step(step) for step in (0.9, 1.1, 2.3, 4.0, 7.0)] == [1.0, 2.0, 2.5, 5.0, 10.0]
    assert ChartAxis.around([0.5, 0.5]).percent(0.5) == 50.0


def test_the_curve_of_a_plan_is_drawn(result, tmp_path):
    plan = {
        "schema": 4,
        "outcome_unit": "<b>",
        "table": [
            {
                name: {"rms_width": width / n, "total_rows": 30 * n}
                for name, width in (("expected", 0.4), ("low", 0.3), ("high", 0.5))
            }
            for n in (1, 2, 4)
        ],
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    page = Page(render_html(result, plan=PlanChart.read(path)))
    assert page.count("polyline", "line") == 1
    assert {"30", "60", "120", "0.4", "0.2", "0.1"} <= set(page.text)
    for broken in ("{}", "[]", "no json", json.dumps({**plan, "schema": 1}), json.dumps({**plan, "table": []})):
        path.write_text(broken)
        with pytest.raises(dc.DataError, match=r"plan\.json"):
            PlanChart.read(path)
    with pytest.raises(dc.DataError):
        PlanChart.read(tmp_path / "absent.json")
