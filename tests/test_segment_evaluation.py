"""Segments of whole evaluations: every family, users, targets, costs, missing outcomes; no value changes by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.data.segment_codes import SegmentCodes
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.value.segments import SegmentedValues
from tests.support.segmented import QUICK, segmented_tables, sizes


@pytest.fixture(scope="module")
def prepared() -> dc.PreparedStudy:
    return dc.prepare(dc.load(**segmented_tables(), segments="language"), options=QUICK)


def only(result: dc.Result) -> SegmentedValues:
    (found,) = result.segments
    return found


@pytest.mark.parametrize("family", ["auto", *PAPER_FAMILY_NAMES])
def test_every_family_finds_the_best_model_of_each_language(prepared, family):
    found = only(prepared.evaluate(family))
    assert {segment.name: segment.best_set for segment in found.segments} == {"de": ("ant",), "en": ("bee",)}
    assert found.best_differs
    assert sum(segment.rows for segment in found.segments) == 120


def test_asking_for_segments_changes_no_value(prepared):
    plain = dc.prepare(dc.load(**segmented_tables()), options=QUICK).evaluate("exp-only")
    divided = prepared.evaluate("exp-only")
    np.testing.assert_array_equal(plain.values.estimate, divided.values.estimate)
    np.testing.assert_array_equal(plain.values.covariance, divided.values.covariance)
    assert plain.segments == ()


def test_rows_of_a_segment_have_the_weights_of_the_target():
    """In a target of large contexts, small ones count less, and the intervals are wider."""
    tables = segmented_tables(rows=240)
    large = sizes(300)[sizes(300) > 0.4]
    shifted = pa.table({"context_id": [f"t{row}" for row in range(len(large))], "feature_size": large})
    study = dc.load(**tables, segments="language")
    plain, moved = (dc.evaluate(study, "exp-only", options=replace(QUICK, target=t)) for t in (None, shifted))
    assert moved.population.kind == "target"
    assert "weighted as for the target" in moved.summary()
    widths = [np.mean([np.diff(one.interval).mean() for one in only(each).segments]) for each in (plain, moved)]
    assert widths[1] > widths[0]
    assert sum(one.share for one in only(moved).segments) == pytest.approx(1.0)


def test_costs_and_missing_outcomes_reach_the_segments():
    tables = segmented_tables()
    outcome = [
        None if row % 10 == 0 else value for row, value in enumerate(tables["experiment"]["outcome"].to_pylist())
    ]
    tables["experiment"] = tables["experiment"].set_column(2, "outcome", pa.array(outcome))
    study = dc.load(**tables, segments="language")
    result = dc.evaluate(study, "exp-only", options=replace(QUICK, cost={"ant": 0.0, "bee": 0.9}))
    found = only(result)
    assert sum(segment.rows for segment in found.segments) == 108
    assert {segment.best_set for segment in found.segments} == {("ant",)}
    assert found.segments[0].values.cost is not None


def test_a_table_of_contexts_gives_the_segments_that_the_column_gives(prepared):
    tables = segmented_tables()
    options = replace(QUICK, segments=tables["experiment"].select(["context_id", "language"]))
    found = only(dc.evaluate(dc.load(**tables), "exp-only", options=options))
    expected = only(prepared.evaluate("exp-only"))
    for one, other in zip(found.segments, expected.segments, strict=True):
        assert (one.name, one.rows) == (other.name, other.rows)
        np.testing.assert_array_equal(one.interval, other.interval)


def test_columns_without_their_table_are_refused():
    with pytest.raises(dc.UsageError, match="segment_columns are columns of the table segments"):
        replace(QUICK, segment_columns=("language",))


def test_a_router_chooses_by_the_one_column_of_segments_that_has_no_gaps():
    tables = segmented_tables()
    with pytest.raises(dc.UsageError, match="one column, not by language, tier"):
        dc.route(dc.load(**tables, segments=("language", "tier")))
    with pytest.raises(dc.DataError, match='"tier" has no value in 60 rows'):
        dc.route(dc.load(**tables, segments="tier"))


def test_ids_in_a_table_of_segments_are_a_problem_of_that_table():
    tables = segmented_tables()
    ids = tables["experiment"].select(["context_id"])
    named = ids.append_column("number", pa.array([f"n{row}" for row in range(len(ids))]))
    with pytest.raises(dc.DataError, match=r'^segments \(Table\): "number" has 120 values'):
        dc.evaluate(dc.load(**tables), "exp-only", options=replace(QUICK, segments=named))


def test_segments_add_up_to_the_reported_values(prepared):
    """Also where values are shrunk toward the mean prediction."""
    result = prepared.evaluate("auto")
    assert np.abs(result.values.estimate - result.values.center).max() > 1e-4
    found = only(result)
    mean = sum(segment.share * segment.values.estimate for segment in found.segments)
    np.testing.assert_allclose(mean, result.values.estimate, atol=1e-12)


def test_recommendations_know_the_segment_of_their_context(prepared, tmp_path):
    result = prepared.evaluate("exp-only")
    rows = prepared.study.experiment.arrow
    languages = dict(zip(rows["context_id"].to_pylist(), rows["segment_language"].to_pylist(), strict=True))
    assert {row.context_id: row.segments for row in result.recommendations} == {
        context: (language,) for context, language in languages.items()
    }
    assert "segments" not in result.recommendations[0].record()
    result.save(tmp_path / "saved")
    assert dc.Result.load(tmp_path / "saved").recommendations == result.recommendations


def test_a_context_of_two_segments_has_none():
    codes = SegmentCodes("s", ("a", "b"), np.array([0, 0, 1, 1]), 0, 0)
    assert codes.name_by_context(["x", "x", "y", "x"]) == {"y": "b"}
