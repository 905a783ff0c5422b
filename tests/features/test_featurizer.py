"""Featurizers: which features a specification selects, and what may influence them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deconfound as dc
from deconfound.errors import DataError, EvidenceError, UsageError
from deconfound.features import FeatureSpec, distinct_rows
from deconfound.words.word_splitting import MAX_CHARACTERS
from tests.support.feature_studies import (
    KINDS,
    SMALL,
    assert_same_bits,
    columns_only_study,
    make_log,
    make_study,
    with_columns,
)

PSI_SOURCES = {
    "text, labels": "labels and surface",
    "text": "surface",
    "text without surface": "none",
    "labels without surface": "labels",
    "columns without text": "labels and columns",
    "columns with surface": "surface and columns",
    "both": "labels, surface and columns",
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    spec, arguments = request.param
    return spec, make_log(**arguments)


# Which features


def test_features_follow_the_log_unless_a_source_is_given():
    assert FeatureSpec().fit(make_log(features=2)).spec.source == "text"
    assert FeatureSpec().fit(make_log(features=2, text=False)).spec.source == "columns"
    assert FeatureSpec(source="both").fit(make_log(features=2)).spec.source == "both"


def test_a_study_without_text_is_evaluated_and_checked_without_options():
    study = columns_only_study()
    assert not study.has_text
    result = dc.evaluate(study, family="exp-only")
    assert result.featurizer.spec.source == "columns"
    assert np.isfinite(result.values.estimate).all()
    assert dc.check(study)


def test_psi_source_names_the_parts_of_psi():
    assert {name: spec.fit(make_log(**given)).psi_source for name, (spec, given) in KINDS.items()} == PSI_SOURCES


@pytest.mark.parametrize(
    ("source", "arguments", "advice"),
    [("text", {"features": 1, "text": False}, "--features columns"), ("columns", {}, "--features text")],
)
def test_a_source_that_the_study_lacks_is_refused_with_the_alternative(source, arguments, advice):
    with pytest.raises(UsageError, match=advice):
        replace(SMALL, source=source).fit(make_log(**arguments))


@pytest.mark.parametrize(
    "wrong",
    [{"source": "words"}, {"components": 0}, {"buckets": 0}, {"buckets": 2**31}, {"label_penalty": float("nan")}],
)
def test_impossible_hyperparameters_are_refused(wrong):
    with pytest.raises(UsageError, match="must be"):
        replace(SMALL, **wrong)


def test_a_log_without_rows_is_too_little_evidence():
    log = make_log()
    with pytest.raises(EvidenceError, match="no rows"):
        SMALL.fit(replace(log, arrow=log.arrow.slice(0, 0)))


def test_tables_without_the_needed_columns_are_refused():
    featurizer = replace(SMALL, source="both").fit(make_log(features=1))
    row = {"context": ["a"], "output": ["b"], "feature_0": [1.0]}
    with pytest.raises(UsageError, match="output"):
        featurizer.blocks(pa.table({"context": ["a"], "feature_0": [1.0]}))
    with pytest.raises(DataError, match="row 1: there is no output"):
        featurizer.blocks(pa.table(row | {"output": pa.array([None], pa.string())}))
    with pytest.raises(DataError, match="row 1: feature_0 is not a finite number"):
        featurizer.blocks(pa.table(row | {"feature_0": [float("nan")]}))


def test_texts_beyond_the_limit_are_counted_per_table_in_a_finding():
    long = "word " * (MAX_CHARACTERS // 5 + 1)
    study = make_study(n=8)
    outputs = ["short"] * 6 + [long, long]
    log, experiment = (with_columns(table, output=outputs) for table in (study.log, study.experiment))
    assert SMALL.fit(study.log, (study.experiment, study.replay)).findings == ()
    (finding,) = SMALL.fit(log, (study.experiment, study.replay)).findings
    assert (finding.check, finding.verdict) == ("long texts", "warn")
    assert finding.message.endswith(": 1 in the log.")
    (finding,) = SMALL.fit(log, (experiment, study.replay)).findings
    assert finding.message.endswith(": 1 in the log, 1 in the experiment.")


# What influences the features


def test_fitting_returns_the_blocks_that_the_featurizer_gives_for_the_log(kind):
    spec, log = kind
    featurizer, blocks = spec.fit_transform_log(log)
    assert_same_bits(blocks, featurizer.blocks(log.arrow))


def test_outcomes_and_other_tables_do_not_influence_the_features(kind):
    spec, log = kind
    other = with_columns(log, outcome=np.linspace(0, 1, len(log)))
    unrelated = make_study(seed=5).experiment if log.has_text else make_study(seed=5, text=False, features=3).experiment
    one, two = spec.fit(log).blocks(log.arrow), spec.fit(other, (unrelated,)).blocks(log.arrow)
    assert_same_bits(one, two)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(12)), st.sampled_from(sorted(KINDS)))
def test_the_order_of_rows_does_not_change_their_features(order, name):
    spec, arguments = KINDS[name]
    log = make_log(**arguments)
    featurizer = spec.fit(log)
    table = log.arrow.slice(0, 12)
    straight, shuffled = featurizer.blocks(table), featurizer.blocks(table.take(pa.array(order)))
    for surface_share in (0.0, 0.3, 1.0):
        left, right = (blocks.phi(surface_share) for blocks in (straight, shuffled))
        left, right = (part if isinstance(part, np.ndarray) else part.toarray() for part in (left, right))
        assert (left[straight.row_index][order] == right[shuffled.row_index]).all()
    if straight.psi is not None:
        assert (straight.psi[straight.row_index][order] == shuffled.psi[shuffled.row_index]).all()


def test_the_size_of_batches_does_not_change_features(monkeypatch):
    log = make_log(labels=2)
    featurizer, whole = SMALL.fit_transform_log(log)
    monkeypatch.setattr(distinct_rows, "BATCH_BYTES", 300)
    assert_same_bits(whole, featurizer.blocks(log.arrow))


def test_equal_rows_share_their_features_and_contexts_are_grouped():
    columns = {
        "context": ["x", "y", "x", "y", "x"],
        "output": ["1", "1", "2", "1", "1"],
        "feature_0": [0.0, 0.0, 0.0, 5.0, -0.0],
    }
    log = make_log(features=1)
    assert SMALL.fit(log).blocks(pa.table(columns)).row_index.tolist() == [0, 2, 1, 2, 0]
    assert replace(SMALL, source="both").fit(log).blocks(pa.table(columns)).row_index.tolist() == [0, 2, 1, 3, 0]
    without_text = replace(SMALL, source="columns", surface=False).fit(log)
    assert without_text.blocks(pa.table(columns)).row_index.tolist() == [0, 0, 0, 1, 0]


# Small logs


@pytest.mark.parametrize("output", ["", "same"])
def test_a_log_of_identical_rows_gives_zero_dense_features(output):
    study = make_study(labels=2)
    log = with_columns(study.log, context=["x"] * 60, output=[output] * 60)
    featurizer, blocks = SMALL.fit_transform_log(log)
    assert len(blocks.dense) == 1
    assert not blocks.dense.any()
    assert featurizer.psi_source == "surface"
    assert np.isfinite(featurizer.blocks(study.replay.arrow).psi).all()


def test_a_log_of_one_row_gives_zero_psi():
    log = make_log(n=8, labels=1)
    featurizer = SMALL.fit(replace(log, arrow=log.arrow.slice(0, 1)))
    blocks = featurizer.blocks(log.arrow)
    assert not blocks.psi.any()
    assert blocks.text.nnz > 0


def test_an_empty_table_has_empty_blocks():
    log = make_log(labels=2)
    blocks = SMALL.fit(log).blocks(log.arrow.slice(0, 0))
    assert blocks.text.shape == (0, 512)
    assert len(blocks.dense) == len(blocks.psi) == len(blocks.row_index) == 0
