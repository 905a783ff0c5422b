"""Blocks of features: their scale and how they combine to phi."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from deconfound.errors import UsageError
from deconfound.features import SURFACE_STATISTICS
from deconfound.features.blocks import fit_scaling
from tests.support.feature_studies import SMALL, make_log, with_columns


def test_hashed_text_is_the_sum_of_two_unit_vectors():
    featurizer = replace(SMALL, buckets=2**18).fit(make_log())
    blocks = featurizer.blocks(pa.table({"context": ["a b", "a b", ""], "output": ["", "a b", "c"]}))
    squares = blocks.text.multiply(blocks.text).sum(axis=1).A1
    np.testing.assert_allclose(squares, [1.0, 2.0, 1.0], rtol=1e-12)


def test_the_surface_share_weights_the_blocks_and_at_0_and_1_only_one_is_left():
    blocks = SMALL.fit_transform_log(make_log())[1]
    assert blocks.has_text_and_dense
    assert blocks.phi(0.0) is blocks.text
    np.testing.assert_array_equal(blocks.phi(1.0), np.sqrt(2) * blocks.dense)
    expected = np.hstack([np.sqrt(0.7) * blocks.text.toarray(), np.sqrt(0.6) * blocks.dense])
    combined = blocks.phi(0.3)
    np.testing.assert_allclose(combined.toarray(), expected, rtol=1e-15)
    assert combined.has_canonical_format
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="surface_share"):
            blocks.phi(wrong)


def test_the_surface_share_has_no_effect_on_a_single_block():
    text = replace(SMALL, surface=False).fit_transform_log(make_log())[1]
    dense = SMALL.fit_transform_log(make_log(features=2, text=False))[1]
    assert not text.has_text_and_dense
    assert not dense.has_text_and_dense
    for surface_share in (0.0, 0.4, 1.0):
        assert text.phi(surface_share) is text.text
        np.testing.assert_array_equal(dense.phi(surface_share), np.sqrt(2) * dense.dense)


def test_the_dense_block_has_mean_square_norm_one_over_the_log_shared_by_its_parts():
    """Over log rows, not distinct rows: a pair that occurs often counts often."""
    _, blocks = replace(SMALL, source="both").fit_transform_log(make_log(features=3))
    squares = (blocks.dense[blocks.row_index] ** 2).mean(axis=0)
    assert squares[: len(SURFACE_STATISTICS)].sum() == pytest.approx(0.5)
    assert squares[len(SURFACE_STATISTICS) :].sum() == pytest.approx(0.5)


def test_columns_are_standardized_by_the_log_and_clipped():
    log = make_log(features=2, text=False)
    featurizer, blocks = SMALL.fit_transform_log(log)
    values = log.arrow["feature_1"].to_numpy()
    np.testing.assert_allclose(blocks.psi[blocks.row_index][:, 1], (values - values.mean()) / values.std(), rtol=1e-10)
    far = featurizer.blocks(pa.table({"feature_0": [1e300, -1e300], "feature_1": [3.0, 3.0]}))
    assert far.psi[:, 0].tolist() == [5.0, -5.0]


def test_a_column_that_is_constant_in_the_log_is_zero_in_every_table():
    log = with_columns(make_log(features=2), feature_1=[0.1] * 60)
    featurizer = replace(SMALL, source="columns", surface=False).fit(log)
    later = featurizer.blocks(pa.table({"feature_0": [1.0], "feature_1": [7.0]}))
    assert later.dense[0, 1] == later.psi[0, 1] == 0.0


def test_rounding_error_around_a_constant_counts_as_constant():
    """These counts make the mean of a constant column differ from it in the last digit."""
    for counts in (np.arange(1, size) for size in range(3, 60)):
        assert fit_scaling(np.full((len(counts), 1), 0.1), counts, (1,)).sd.tolist() == [0.0]
