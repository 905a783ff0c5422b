"""The columns of ``auto`` written out, and without writing out their zeros."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.reward.auto.component_kernels import KernelRows, KernelScale
from deconfound.reward.auto.linear_columns import LinearRows, fold_columns
from deconfound.reward.training_data import TrainingData
from tests.support.long_logs import MODELS, moments_of, random_rows


@pytest.fixture(scope="module")
def log():
    return random_rows(0, 40)


@pytest.fixture(scope="module")
def scale(log):
    return KernelScale.from_log(log)


def test_products_are_those_of_the_columns_written_out(log, scale):
    rows = LinearRows.from_rows(log, scale, MODELS)
    written = rows.toarray()
    assert written.shape == (40, rows.columns.size)
    rng = np.random.default_rng(1)
    coef, weights = rng.normal(size=(rows.columns.size, 2)), rng.normal(size=(40, 2))
    np.testing.assert_allclose(rows.times(coef), written @ coef, atol=1e-12)
    np.testing.assert_allclose(rows.transposed_times(weights), written.T @ weights, atol=1e-12)


def test_a_weighted_sum_of_the_kernels_is_the_covariance_of_the_linear_model(log, scale):
    """Each component's kernel is the inner product of its columns."""
    variances = np.array([0.3, 0.2, 0.1, 0.05, 0.4])
    rows = LinearRows.from_rows(log, scale, MODELS)
    written, kernel = rows.toarray(), KernelRows.from_rows(log, scale)
    prior = rows.columns.variances(variances, scale)
    covariance = (written * prior) @ written.T
    np.testing.assert_allclose(covariance, kernel.covariance(kernel, variances), atol=1e-12)
    assert rows.trace(prior) == pytest.approx(np.trace(covariance))


def test_a_model_beyond_the_log_has_no_columns(log, scale):
    rows = LinearRows.from_rows(log, scale, MODELS - 1)
    own = rows.toarray()[log.model == MODELS - 1, rows.columns.shared :]
    assert len(own)
    assert not own.any()


def test_folded_sums_are_the_sums_of_folded_columns(log):
    moments = moments_of(TrainingData(log, log))
    rows = LinearRows.from_rows(log, moments.scale, MODELS).toarray()
    folded, narrow = moments.folded(16), fold_columns(rows, 64, 16)
    assert folded.columns.text == 16
    np.testing.assert_allclose(folded.gram.toarray(), narrow.T @ narrow, atol=1e-10)
    np.testing.assert_allclose(folded.cross, narrow.T @ (log.outcome - moments.mean), atol=1e-10)
    assert moments.folded(64) is moments
