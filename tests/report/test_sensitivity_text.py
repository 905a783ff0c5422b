"""Sentences and picture of the sensitivities: equal values, violations that change nothing, nothing to compare with."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from deconfound.report.page.render_page import render_html
from deconfound.report.page.sensitivity_chart import SensitivityChart
from deconfound.report.scale import Scale
from deconfound.report.sensitivity_text import sensitivity_text
from deconfound.result import Result
from tests.support.results import demo_result


def result_with(**changes: float) -> Result:
    result = demo_result()
    return replace(result, sensitivity=tuple(replace(one, **changes) for one in result.sensitivity))


def sentences(result: Result) -> list[str]:
    return [sensitivity_text(one, result.level, Scale.of(result)) for one in result.sensitivity]


def panel(result: Result) -> str:
    found = re.search(r'<section id="sensitivity".*?</section>', render_html(result), re.DOTALL)
    assert found is not None
    return found.group()


def test_equal_values_have_one_sentence_and_no_picture():
    tied = result_with(tipping_shift=0.0, best_set_shift=0.0, observed_difference=0.0)
    assert all(
        text.endswith("cedar and oak have equal values, so the smallest violation decides between them.")
        for text in sentences(tied)
    )
    assert not any("times" in text for text in sentences(tied))
    assert "<svg" not in panel(tied)
    assert "equal values" in panel(tied)


def test_a_violation_that_changes_nothing_has_no_picture():
    firm = result_with(tipping_shift=np.inf, best_set_shift=np.inf)
    assert "no violation of this kind in two models changes the order: cedar stays first" in sentences(firm)[0]
    assert "<svg" not in panel(firm)


def test_without_an_observed_difference_the_shift_itself_is_shown():
    """Not that no violation changes the order: a small one does."""
    unknown = result_with(tipping_shift=0.02, best_set_shift=0.0, observed_difference=np.nan)
    assert [mark.tipping_text for mark in SensitivityChart.from_result(unknown).marks] == ["from 0.020", "from 0.020"]
