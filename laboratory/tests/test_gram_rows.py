"""Rows of a Gram store are the rows they were computed from, in a rotated basis."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.gram_rows import gram_store_by_cholesky, gram_store_by_eigh
from deconfound_bench.hashed_pairs import hash_pairs
from scipy import sparse

from deconfound.design import DenseMatrix, Rows, merge_duplicate_rows, stack
from deconfound.linalg import FactorizationLimits, ridge
from deconfound.reward import FAMILIES, Cvci, TrainingData
from deconfound.reward.cvci import POOLINGS
from deconfound.tune import Validation, tune, tune_subsets
from tests.support import matrix_contract

POOL, FRESH, COLUMNS = 90, 15, 400
RATIONAL = FactorizationLimits(max_eigh_stored_gram=10)  # larger problems use the rational Krylov basis


def unit_rows(rng, rows):
    phi = sparse.random(rows, COLUMNS, density=0.05, random_state=rng, format="csr")
    return sparse.csr_matrix(phi / np.sqrt(phi.multiply(phi).sum(axis=1)))


@pytest.fixture
def samples():
    """A log and an experiment from one pool, as CSR rows and as rows of a store, and fresh rows in both forms."""
    rng = np.random.default_rng(5)
    phi = unit_rows(rng, POOL + FRESH)
    kernel = (phi @ phi.T).toarray()
    store, to_coordinates = gram_store_by_eigh(kernel[:POOL, :POOL])
    psi = rng.standard_normal((POOL + FRESH, 4))
    log, experiment = rng.integers(POOL, size=600), rng.integers(POOL, size=40)
    outcome, randomized = rng.random(600), rng.random(40)
    model = rng.integers(6, size=40)
    csr = (
        Rows(phi[log], psi[log], outcome),
        Rows(phi[experiment], psi[experiment], randomized, model),
        Rows(phi[POOL:], psi[POOL:]),
    )
    gram = (
        Rows(store.rows(log), psi[log], outcome),
        Rows(store.rows(experiment), psi[experiment], randomized, model),
        Rows(kernel[POOL:, :POOL] @ to_coordinates, psi[POOL:]),
    )
    return csr, gram


@pytest.mark.parametrize(
    "check",
    [matrix_contract.check_products, matrix_contract.check_inner_products, matrix_contract.check_selection],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("rows", [5, 40], ids=["few rows of the store", "many rows of the store"])
def test_rows_of_a_store_meet_the_contract_of_a_feature_matrix(check, rows):
    phi = unit_rows(np.random.default_rng(3), 60)
    store, _ = gram_store_by_eigh((phi @ phi.T).toarray())
    index = np.arange(rows)[::-1]
    check(store.rows(index), store.coordinates[index])


def test_rows_of_another_store_cannot_be_combined():
    phi = unit_rows(np.random.default_rng(3), 8)
    one, other = (gram_store_by_cholesky((phi @ phi.T).toarray()).rows(np.arange(4)) for _ in range(2))
    for matrix in (other, DenseMatrix(other.toarray())):
        with pytest.raises(TypeError, match="same store"):
            one.inner_products(matrix)
        with pytest.raises(TypeError, match="same store"):
            one.stack([matrix])


def test_coordinates_reproduce_every_inner_product():
    phi = unit_rows(np.random.default_rng(1), 50)
    kernel = (phi @ phi.T).toarray()
    store, _ = gram_store_by_eigh(kernel)
    np.testing.assert_allclose(store.coordinates @ store.coordinates.T, kernel, atol=1e-13)


def test_a_store_by_cholesky_is_the_same_store_in_another_basis():
    phi = unit_rows(np.random.default_rng(1), 50)
    repeated = sparse.vstack([phi, phi[:7]]).tocsr()
    kernel = (repeated @ repeated.T).toarray()
    store = gram_store_by_cholesky(kernel)
    assert store.coordinates.shape == (57, 50)
    np.testing.assert_allclose(store.coordinates @ store.coordinates.T, kernel, atol=1e-12)


def test_a_pool_with_equal_rows_has_a_store_of_lower_rank():
    phi = unit_rows(np.random.default_rng(1), 20)
    repeated = sparse.vstack([phi, phi]).tocsr()
    store, _ = gram_store_by_eigh((repeated @ repeated.T).toarray())
    assert store.coordinates.shape == (40, 20)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_tunes_and_predicts_as_on_the_features_themselves(family, samples):
    (log, experiment, fresh), (gram_log, gram_experiment, gram_fresh) = samples
    expected, actual = tune(family(), log, experiment), tune(family(), gram_log, gram_experiment)
    assert actual.estimator == expected.estimator
    np.testing.assert_allclose(actual.losses, expected.losses, rtol=1e-9)
    np.testing.assert_allclose(actual.fit.predict(gram_fresh), expected.fit.predict(fresh), atol=1e-10)
    np.testing.assert_allclose(actual.fit.predict(gram_experiment), expected.fit.predict(experiment), atol=1e-10)


def test_a_large_store_uses_the_rational_basis_and_agrees(samples):
    """With more rows than are diagonalized in full, a few shifted systems span the space that matters."""
    (log, experiment, fresh), (gram_log, gram_experiment, gram_fresh) = samples
    expected, candidates = tune(Cvci(), log, experiment), Cvci().grid(TrainingData(log, experiment))
    prepared = Cvci.prepare(TrainingData(gram_log, gram_experiment, limits=RATIONAL), candidates)
    every = np.arange(len(experiment))
    (actual,) = tune_subsets(prepared, candidates, Cvci(), gram_experiment, [every], Validation(5, "model", 0))
    assert actual.estimator == expected.estimator
    np.testing.assert_allclose(actual.losses, expected.losses, rtol=1e-9)
    fit = prepared.fit(actual.estimator, every)
    np.testing.assert_allclose(fit.predict(gram_fresh), expected.fit.predict(fresh), atol=1e-8)


@pytest.fixture(scope="module")
def long_log():
    """A log of 20,000 rows over 270 outputs with Zipf-like word frequencies, an experiment, and fresh outputs."""
    rng = np.random.default_rng(8)
    pool, outputs, words_per_output, vocabulary = 270, 300, 60, 2000
    words = (rng.pareto(0.7, size=(outputs, words_per_output)) * 3).astype(np.int64) % vocabulary
    row = np.repeat(np.arange(outputs), words_per_output)
    phi = sparse.csr_matrix((np.ones(words.size), (row, words.ravel())), shape=(outputs, vocabulary))
    phi = sparse.csr_matrix(phi / np.sqrt(phi.multiply(phi).sum(axis=1)))
    kernel = (phi @ phi.T).toarray()
    store, to_coordinates = gram_store_by_eigh(kernel[:pool, :pool])
    psi = rng.standard_normal((outputs, 3))
    quality = 1.0 / (1.0 + np.exp(-8.0 * (phi @ rng.standard_normal(vocabulary)) - psi[:, 0]))
    logged = rng.choice(pool, size=20_000, p=rng.dirichlet(np.ones(pool)))
    drawn = rng.integers(pool, size=60)
    log = Rows(store.rows(logged), psi[logged], (quality[logged] + rng.random(20_000)) / 2.0)
    experiment = Rows(store.rows(drawn), psi[drawn], (quality[drawn] + rng.random(60)) / 2.0, rng.integers(6, size=60))
    return log, experiment, Rows(kernel[pool:, :pool] @ to_coordinates, psi[pool:])


def test_the_rational_basis_predicts_as_the_full_eigendecomposition(long_log):
    """At the penalties of a benchmark, 1 / rows of the log up to 1 / rows of the experiment, for any pooling weight.

    Fresh rows are the hard part: the basis is accurate to the square of the residual only for the rows it was
    started from.
    """
    log, experiment, fresh = long_log
    candidates = [Cvci(pooling, penalty) for penalty in (1 / 20_000, 1e-3, 1 / 60) for pooling in POOLINGS]
    every = np.arange(len(experiment))

    def predictions(limits):
        prepared = Cvci.prepare(TrainingData(log, experiment, limits=limits), candidates)
        prepared.predict(candidates[0], [every])
        return [prepared.fit(one, every).predict(fresh) for one in candidates]

    exact, actual = predictions(FactorizationLimits()), predictions(RATIONAL)
    assert not np.array_equal(actual, exact)
    np.testing.assert_allclose(actual, exact, atol=1e-6)


def test_a_decomposition_is_computed_again_only_for_other_rows_or_weights(samples, monkeypatch):
    _, (log, experiment, _) = samples
    sizes = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or eigh(matrix))
    other = Rows(log.phi, log.psi, 1.0 - log.require_outcome())
    first, second = (tune(Cvci(), rows, experiment).fit for rows in (log, other))
    assert len(sizes) == 1
    dense_log = Rows(log.phi.toarray(), log.psi, other.outcome)
    dense_experiment = Rows(experiment.phi.toarray(), experiment.psi, experiment.outcome, experiment.model)
    expected = tune(Cvci(), dense_log, dense_experiment).fit.predict(dense_experiment)
    np.testing.assert_allclose(second.predict(dense_experiment), expected, atol=1e-9)
    assert not np.allclose(first.predict(dense_experiment), second.predict(dense_experiment))
    sizes.clear()
    tune(Cvci(), Rows(log.phi, log.psi, log.outcome, weight=np.arange(1.0, 601.0)), experiment)
    assert sizes == [len(np.unique(log.phi.index))]


def test_merging_rows_of_a_store_compares_their_places(samples):
    (log, _, _), (gram_log, _, _) = samples
    merged, gram_merged = merge_duplicate_rows(log), merge_duplicate_rows(gram_log)
    assert len(merged) == len(gram_merged) == len(np.unique(gram_log.phi.index))
    np.testing.assert_allclose(np.sort(merged.outcome), np.sort(gram_merged.outcome))


def test_stacked_rows_stay_in_their_store_and_ridge_uses_their_inner_products(samples):
    _, (log, experiment, _) = samples
    both = stack([log.phi, experiment.phi])
    np.testing.assert_array_equal(both.take(slice(600, None)).index, experiment.phi.index)
    weight = np.arange(1.0, 41.0)
    actual = ridge(experiment.phi, experiment.outcome, 0.3, weight)
    expected = ridge(DenseMatrix(experiment.phi.toarray()), experiment.outcome, 0.3, weight)
    np.testing.assert_allclose(actual.coef, expected.coef, atol=1e-12)


def test_the_kernel_of_pairs_is_the_product_of_their_features():
    contexts = ["the river rose by night", "a strike at the harbour"]
    outputs = ["the river rose", "a strike", "the harbour at night", "rose by a river"]
    pairs = hash_pairs(contexts, outputs, np.array([0, 1, 1, 0]), buckets=16)  # few buckets: the halves collide
    phi = pairs.phi()
    np.testing.assert_allclose(pairs.kernel(pairs), (phi @ phi.T).toarray(), atol=1e-14)
