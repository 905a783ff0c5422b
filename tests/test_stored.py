"""Rows of a store must be the rows they stand for, only turned."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.hashed_pairs import hash_pairs
from scipy import sparse

from deconfound.design import Rows, collapse, stack
from deconfound.linalg import ridge
from deconfound.linalg.rational import RESIDUAL, rational_ritz
from deconfound.reward import FAMILIES, Cvci, Sources
from deconfound.reward.cvci import POOLINGS
from deconfound.stored import make_store, triangular_store
from deconfound.tune import tune

POOL, FRESH, COLUMNS = 90, 15, 400


def features(rng, rows):
    phi = sparse.random(rows, COLUMNS, density=0.05, random_state=rng, format="csr")
    return sparse.csr_matrix(phi / np.sqrt(phi.multiply(phi).sum(axis=1)))


@pytest.fixture
def drawn():
    """A log and an experiment from one pool, as sparse rows and as stored rows, and fresh rows in both forms."""
    rng = np.random.default_rng(5)
    phi = features(rng, POOL + FRESH)
    kernel = (phi @ phi.T).toarray()
    store, place = make_store(kernel[:POOL, :POOL])
    psi = rng.standard_normal((POOL + FRESH, 4))
    log, experiment = rng.integers(POOL, size=600), rng.integers(POOL, size=40)
    outcome, randomized = rng.random(600), rng.random(40)
    model = rng.integers(6, size=40)
    plain = (
        Rows(phi[log], psi[log], outcome),
        Rows(phi[experiment], psi[experiment], randomized, model),
        Rows(phi[POOL:], psi[POOL:]),
    )
    stored = (
        Rows(store.rows(log), psi[log], outcome),
        Rows(store.rows(experiment), psi[experiment], randomized, model),
        Rows(kernel[POOL:, :POOL] @ place, psi[POOL:]),
    )
    return plain, stored


def test_coordinates_reproduce_every_inner_product():
    phi = features(np.random.default_rng(1), 50)
    kernel = (phi @ phi.T).toarray()
    store, _ = make_store(kernel)
    np.testing.assert_allclose(store.coordinates @ store.coordinates.T, kernel, atol=1e-13)


def test_a_triangular_store_is_the_same_store_in_another_basis():
    phi = features(np.random.default_rng(1), 50)
    doubled = sparse.vstack([phi, phi[:7]]).tocsr()
    kernel = (doubled @ doubled.T).toarray()
    store = triangular_store(kernel)
    assert store.coordinates.shape == (57, 50)
    np.testing.assert_allclose(store.coordinates @ store.coordinates.T, kernel, atol=1e-12)


def test_a_pool_with_equal_rows_has_a_store_of_lower_rank():
    phi = features(np.random.default_rng(1), 20)
    doubled = sparse.vstack([phi, phi]).tocsr()
    store, _ = make_store((doubled @ doubled.T).toarray())
    assert store.coordinates.shape == (40, 20)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_tunes_and_predicts_as_on_the_features_themselves(family, drawn):
    (log, experiment, fresh), (stored_log, stored_experiment, stored_fresh) = drawn
    expected, found = tune(family(), log, experiment), tune(family(), stored_log, stored_experiment)
    assert found.estimator == expected.estimator
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)
    np.testing.assert_allclose(found.fit.predict(stored_fresh), expected.fit.predict(fresh), atol=1e-10)
    np.testing.assert_allclose(found.fit.predict(stored_experiment), expected.fit.predict(experiment), atol=1e-10)


def test_a_large_store_goes_through_the_rational_basis_and_agrees(drawn, monkeypatch):
    """More rows than are diagonalised in full: a few shifted systems are solved and span the rest."""
    (log, experiment, fresh), (stored_log, stored_experiment, stored_fresh) = drawn
    family = FAMILIES[[one.name for one in FAMILIES].index("cvci")]
    expected = tune(family(), log, experiment)
    monkeypatch.setattr("deconfound.linalg.factored.STORED", 10)
    found = tune(family(), stored_log, stored_experiment)
    assert found.estimator == expected.estimator
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)
    np.testing.assert_allclose(found.fit.predict(stored_fresh), expected.fit.predict(fresh), atol=1e-8)


def spread_kernel(rng, rows, smallest):
    """A positive definite matrix whose eigenvalues spread evenly over the decades up to one."""
    turn = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    return (turn * np.geomspace(smallest, 1.0, rows)) @ turn.T


def test_the_rational_basis_serves_all_shifts_between_its_ends():
    """A spectrum over six decades, a block of six vectors: far fewer directions than rows, errors near rounding."""
    rng = np.random.default_rng(0)
    kernel = spread_kernel(rng, 600, 1e-6)
    start = kernel @ rng.standard_normal((600, 6))
    values, vectors = rational_ritz(kernel, start, 1e-4)
    assert vectors.shape[1] < 200
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    for shift in np.geomspace(1e-4, 1.0, 30):
        exact = start.T @ np.linalg.solve(kernel + shift * np.eye(600), start)
        placed = vectors.T @ start
        np.testing.assert_allclose(
            (placed.T / (values + shift)) @ placed, exact, rtol=1e-9, atol=1e-9 * abs(exact).max()
        )


def test_the_rational_basis_leaves_a_small_residual_at_every_shift():
    """Not only where the loop looks: between its checks the residual may be larger, but not by an order."""
    rng = np.random.default_rng(4)
    kernel = spread_kernel(rng, 500, 1e-6)
    start = kernel @ rng.standard_normal((500, 4))
    values, vectors = rational_ritz(kernel, start, 2e-5)
    for shift in np.geomspace(2e-5, 10.0, 60):
        solution = vectors @ ((vectors.T @ start) / (values + shift)[:, None])
        left = start - kernel @ solution - shift * solution
        assert (np.linalg.norm(left, axis=0) < 10 * RESIDUAL * np.linalg.norm(start, axis=0)).all()


def test_shifts_too_small_for_single_precision_are_factored_in_double():
    """At 1e-10 of the norm a factor in single precision does not even exist."""
    rng = np.random.default_rng(2)
    kernel = spread_kernel(rng, 120, 1e-12)
    start = kernel @ rng.standard_normal((120, 3))
    values, vectors = rational_ritz(kernel, start, 1e-10)
    placed = vectors.T @ start
    for shift in (1e-10, 1e-6, 1e-2):
        exact = start.T @ np.linalg.solve(kernel + shift * np.eye(120), start)
        np.testing.assert_allclose((placed.T / (values + shift)) @ placed, exact, rtol=1e-7)


def test_the_rational_basis_of_nothing_is_empty():
    values, vectors = rational_ritz(np.eye(5), np.zeros((5, 2)), 1e-3)
    assert values.shape == (0,)
    assert vectors.shape == (5, 0)


@pytest.fixture(scope="module")
def long_log():
    """A log of 20,000 rows over 450 outputs with words as frequent as words are, and fresh outputs."""
    rng = np.random.default_rng(8)
    words = (rng.pareto(0.7, size=(500, 60)) * 3).astype(np.int64) % 2000
    phi = sparse.csr_matrix((np.ones(words.size), (np.repeat(np.arange(500), 60), words.ravel())), shape=(500, 2000))
    phi = sparse.csr_matrix(phi / np.sqrt(phi.multiply(phi).sum(axis=1)))
    kernel = (phi @ phi.T).toarray()
    store, place = make_store(kernel[:450, :450])
    psi = rng.standard_normal((500, 3))
    liking = 1.0 / (1.0 + np.exp(-8.0 * (phi @ rng.standard_normal(2000)) - psi[:, 0]))
    index = rng.choice(450, size=20_000, p=rng.dirichlet(np.ones(450)))
    tried = rng.integers(450, size=60)
    log = Rows(store.rows(index), psi[index], (liking[index] + rng.random(20_000)) / 2.0)
    experiment = Rows(store.rows(tried), psi[tried], (liking[tried] + rng.random(60)) / 2.0, rng.integers(6, size=60))
    return log, experiment, Rows(kernel[450:, :450] @ place, psi[450:])


def test_predictions_from_the_rational_basis_are_those_of_the_full_eigendecomposition(long_log, monkeypatch):
    """At the penalties of a benchmark, 1 / rows of the log up to 1 / rows of the experiment, for any pooling weight.

    Rows that neither source has are the hard part: what the basis gets right to the square is only what it was
    started from.
    """
    log, experiment, fresh = long_log
    candidates = [Cvci(pooling, penalty) for penalty in (1 / 20_000, 1e-3, 1 / 60) for pooling in POOLINGS]
    every = np.arange(len(experiment))

    def predictions():
        prepared = Cvci.prepare(Sources(log, experiment), candidates)
        prepared.predict(candidates[0], [every])
        return [prepared.fit(one, every).predict(fresh) for one in candidates]

    exact = predictions()
    monkeypatch.setattr("deconfound.linalg.factored.STORED", 10)
    found = predictions()
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_a_decomposition_is_made_again_only_for_other_rows_or_weights(drawn, monkeypatch):
    _, (log, experiment, _) = drawn
    made = []
    whole = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: made.append(len(matrix)) or whole(matrix))
    other = Rows(log.phi, log.psi, 1.0 - log.outcomes)
    first, second = (tune(Cvci(), rows, experiment).fit for rows in (log, other))
    assert len(made) == 1
    plain = Rows(log.phi.store.coordinates[log.phi.index], log.psi, other.outcomes)
    seen = Rows(log.phi.store.coordinates[experiment.phi.index], experiment.psi, experiment.outcomes, experiment.model)
    np.testing.assert_allclose(second.predict(seen), tune(Cvci(), plain, seen).fit.predict(seen), atol=1e-9)
    assert not np.allclose(first.predict(seen), second.predict(seen))
    made.clear()
    weighted = Rows(log.phi, log.psi, log.outcomes, weight=np.arange(1.0, 601.0))
    tune(Cvci(), weighted, experiment)
    assert made == [len(np.unique(log.phi.index))]


def test_collapsing_stored_rows_merges_by_place(drawn):
    (log, _, _), (stored_log, _, _) = drawn
    plain, stored = collapse(log), collapse(stored_log)
    assert len(plain) == len(stored) == len(np.unique(stored_log.phi.index))
    np.testing.assert_allclose(np.sort(plain.outcomes), np.sort(stored.outcomes))


def test_rows_of_one_store_can_be_stacked_and_cut(drawn):
    _, (log, experiment, _) = drawn
    both = stack([log.phi, experiment.phi])
    np.testing.assert_array_equal(both[600:].index, experiment.phi.index)
    weight = np.arange(1.0, 41.0)
    few = ridge(experiment.phi, experiment.outcomes, 0.3, weight)
    written_out = ridge(experiment.phi.store.coordinates[experiment.phi.index], experiment.outcomes, 0.3, weight)
    np.testing.assert_allclose(few.coef, written_out.coef, atol=1e-12)


def test_the_mean_row_is_the_mean_of_the_rows(drawn):
    _, (_, experiment, _) = drawn
    rows = experiment.phi.store.coordinates[experiment.phi.index]
    np.testing.assert_allclose(experiment.phi.mean(axis=0), rows.mean(axis=0), atol=1e-14)


def test_the_kernel_of_pairs_is_the_product_of_their_features():
    contexts = ["the river rose by night", "a strike at the harbour"]
    outputs = ["the river rose", "a strike", "the harbour at night", "rose by a river"]
    pairs = hash_pairs(contexts, outputs, np.array([0, 1, 1, 0]), buckets=16)  # few buckets: the halves collide
    phi = pairs.phi()
    np.testing.assert_allclose(pairs.kernel(pairs), (phi @ phi.T).toarray(), atol=1e-14)
