"""What a summary says about shared outputs, in every case."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import deconfound as dc
from benchmarks.short_answers import MODELS
from deconfound.report.efficient_text import efficient_detail_lines, shared_output_lines
from deconfound.report.exclusion_text import REASONS
from deconfound.report.page.render_page import render_html
from deconfound.value.efficient_summary import EfficientSummary, Obstacle
from tests.support.results import demo_result
from tests.support.short_answers import answer_result


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return answer_result()


def test_used_outputs_are_stated_with_gain_assumption_and_test(result):
    gain, assumption = shared_output_lines(result)
    narrower = round(100 * result.efficient.narrowing())
    assert f"{narrower} % narrower" in gain
    assert "only through its output" in assumption
    assert f"p = {result.efficient.result.exclusion.p_value:.2f}" in assumption
    summary = " ".join(result.summary().split())
    assert gain in summary
    assert summary.index(gain) > summary.index("experiment alone")  # below the table
    assert gain in render_html(result)


def test_doubly_robust_values_name_the_option_and_what_it_assumes():
    (line,) = shared_output_lines(answer_result("doubly robust"))
    assert "--method efficient" in line
    assert "narrower" in line
    assert "only through its output" in line
    assert shared_output_lines(demo_result()) == []
    assert "Shared outputs" not in demo_result().summary(verbose=True)


@pytest.mark.parametrize("obstacle", get_args(Obstacle))
def test_every_obstacle_has_a_reason(result, obstacle):
    summary = replace(result.efficient, obstacle=obstacle)
    assert shared_output_lines(replace(result, efficient=summary)) == [
        f"Values are doubly robust, not efficient: {REASONS[obstacle]}."
    ]


def test_unknown_propensities_have_a_reason_and_no_details(result):
    unknown = EfficientSummary.unknown_propensities()
    (line,) = shared_output_lines(replace(result, efficient=unknown))
    assert REASONS["unknown propensities"] in line
    assert efficient_detail_lines(unknown) == []
    assert unknown.narrowing() == 0


def test_details_have_overlap_test_bias_and_widening(result):
    overlap, test, users = efficient_detail_lines(result.efficient)
    found = result.efficient.result
    assert f"{100 * result.efficient.overlap.shared_rows:.0f} %" in overlap
    assert f"F(2, {found.exclusion.residual_df})" in test
    assert f"ant {found.exclusion.bias[0]:+.3f} ± {found.exclusion.bias_standard_error[0]:.3f}" in test
    assert all(name in users for name in MODELS)
    widened = replace(found, widening=np.array([1.0, 1.12, 1.0]))
    assert "12 %" in efficient_detail_lines(replace(result.efficient, result=widened))[-1]
    assert (
        "allow for"
        not in efficient_detail_lines(replace(result.efficient, result=replace(found, widening=np.ones(3))))[-1]
    )


def test_a_rejected_test_warns_without_the_note_on_adjusted_tests():
    rejected = answer_result(direct_effect=-0.25)
    only = [finding for finding in rejected.findings if finding.check == "exclusion" or finding.verdict == "pass"]
    summary = replace(rejected, findings=tuple(only)).summary()
    assert "Warnings" in summary
    assert "level 0.05" in " ".join(summary.split())
    assert "False alarms" not in summary


def test_names_with_control_characters_do_not_reach_the_terminal(result):
    values = replace(result.efficient.result.values, models=("a\x1b[31m", "b", "c"))
    odd = replace(result.efficient, result=replace(result.efficient.result, values=values))
    assert "\x1b" not in " ".join(efficient_detail_lines(odd))
