"""Evaluations of a log that is a stream, against the same log in memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.data import LogStream, RowNumbers, Study, stream_rows
from deconfound.errors import DataError, UsageError
from deconfound.features import FeatureSpec, summed_study
from deconfound.reward import FAMILIES, Auto, Family, GroundedAnchor
from deconfound.reward.auto import variance_components
from tests.support.auto import SOME_VARIANCES
from tests.support.streams import demo_study, streamed

CLOSE = 1e-8
OPTIONS = dc.EvaluationOptions(features=FeatureSpec(buckets=256), refits=3)
FITTED: tuple[Family, ...] = (Auto(SOME_VARIANCES), *(family() for family in FAMILIES))


@cache
def both_ways(kind: str, shift: float = 0.0) -> tuple[dc.PreparedStudy, dc.PreparedStudy]:
    """The same study, its log as rows and as a stream; ``shift`` moves labels and columns, in standard deviations."""
    study = shifted(demo_study(kind), shift)
    return dc.prepare(study, options=OPTIONS), dc.prepare(streamed(study), options=OPTIONS)


def shifted(study: Study, shift: float) -> Study:
    """The study with label_* and feature_* columns whose mean is far from zero."""

    def move(table):
        arrow = table.arrow
        for at, name in enumerate(arrow.column_names):
            if name.startswith(("label_", "feature_")):
                column = arrow[name].to_numpy()
                arrow = arrow.set_column(at, name, pa.array(column + shift * column.std()))
        return replace(table, arrow=arrow)

    return replace(study, **{name: move(getattr(study, name)) for name in ("log", "experiment", "replay")})


def assert_agree(family: Family, kind: str, shift: float = 0.0) -> None:
    rows, sums = both_ways(kind, shift)
    by_rows, by_sums = rows.cross_fit(family), sums.cross_fit(family)
    for name in ("q", "q_unseen", "q_all_contexts", "prediction", "predictions"):
        np.testing.assert_allclose(getattr(by_rows, name), getattr(by_sums, name), atol=CLOSE, err_msg=name)
    one, other = rows.result(by_rows), sums.result(by_sums)
    for values in ("values", "direct", "experiment", "raw_log"):
        left, right = getattr(one, values), getattr(other, values)
        np.testing.assert_allclose(left.estimate, right.estimate, atol=CLOSE)
        np.testing.assert_allclose(left.covariance, right.covariance, atol=CLOSE)
    assert [row.model for row in one.recommendations] == [row.model for row in other.recommendations]
    assert replace(one.counts.log, fingerprint="") == replace(other.counts.log, fingerprint="")


@pytest.mark.parametrize("family", FITTED, ids=[family.name for family in FITTED])
def test_every_family_agrees_with_the_log_in_memory(family):
    assert_agree(family, "text")


@pytest.mark.parametrize("kind", ["labels", "columns"])
@pytest.mark.parametrize("family", [FITTED[0], *FITTED[3:5]], ids=lambda family: family.name)
def test_labels_and_columns_agree_too(family, kind):
    assert_agree(family, kind)


@pytest.mark.parametrize("kind", ["labels", "columns"])
@pytest.mark.parametrize("family", [FITTED[0], FITTED[3]], ids=lambda family: family.name)
def test_labels_and_columns_far_from_zero_agree_too(family, kind):
    """Sums of squares a million standard deviations from zero would have lost all but four digits."""
    assert_agree(family, kind, shift=1e6)
    rows, sums = (prepared.arrays for prepared in both_ways(kind, 1e6))
    for table in ("experiment", "replay"):
        psi = [getattr(arrays, table).blocks.psi for arrays in (rows, sums)]
        assert psi[0].shape[1] > 2
        np.testing.assert_allclose(*psi, atol=CLOSE)


def test_a_label_that_is_constant_far_from_zero_is_not_used():
    """Also if its mean is rounded; a label that varies by a millionth of its mean is used."""
    study = demo_study("labels")
    log = study.log.arrow
    for name, values in (("label_a", np.full(len(log), 1e6 / 3)), ("label_b", 1e6 + np.arange(len(log)) % 2)):
        log = log.set_column(log.column_names.index(name), name, pa.array(values))
    prepared = dc.prepare(streamed(replace(study, log=replace(study.log, arrow=log))), options=OPTIONS)
    (finding,) = (each for each in prepared.arrays.featurizer.findings if each.check == "labels")
    assert finding.details.message == "label_a is constant in the log and is not used."


def test_fits_without_held_out_contexts_differ():
    """The log of these tests has rows on the experiment's contexts, or the sums per fold would not be tested."""
    fitted = both_ways("text")[1].cross_fit(Auto(SOME_VARIANCES))
    assert np.abs(fitted.q - fitted.q_unseen).max() > 1e-3


@pytest.mark.slow
def test_a_family_that_needs_rows_takes_the_sample():
    family = GroundedAnchor()
    rows, sums = both_ways("text")
    np.testing.assert_allclose(rows.cross_fit(family).q, sums.cross_fit(family).q, atol=CLOSE)


@pytest.mark.parametrize("kind", ["text", "columns"])
def test_learned_variances_agree_where_both_learn_from_all_rows(kind, monkeypatch):
    """Two searches for the same maximum stop at gains in log-likelihood of 1e-3.

    Variances that close to the maximum differ by a few per cent of their standard errors, and move values by less than
    1e-3, a tenth of their standard errors.
    """
    monkeypatch.setattr(variance_components, "ROWS_PER_SOURCE", 1_000)
    rows, sums = (prepared.evaluate("auto") for prepared in both_ways(kind))
    np.testing.assert_allclose(rows.values.estimate, sums.values.estimate, atol=1e-3)


def test_parts_may_be_cut_anywhere_and_come_in_any_order():
    study = demo_study("text")
    whole, cut = streamed(study, 10_000), streamed(study, 33)
    backwards = replace(cut, log_stream=replace(cut.log_stream, parts=cut.log_stream.parts[::-1]))
    results = [dc.prepare(each, options=OPTIONS).evaluate(Auto(SOME_VARIANCES)) for each in (whole, backwards)]
    np.testing.assert_allclose(results[0].values.estimate, results[1].values.estimate, atol=1e-12)
    assert results[0].counts == results[1].counts


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    study = streamed(demo_study("text"))
    values = []
    for threads in ("1", "2"):
        monkeypatch.setenv("DECONFOUND_THREADS", threads)
        values.append(dc.prepare(study, options=OPTIONS).evaluate(Auto(SOME_VARIANCES)).values.estimate.tolist())
    assert values[0] == values[1]


def test_a_long_log_in_memory_takes_this_path_and_says_so(monkeypatch):
    monkeypatch.setattr(summed_study, "MAX_ROWS_IN_MEMORY", 100)
    result = dc.evaluate(demo_study("text"), Auto(SOME_VARIANCES), options=OPTIONS)
    (finding,) = (each for each in result.findings if each.check == "long log")
    rows = len(demo_study("text").log)
    assert finding.details.message == f"Values use all {rows} log rows, whose words are hashed into 256 columns."
    assert finding.details.message in result.summary()
    expected = both_ways("text")[1].evaluate(Auto(SOME_VARIANCES))
    np.testing.assert_allclose(result.values.estimate, expected.values.estimate, atol=1e-12)
    assert result.counts.log == expected.counts.log


def test_no_log_is_so_long_that_auto_samples_it():
    assert Auto.max_log_rows == summed_study.MAX_ROWS_IN_MEMORY


def test_many_equal_rows_do_not_make_a_log_long(monkeypatch):
    monkeypatch.setattr(summed_study, "MAX_ROWS_IN_MEMORY", 100)
    study = demo_study("text")
    few = study.log.filter(np.arange(len(study.log)) < 50)
    repeated = replace(few, arrow=pa.concat_tables([few.arrow] * 3), row_numbers=RowNumbers())
    result = dc.evaluate(replace(study, log=repeated), Auto(SOME_VARIANCES), options=OPTIONS)
    assert "long log" not in {finding.check for finding in result.findings}


def test_sums_that_would_be_too_large_are_not_computed(monkeypatch):
    """With many models or columns a log in memory is used by its rows, and a stream is refused."""
    monkeypatch.setattr(summed_study, "MAX_ROWS_IN_MEMORY", 100)
    monkeypatch.setattr(summed_study, "MAX_SUMS", 100_000)
    study = demo_study("text")
    assert dc.prepare(study, options=OPTIONS).arrays.long_log is None
    with pytest.raises(UsageError, match="too long for memory, and sums over it would be too large with 6 models"):
        dc.prepare(streamed(study), options=OPTIONS)


def test_checks_use_a_sample_and_the_finding_says_so():
    study = streamed(demo_study("text"))
    sampled = replace(study, log=study.log.filter(np.arange(len(study.log)) < 80))
    result = dc.evaluate(sampled, Auto(SOME_VARIANCES), options=OPTIONS)
    (finding,) = (each for each in result.findings if each.check == "long log")
    assert finding.details.message.endswith(" Checks use a random sample of 80.")
    assert result.counts.log.rows == len(study.log)


def test_labels_that_some_rows_lack_are_learned_from_the_sample():
    study = demo_study("labels")
    column = study.log.arrow["label_a"].to_numpy().copy()
    column[::5] = np.nan
    at = study.log.arrow.column_names.index("label_a")
    log = replace(study.log, arrow=study.log.arrow.set_column(at, "label_a", pa.array(column)))
    incomplete = replace(study, log=log)
    results = [dc.evaluate(each, FITTED[3], options=OPTIONS) for each in (incomplete, streamed(incomplete))]
    np.testing.assert_allclose(results[0].values.estimate, results[1].values.estimate, atol=CLOSE)
    messages = [finding.details.message for finding in results[1].findings if finding.check == "labels"]
    assert any("lack a label; proxies are learned from" in message for message in messages)


def test_a_log_that_changes_between_the_passes_is_refused():
    study = streamed(demo_study("text"))
    shorter = replace(study.log_stream, parts=study.log_stream.parts[:-1])
    with pytest.raises(DataError, match="changed while it was read: there are 420 rows instead of 467"):
        dc.prepare(replace(study, log_stream=shorter), options=OPTIONS)
    with pytest.raises(DataError, match='changed while it was read: model "maple" is new'):
        dc.prepare(without_model(study, "maple"), options=OPTIONS)


def without_model(study: Study, name: str) -> Study:
    models = tuple(each for each in study.models if each != name)
    keep = {
        table: getattr(study, table).filter(
            np.array([m != name for m in getattr(study, table).arrow["model"].to_pylist()])
        )
        for table in ("log", "experiment", "replay")
    }
    return replace(study, models=models, **keep)


def test_other_folds_than_those_of_the_sums_are_refused():
    prepared = both_ways("text")[1]
    with pytest.raises(UsageError, match="not those that the log was summed by"):
        replace(prepared, seed=1).cross_fit(Auto(SOME_VARIANCES))


def test_a_log_without_rows_on_replayed_contexts_is_evaluated():
    study = demo_study("text")
    replayed = set(study.replay.arrow["context_id"].to_pylist())
    elsewhere = study.log.filter(np.array([name not in replayed for name in study.log.arrow["context_id"].to_pylist()]))
    stream, sample = stream_rows(elsewhere, replayed, 50)
    assert isinstance(stream, LogStream)
    assert len(stream.on_replayed) == 0
    fitted = dc.prepare(replace(study, log=sample, log_stream=stream), options=OPTIONS).cross_fit(Auto(SOME_VARIANCES))
    np.testing.assert_array_equal(fitted.q, fitted.q_unseen)
