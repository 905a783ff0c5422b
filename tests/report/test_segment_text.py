"""Segments in words: never stronger than the evidence, and safe whatever their names are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.diagnose.randomization import AssignmentBySegment
from deconfound.findings import Finding
from deconfound.report.page.render_page import render_html
from deconfound.report.segment_text import (
    candidates,
    segment_answer,
    segment_lines,
    segment_rows,
    segment_scope,
    whole_percents,
)
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
    answer = " ".join(text.split("\n\n")[0].split())
    assert 'By "language": in en, bee is best; in de, ant is best.' in answer
    assert 'No evidence that the best model depends on "hostile" or "tier".' in answer
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
    assert segment_answer(replace(result, segments=(one,))) == [
        'Differences between models depend on "language", but no segment shows another best model.'
    ]


def test_segments_that_show_nothing_say_so(result):
    one = with_best_sets(result, ("bee", "ant"), ("bee", "ant"), p_value=0.4)
    lines = segment_lines(one, result)
    assert lines[0].startswith('No evidence that the best model depends on "language" (p = 0.40')
    assert lines[1].startswith("No segment alone excludes any model: differences are small, or its rows are too few")
    assert segment_answer(replace(result, segments=(one,))) == [
        'No evidence that the best model depends on "language".'
    ]
    assert [row[-1] for row in segment_rows(one, result)] == ["may be best", "any", "any"]


def test_segments_of_an_answer_are_named_with_their_models(result):
    one = with_best_sets(result, ("ant",), ("bee", "ant"), p_value=0.2)
    assert segment_answer(replace(result, segments=(one,))) == [
        'By "language": in en, ant is best; 1 other segment does not show which.'
    ]
    prefixed = segment_answer(replace(result, segments=(one,)), prefix="If the assumption held: ")
    assert prefixed[0].startswith('If the assumption held: By "language"')


def test_shares_sum_to_a_hundred():
    assert whole_percents([0.575, 0.425]) == ["57 %", "43 %"]
    assert whole_percents([1 / 3, 1 / 3, 1 / 3]) == ["34 %", "33 %", "33 %"]
    assert whole_percents([0.5, 0.25, 0.25]) == ["50 %", "25 %", "25 %"]


def test_many_candidates_are_counted(result):
    part = by(result, "language").segments[0]
    models = tuple("abcdef")
    many = replace(part, values=replace(part.values, models=models), best_set=models[:4])
    assert candidates(many) == "4 of 6 models"
    assert candidates(replace(many, best_set=models)) == "any"
    assert candidates(replace(many, best_set=models[:2])) == "a, b"


def test_a_column_that_predicts_the_model_has_two_possible_causes(result):
    """It may be known before the answer: then the propensities are wrong, not the column."""
    finding = Finding("assignment by segment", "warn", AssignmentBySegment("language", 120), "A1", None, 0.001, 0.002)
    doubted = replace(result, findings=(finding,))
    line = segment_lines(by(result, "language"), doubted)[0]
    assert "models were drawn with other probabilities in some segments, or it is known only after the answer" in line
    assert "declare the propensity of each row" in finding.remedy
    assert 'Segments by "language" are not to be relied on (see the warnings).' in segment_answer(doubted)


def test_rows_without_a_value_are_counted(result):
    assert "(missing): 60 rows without a value." in segment_lines(by(result, "tier"), result)


def test_pooled_values_are_counted(result):
    one = replace(by(result, "tier"), pooled_values=7)
    expected = "(other): 7 values with fewer than 10 rows or not among the 20 most frequent values."
    assert expected in segment_lines(one, result)


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
    assert "<h3>Segments by &#34;language&#34;</h3>" in page
    assert "The best model depends on" in page
    assert "<td><bdi>en</bdi></td>" in page
    assert result.document()["segments"][1]["summary"].startswith('The best model depends on "language"')


def test_what_could_not_be_tested_is_no_evidence_of_anything(result):
    one = with_best_sets(result, ("bee", "ant"), ("bee", "ant"), p_value=np.nan)
    untested = replace(result, segments=type(result.segments)([one]))
    assert segment_lines(one, untested)[0] == (
        'Whether differences between models depend on "language" could not be tested: no two models have enough '
        "randomized rows both inside and outside a segment."
    )
    assert segment_answer(untested) == [
        'Whether the best model depends on "language" could not be tested: too few rows.'
    ]
    assert "nan" not in untested.summary()
    assert untested.document()["segments"][0]["p_value"] is None


def test_a_first_model_without_rows_in_a_segment_is_remarked(result):
    one = by(result, "language")
    segment = one.segments[0]
    place = segment.values.models.index(segment.values.ranking()[0])
    covariance = segment.values.covariance.copy()
    covariance[place, place] = np.inf
    absent = replace(segment, values=replace(segment.values, covariance=covariance))
    lines = segment_lines(replace(one, segments=(absent, *one.segments[1:])), result)
    assert "bee is first in en by other segments and the replay alone: it has too few randomized rows there." in lines
