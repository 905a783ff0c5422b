"""Pictures that mislead nobody: marks beyond the axis, negative shares, segments, plans and missing outcomes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.report.page.notebook import notebook_html
from deconfound.report.page.plan_chart import PlanChart
from deconfound.report.page.precision_chart import PrecisionChart
from deconfound.report.page.render_page import PageContent, render_html
from deconfound.report.page.segment_chart import SegmentChart
from deconfound.report.page.sensitivity_chart import SensitivityChart
from deconfound.report.page.value_chart import ValueChart
from deconfound.report.segment_text import MAX_SHOWN_MODELS, shown_models
from deconfound.report.text import segment_sections
from tests.support.results import demo_result
from tests.support.segmented import HOSTILE, segmented_result


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


@pytest.fixture(scope="module")
def segmented() -> dc.Result:
    return segmented_result()


def test_each_segment_has_a_picture_of_every_model_on_one_axis(segmented):
    charts = SegmentChart.all_of(segmented, segment_sections(segmented))
    assert [chart.section.heading for chart in charts] == [section.heading for section in segment_sections(segmented)]
    language = next(chart for chart in charts if "language" in chart.section.heading)
    panels = {panel.name: panel for panel in language.panels}
    assert (panels["en"].verdict, panels["de"].verdict) == ("Best: bee", "Best: ant")
    assert [mark.name for mark in panels["en"].marks if mark.is_candidate] == ["bee"]
    for chart, one in zip(charts, segmented.segments, strict=True):
        for panel, part in zip(chart.panels, one.segments, strict=True):
            assert [mark.text for mark in panel.marks] == [f"{row['estimate']:.3f}" for row in part.table()]
            assert all(mark.low <= mark.value <= mark.high for mark in panel.marks)
            assert str(part.rows) in panel.size


def test_a_segment_of_many_models_shows_the_first_and_the_overall_best(segmented):
    part = segmented.segments[0].segments[0]
    models = tuple("abcdefgh")
    many = replace(part.values, models=models, estimate=np.linspace(0.9, 0.2, 8))
    shown = shown_models(replace(part, values=many), "h")
    assert shown == [*"abcd", "h"]
    assert len(shown) == MAX_SHOWN_MODELS
    assert shown_models(replace(part, values=many), "a") == [*"abcd"]


def test_segments_become_a_frame_and_a_figure(segmented):
    frame = segmented.segments.to_frame()
    rows = [row for one in segmented.segments for part in one.segments for row in part.table()]
    assert len(frame) == len(rows)
    assert list(frame["estimate"]) == [row["estimate"] for row in rows]
    assert {"column", "segment", "rows", "share", "model", "low", "high", "may_be_best"} <= set(frame.columns)
    assert "<script>" not in segmented.segments._repr_html_()
    (axes,) = segmented.plot_segments().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == len(rows)
    assert "language en: bee" in labels
    assert not any(HOSTILE in label for label in labels)
    with pytest.raises(dc.UsageError, match="has no segments"):
        demo_result().plot_segments()


def test_a_notebook_shows_the_sentence_about_segments_and_a_legend(segmented):
    html = notebook_html(segmented)
    assert "in en, bee is best; in de, ant is best" in html
    assert html.count("> raw log</p>") == 1
    assert "`" not in notebook_html(demo_result())


def test_a_ratio_beyond_the_axis_is_an_arrow(result):
    far = tuple(replace(one, tipping_shift=13 * one.observed_difference) for one in result.sensitivity)
    chart = SensitivityChart.from_result(replace(result, sensitivity=far))
    assert all(mark.is_beyond for mark in chart.marks)
    page = render_html(replace(result, sensitivity=far))
    assert page.count('class="beyond"') == len(far) + 1  # and the legend
    near = tuple(replace(one, tipping_shift=0.5 * one.observed_difference) for one in result.sensitivity)
    assert 'class="beyond"' not in render_html(replace(result, sensitivity=near))


def test_the_legend_has_only_marks_of_the_picture(result):
    none = tuple(replace(one, best_set_shift=0.0) for one in result.sensitivity)
    some = tuple(replace(one, best_set_shift=0.5 * one.observed_difference) for one in result.sensitivity)
    pages = [render_html(replace(result, sensitivity=each)) for each in (none, some)]
    assert ["another model may be the best</span>" in page for page in pages] == [False, True]


def test_negative_shares_are_to_the_left_of_zero(result):
    shares = result.attribution.shares.copy()
    shares[0, 0], shares[1, 0] = -0.4, shares[1, 0] + shares[0, 0] + 0.4
    chart = PrecisionChart.from_result(replace(result, attribution=replace(result.attribution, shares=shares)))
    for share in chart.shares:
        if share.text.startswith("-"):
            assert share.start + share.width == pytest.approx(chart.zero, abs=0.02)
        else:
            assert share.start == pytest.approx(chart.zero, abs=share.width + 0.01 if share.text == "0 %" else 0.0)
    assert any(share.text.startswith("-") for share in chart.shares)


def test_the_curve_of_a_plan_has_axes_and_the_current_number_of_rows(result):
    rows, widths = [100, 200, 400, 800], [[0.4, 0.3, 0.5], [0.3, 0.2, 0.4], [0.2, 0.15, 0.3], [0.1, 0.08, 0.2]]
    content = PageContent.from_result(result, plan=PlanChart.from_widths(rows, widths, "stars"))
    chart = content.plan
    assert [tick.label for tick in chart.width_ticks] == ["0", "0.2", "0.4"]
    assert {tick.label: tick.at for tick in chart.row_ticks}.items() <= {
        f"{point.rows_text}": point.x for point in chart.points
    }.items()
    heights = [point.y for point in chart.points]
    assert heights == sorted(heights)
    assert chart.current.label == f"this result: {result.counts.experiment.rows:,} rows"
    page = render_html(result, plan=PlanChart.from_widths(rows, widths, "stars"))
    assert '<a href="#plan">Plan</a>' in page
    assert '<a href="#plan">' not in render_html(result)


def test_the_caption_of_the_values_follows_the_verdict_on_the_log(result):
    captions = {
        verdict: ValueChart.from_result(
            replace(result, log_bias=replace(result.log_bias, verdict=verdict))
        ).log_sentence
        for verdict in ("misleading", "biased", "no bias shown", "cannot tell")
    }
    assert "misleads" in captions["misleading"]
    assert "misleads" in captions["biased"]
    assert "misleads" not in captions["no bias shown"] + captions["cannot tell"]


def test_every_check_is_listed_and_a_failed_one_is_linked(result):
    failed = dc.Finding("sample ratio", "fail", result.findings[0].details, "A1")
    page = render_html(replace(result, findings=(*result.findings, failed)))
    assert page.index('<h2 id="warnings">Warnings</h2>') < page.index('<h2 id="routing">Routing</h2>')
    caution = page[page.index('class="caution"') : page.index("<h1>")]
    assert '<a href="#checks">' in caution
    assert page.count('class="doubt"') == 3  # values, pairs and log bias
    shown = page[page.index('class="check-list"') :]
    assert all(finding.check in shown for finding in result.findings if finding.assumption)
    assert "`" not in page[page.index("<body>") : page.index("<script")]


def test_a_page_of_equal_recommendations_says_why(result):
    same = tuple(replace(row, model="cedar", margin=0.1) for row in result.recommendations)
    assert "All have the same model and margin" in render_html(replace(result, recommendations=same))
    other = (replace(same[0], margin=0.2), *same[1:])
    assert "All have the same model and margin" not in render_html(replace(result, recommendations=other))


def test_the_page_says_how_many_rows_it_is_about(result):
    counts = json.loads(json.dumps(result.document()["counts"]))
    assert f"{counts['experiment']['rows']:,} randomized rows, {counts['log']['rows']:,} logged rows" in render_html(
        result
    )


def test_the_legend_of_standard_errors_covers_no_bar(result):
    figure = result.plot_precision()
    (axes,) = figure.axes
    assert axes.get_xlabel() == "standard error"
    assert axes.get_legend() is None
    assert len(figure.legends) == 1
    figure.canvas.draw()
    assert not figure.legends[0].get_window_extent().overlaps(axes.get_window_extent())
