"""The statistics of a pass over a log: parts add up, and survive as bytes."""

from __future__ import annotations

from concurrent.futures import CancelledError
from dataclasses import replace
from threading import Event

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from deconfound.array_archive import arrays_to_bytes
from deconfound.errors import UsageError
from deconfound.features import FeatureSpec
from deconfound.features import log_pass as log_pass_module
from deconfound.features.batch_sums import add_batch
from deconfound.features.log_pass import LONG_LOG_WIDTH, hash_column, long_log_width
from deconfound.features.log_statistics import LogStatistics
from deconfound.features.summed_study import plan_pass
from deconfound.linalg.log_sums import LogBatch, LogSums, SumsLayout
from deconfound.progress import StreamMeter
from deconfound.threads import stoppable
from tests.support.streams import demo_study, streamed


def planned(kind: str = "labels"):
    study = streamed(demo_study(kind), 40)
    return plan_pass(study, FeatureSpec(buckets=128), 5, 0).log_pass, study.log_stream.parts


def assert_same(left: LogStatistics, right: LogStatistics, rtol: float) -> None:
    assert left.rows == right.rows
    assert left.fingerprint == right.fingerprint
    np.testing.assert_array_equal(left.missing_labels, right.missing_labels)
    for one, other in zip((*left.folds, left.rest), (*right.folds, right.rest), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            np.testing.assert_allclose(one.gram(), other.gram(), rtol=rtol, atol=1e-10)
            assert one.models.keys() == other.models.keys()
            for name, sums in one.models.items():
                np.testing.assert_allclose(sums.text, other.models[name].text, rtol=rtol, atol=1e-10)
                np.testing.assert_allclose(sums.modifiers, other.models[name].modifiers, rtol=rtol, atol=1e-10)
    for mine, theirs in zip(left.outcomes.ways, right.outcomes.ways, strict=True):
        np.testing.assert_array_equal(mine.keys, theirs.keys)
        np.testing.assert_array_equal(mine.counts, theirs.counts)
        np.testing.assert_allclose(mine.totals, theirs.totals, rtol=1e-12)


def test_statistics_of_parts_add_up_through_bytes():
    """As on another machine: every part by itself, then merged in the order of the parts."""
    log_pass, parts = planned()
    whole, merged = log_pass.summarize(parts), log_pass.zero()
    for part in parts:
        content = log_pass.summarize([part]).to_bytes()
        merged = merged.merge(LogStatistics.from_bytes(content, log_pass.models, log_pass.folds))
    assert_same(whole, merged, rtol=1e-12)
    assert whole.rows == sum(part.rows for part in parts)
    assert sum(sums is not None for sums in whole.folds) == 5


def test_long_texts_are_summed_in_smaller_pieces(monkeypatch):
    log_pass, parts = planned("text")
    whole, reports = log_pass.summarize(parts), []
    monkeypatch.setattr(log_pass_module, "BATCH_BYTES", parts[0].size // 4)
    pieces = log_pass.summarize(parts, StreamMeter(lambda stage, done: reports.append((stage, done)), "summing", 467))
    assert_same(whole, pieces, rtol=1e-12)
    assert len(reports) > 3 * len(parts)
    assert reports[-1][0].startswith("summing: 467 rows")
    assert reports[-1][1] == 1.0


def test_a_pass_that_nobody_waits_for_ends_after_the_batch():
    log_pass, parts = planned("text")
    stop, reports = Event(), []

    def report(stage: str, done: float) -> None:  # noqa: ARG001
        reports.append(done)
        if len(reports) == 2:
            stop.set()

    with stoppable(stop), pytest.raises(CancelledError):
        log_pass.summarize(parts, StreamMeter(report, "summing", 467))
    assert len(reports) == 2
    assert log_pass.summarize(parts).rows == 467


@pytest.mark.skipif(
    np.__version__ < "2", reason="the last bit of a logarithm depends on the place in memory with NumPy 1 and AVX-512"
)
def test_bytes_are_the_same_for_the_same_statistics():
    log_pass, parts = planned("text")
    assert log_pass.summarize(parts).to_bytes() == log_pass.summarize(parts).to_bytes()


@pytest.mark.parametrize("damage", [{}, {"layout": np.zeros(5, dtype=np.int64)}, {"unknown": np.zeros(2)}])
def test_damaged_bytes_are_refused(damage):
    with pytest.raises(ValueError, match=r"statistics of a log|no saved file has|folds"):
        LogStatistics.from_bytes(arrays_to_bytes(damage), ("a", "b"), 5)


def test_statistics_of_other_features_cannot_be_added():
    log_pass, parts = planned("text")
    other = LogStatistics.zero(SumsLayout(64, 3, 1, 2), 5, 6, has_clusters=True)
    with pytest.raises(UsageError, match="different features"):
        log_pass.summarize(parts[:1]).add(other)


def test_a_row_on_a_held_out_context_is_in_the_sums_of_its_fold_only():
    log_pass, parts = planned("text")
    fold = dict(zip(log_pass.contexts, log_pass.fold.tolist(), strict=True))
    expected = np.zeros(6, dtype=np.int64)
    for part in parts:
        for batch in part.batches():
            for name in batch.arrow["context_id"].to_pylist():
                expected[fold.get(name, -1)] += 1
    statistics = log_pass.summarize(parts)
    assert [round(sums.rows) for sums in (*statistics.folds, statistics.rest)] == expected.tolist()
    assert round(statistics.without(2).rows) == expected.sum() - expected[2]


@pytest.mark.parametrize("share", [0.02, 0.6], ids=["sparse", "dense"])
@pytest.mark.parametrize("width", [40, 1_100])
def test_sums_of_a_batch_are_those_of_dense_products(share, width):
    rng = np.random.default_rng(0)
    text = sparse.random(300, width, share, random_state=1, format="csr")
    model = np.sort(rng.integers(3, size=300))
    dense, targets, modifiers = (rng.normal(size=(300, size)) for size in (4, 2, 3))
    sums = LogSums.zero(SumsLayout(width, 4, 2, 3))
    add_batch(sums, LogBatch(text, dense, targets, modifiers, model, ("a", "b", "c")))
    columns = np.hstack([text.toarray(), dense, np.ones((300, 1)), targets])
    np.testing.assert_allclose(sums.gram(), columns.T @ columns, atol=1e-10)
    own = np.hstack([np.ones((300, 1)), modifiers])
    for code, name in enumerate("abc"):
        at = model == code
        np.testing.assert_allclose(sums.models[name].text, text[at].T @ own[at], atol=1e-10)
        np.testing.assert_allclose(sums.models[name].modifiers, own[at].T @ own[at], atol=1e-10)
        np.testing.assert_allclose(sums.models[name].shared, columns[at][:, width:].T @ own[at], atol=1e-10)


def test_hashes_depend_on_every_byte_and_the_length():
    texts = ["", "a", "b", "ab", "ba", "a" * 8, "a" * 9, "é", "a\0", "\0", "\0\0", "x" * 1_000, "x" * 999 + "y"]
    one = hash_column(pa.chunked_array([texts]), np.uint64(1))
    assert len(np.unique(one)) == len(texts)
    cut = hash_column(pa.chunked_array([texts[:5], texts[5:]]).slice(2), np.uint64(1))
    np.testing.assert_array_equal(one[2:], cut)
    assert not (one == hash_column(pa.chunked_array([texts]), np.uint64(2))).any()


def test_the_width_is_a_power_of_two():
    assert long_log_width(2**18) == LONG_LOG_WIDTH
    assert long_log_width(1_000) == 512
    assert long_log_width(1) == 1


def test_a_fingerprint_depends_on_rows_and_not_on_their_order():
    log_pass, parts = planned("text")
    forward, backward = log_pass.summarize(parts), log_pass.summarize(parts[::-1])
    assert forward.fingerprint == backward.fingerprint
    first = parts[0]
    changed = first.log.arrow.set_column(
        first.log.arrow.column_names.index("outcome"), "outcome", pa.array(1.0 - first.log.arrow["outcome"].to_numpy())
    )
    other = replace(first, log=replace(first.log, arrow=changed))
    assert log_pass.summarize([other]).fingerprint != log_pass.summarize([first]).fingerprint
