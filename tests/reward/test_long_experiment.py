"""Every family beside a long experiment, through sums, against the same family through inner products of rows."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.linalg import DEFAULT_LIMITS, FactorizationLimits
from deconfound.reward import FAMILIES, VARIANTS, Auto, TrainingData
from deconfound.reward.auto import long_log
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.summed_rows import SummedRows
from tests.support.long_logs import random_rows

ROWS = 90
BY_SUMS = FactorizationLimits(max_experiment_kernel=10)
PAPER = (*FAMILIES, *VARIANTS)


@pytest.fixture(scope="module")
def both():
    """The same study with the experiment as rows and as sums."""
    log, experiment = random_rows(0, 300), random_rows(1, ROWS)
    by_rows, by_sums = TrainingData(log, experiment), TrainingData(log, experiment, BY_SUMS)
    assert not by_rows.uses_sums
    assert by_sums.uses_sums
    return by_rows, by_sums


@pytest.fixture(scope="module")
def trains():
    """All rows, a fold, and a resample with repeats."""
    return [np.arange(ROWS), np.arange(0, ROWS, 3), np.random.default_rng(3).integers(ROWS, size=ROWS)]


@pytest.mark.parametrize("family", PAPER, ids=[family.name for family in PAPER])
def test_every_family_of_the_paper_agrees_to_eight_digits(family, both, trains):
    by_rows, by_sums = both
    candidates = family().grid(by_rows)
    assert candidates == family().grid(by_sums)
    one, other = family.prepare(by_rows, candidates), family.prepare(by_sums, candidates)
    new = random_rows(4, 50)
    for candidate in candidates[:: max(len(candidates) // 7, 1)]:
        for left, right in zip(one.predict(candidate, trains), other.predict(candidate, trains), strict=True):
            np.testing.assert_allclose(left, right, atol=1e-8)
        for train in trains:
            left, right = one.fit(candidate, train), other.fit(candidate, train)
            np.testing.assert_allclose(left.predict(new), right.predict(new), atol=1e-8)


@pytest.mark.parametrize(
    "absent", [(), (1, 6), (2, 3, 7, 8, 11), (3,)], ids=["all", "no proxies", "no models", "unshared"]
)
def test_auto_agrees_to_eight_digits(absent, both, trains, monkeypatch):
    """Also with components of variance zero, for which nothing can be divided by."""
    monkeypatch.setattr(long_log, "MAX_WRITTEN_ROWS", 1)
    variances = np.random.default_rng(2).uniform(0.01, 0.3, 12)
    variances[list(absent)] = 0.0
    candidate = Auto(VarianceComponents.from_array(variances))
    one, other = (Auto.prepare(data, [candidate]) for data in both)
    new = random_rows(4, 50)
    for left, right in zip(one.predict(candidate, trains), other.predict(candidate, trains), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-8)
    for train in trains:
        left, right = one.fit(candidate, train), other.fit(candidate, train)
        np.testing.assert_allclose(left.predict_by_model(new, 3), right.predict_by_model(new, 3), atol=1e-8)


def test_systems_that_do_not_converge_are_factored(both, trains, monkeypatch):
    monkeypatch.setattr(long_log, "MAX_WRITTEN_ROWS", 1)
    candidate = Auto(VarianceComponents.from_array(np.random.default_rng(2).uniform(0.01, 0.3, 12)))
    expected = Auto.prepare(both[1], [candidate]).predict(candidate, trains)
    monkeypatch.setattr("deconfound.reward.auto.primal_rows.MAX_ITERATIONS", 1)
    for left, right in zip(Auto.prepare(both[1], [candidate]).predict(candidate, trains), expected, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-8)


def test_auto_estimates_its_variances_from_the_same_rows(both):
    by_rows, by_sums = both
    assert Auto().resolve(by_rows) == Auto().resolve(by_sums)


def test_the_log_of_a_short_experiment_is_not_summed(both):
    by_rows, by_sums = both
    assert by_rows.log.moments is None
    assert isinstance(by_sums.log, SummedRows)


def test_wide_features_keep_their_inner_products():
    """A system of the size of the columns would be larger than one of the size of the rows."""
    wide = random_rows(1, ROWS, width=200).phi
    assert not FactorizationLimits(max_experiment_kernel=10, max_dense_kernel=100).prefers_sums(wide)
    assert not DEFAULT_LIMITS.prefers_sums(wide)


def test_too_many_models_for_sums_are_fitted_by_rows(both, monkeypatch):
    monkeypatch.setattr("deconfound.reward.summed_rows.MAX_MODEL_COLUMNS", 10)
    log, experiment = random_rows(0, 300), random_rows(1, ROWS)
    by_sums = TrainingData(log, experiment, BY_SUMS)
    candidate = Auto(VarianceComponents.from_array(np.random.default_rng(2).uniform(0.01, 0.3, 12)))
    assert by_sums.log.moments is None
    one, other = (Auto.prepare(data, [candidate]).fit(candidate, np.arange(ROWS)) for data in (both[0], by_sums))
    np.testing.assert_array_equal(one.phi_coef, other.phi_coef)
