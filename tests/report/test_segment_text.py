"""Segments in words: never stronger than the evidence, and safe whatever their names are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.report.page.render_page import render_html
from deconfound.report.segment_text import segment_answer, segment_lines, segment_rows, segment_scope
from deconfound.value.segments import SegmentedValues
from tests.support.segmented import HOSTILE, segmented_result


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return segmented_result()


def by(result: dc.Result, column: str) -> SegmentedValues:
    return next(one for one in result.segments if one.column == column)


def with_best_sets(result: dc.Result, *best_sets: tuple[str, ...], p_value: float) -> SegmentedValues:
    """The languages with other sets of possibly best models; bee is first overall."""
    one = replace(by(result, "language"), p_value=p_value, overall_best="bee")
    pairs = zip(one.segments, best_sets, strict=True)
    changed = tuple(replace(part, best_set=best, other_best="bee" not in best) for part, best in pairs)
    return replace(one, segments=changed)


def test_the_summary_says_where_another_model_is_best(result):
    text = result.summary()
    assert "In some segments another model is best: see the segments by language." in text.split("\n\n")[0]
    section = text.split('Segments by "language"\n')[1].split("\n\n")[0]
    first = section.splitlines()[0].strip()
    assert first.startswith('The best model depends on "language": bee, first overall, is not the best model in de')
    assert "bee is the best model in en." in section
    assert text.count("Intervals and possibly best models hold for all segments of all columns together.") == 1
    assert [line.split()[0] for line in section.splitlines()[-3:]] == ["segment", "en", "de"]


def test_a_model_that_is_not_best_somewhere_does_not_prove_that_the_best_one_depends_on_it(result):
    one = with_best_sets(result, ("ant",), ("bee", "ant"), p_value=0.2)
    assert segment_lines(one, result)[0] == "bee, first overall, is not the best model in en (best: ant)."


def test_differences_without_another_best_model_are_only_differences(result):
    one = with_best_sets(result, ("bee",), ("bee", "ant"), p_value=0.01)
    lines = segment_lines(one, result)
    assert lines[0].startswith('Differences between models depend on "language" (p = 0.010), but no segment shows')
    assert lines[1:3] == [
        "bee is the best model in en.",
        "In 1 of 2 segments, the data do not show whether bee or another model is best.",
    ]
    assert segment_answer(replace(result, segments=(one,))) == []


def test_segments_that_show_nothing_say_so(result):
    one = with_best_sets(result, ("bee", "ant"), ("bee", "ant"), p_value=0.4)
    lines = segment_lines(one, result)
    assert lines[0].startswith('No evidence that the best model depends on "language" (p = 0.40')
    assert lines[1] == "No segment alone excludes any model: its rows are too few to compare models."
    assert [row[-1] for row in segment_rows(one, result)] == ["may be best", "any", "any"]


def test_rows_without_a_value_are_counted(result):
    assert "(missing): 60 rows without a value." in segment_lines(by(result, "tier"), result)


def test_pooled_values_are_counted(result):
    one = replace(by(result, "tier"), pooled_values=7)
    assert "(other): 7 values, most of them with fewer than 10 rows." in segment_lines(one, result)


def test_one_segment_is_nothing_to_compare(result):
    one = by(result, "language")
    lines = segment_lines(replace(one, segments=one.segments[:1]), result)
    assert lines == ['All rows are in one segment, "en": there is nothing to compare.']


def test_segments_without_any_interval_are_named(result):
    one = by(result, "language")
    empty = replace(one.segments[0].values, covariance=np.full((2, 2), np.inf))
    changed = replace(one, segments=(replace(one.segments[0], values=empty), one.segments[1]))
    assert "Too few randomized rows for any interval: en." in segment_lines(changed, result)


@pytest.mark.parametrize(
    ("kind", "sentence"), [("target", "weighted as for the target"), ("experiment and extra contexts", "own contexts")]
)
def test_other_populations_are_named(result, kind, sentence):
    other = replace(result, population=replace(result.population, kind=kind))
    assert sentence in segment_scope(other)[-1]


def test_values_are_on_the_scale_of_the_user(result):
    stars = replace(result, outcome_range=(1.0, 5.0))
    for (plain, *rows), (_, *scaled) in ((segment_rows(by(one, "language"), one) for one in (result, stars)),):
        assert plain[4] == "value"
        for row, other in zip(rows, scaled, strict=True):
            assert float(other[4]) == pytest.approx(1 + 4 * float(row[4]), abs=0.01)


def test_hostile_names_are_shown_and_not_obeyed(result):
    text, page = result.summary(), render_html(result)
    assert "\x1b" not in text + page
    assert "\u202e" not in text + page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert result.document()["segments"][0]["segments"][0]["name"] == HOSTILE


def test_the_page_has_the_sentences_and_the_table(result):
    page = render_html(result)
    assert "<h2>Segments by &#34;language&#34;</h2>" in page
    assert "The best model depends on" in page
    assert "<td><bdi>en</bdi></td>" in page
    assert result.document()["segments"][1]["summary"].startswith('The best model depends on "language"')
