"""A1 by segment: a column that depends on the answer is recognized by the models that it predicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.diagnose.checks import judge
from deconfound.diagnose.randomization import BY_SEGMENT, AssignmentBySegment, check_randomization
from deconfound.diagnose.sanity import SEGMENT_LEAKAGE, SegmentLeakage, check_sanity
from deconfound.findings import Finding
from deconfound.report.segment_text import segment_answer, segment_lines
from tests.support.segmented import segmented_result, segmented_tables


def by_segment(values: list[object], name: str = "column") -> list[Finding]:
    tables = segmented_tables()
    tables["experiment"] = tables["experiment"].append_column(name, pa.array(values))
    study = dc.load(**tables, segments=name)
    return [one for one in judge(check_randomization(study, 0), 0.95) if one.check == BY_SEGMENT]


def models() -> list[str]:
    found: list[str] = segmented_tables()["experiment"]["model"].to_pylist()
    return found


def test_a_column_that_follows_the_model_is_warned_of():
    """Four of five answers of each model have a length of their own."""
    lengths = ["long" if (name == "ant") != (row % 5 == 0) else "short" for row, name in enumerate(models())]
    (finding,) = by_segment(lengths)
    assert finding.verdict == "warn"
    assert 'Segments by "column" predict the assigned model' in finding.message


def test_a_column_that_is_known_before_the_answer_passes():
    languages = np.random.default_rng(7).choice(["de", "en", "fr"], len(models())).tolist()
    (finding,) = by_segment(languages)
    assert finding.verdict == "pass"


def test_a_column_with_one_value_is_not_tested():
    assert by_segment(["same"] * len(models())) == []


def leakage(values: list[object]) -> Finding:
    tables = segmented_tables()
    tables["experiment"] = tables["experiment"].append_column("column", pa.array(values))
    (found,) = (one for one in check_sanity(dc.load(**tables, segments="column")) if one.check == SEGMENT_LEAKAGE)
    return found


def test_the_outcome_under_another_name_is_warned_of():
    """It predicts no model, so that only its agreement with the outcome gives it away."""
    outcomes = np.array(segmented_tables()["experiment"]["outcome"].to_pylist())
    copy = leakage(["up" if outcome > outcomes.mean() else "down" for outcome in outcomes])
    assert copy.verdict == "warn"
    assert 'Segments by "column" explain' in copy.message
    halves = np.random.default_rng(7).choice(["de", "en"], len(outcomes)).tolist()
    assert leakage(halves).verdict == "pass"


def test_segments_that_decide_the_outcome_are_not_relied_on():
    finding = Finding(SEGMENT_LEAKAGE, "warn", SegmentLeakage("language", 0.97), statistic=0.97)
    result = replace(segmented_result(), findings=(finding,))
    (one,) = (each for each in result.segments if each.column == "language")
    assert segment_lines(one, result)[0].startswith('Not to be relied on: "language" nearly decides the outcome')
    assert not any("best model" in line and '"language"' in line for line in segment_answer(result))


@pytest.mark.parametrize("verdict", ["pass", "warn"])
def test_a_warning_stands_above_the_segments_and_takes_their_claim_out_of_the_answer(verdict):
    details = AssignmentBySegment("language", 120)
    finding = Finding(BY_SEGMENT, verdict, details, "A1", 4.0, 1e-6, 1e-5)
    result = replace(segmented_result(), findings=(finding,))
    (one,) = (each for each in result.segments if each.column == "language")
    lines = segment_lines(one, result)
    assert lines[0].startswith("Not to be relied on") == (verdict == "warn")
    assert ("is best" in " ".join(segment_answer(result))) == (verdict == "pass")
