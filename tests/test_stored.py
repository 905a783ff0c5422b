"""Rows of a store must be the rows they stand for, only turned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from deconfound.bench.outputs import hash_pairs
from deconfound.design import Rows, collapse, stack
from deconfound.linalg import ridge
from deconfound.linalg.rational import rational_ritz
from deconfound.reward import FAMILIES, Cvci
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


def test_the_rational_basis_serves_all_shifts_between_its_ends():
    """A spectrum over six decades, a block of six vectors: far fewer directions than rows, errors near rounding."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    kernel = (turn * np.geomspace(1e-6, 1.0, 300)) @ turn.T
    start = kernel @ rng.standard_normal((300, 6))
    values, vectors = rational_ritz(kernel, start, 1e-4)
    assert vectors.shape[1] < 120
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    for shift in (1e-4, 1e-3, 0.07, 1.0):
        exact = start.T @ np.linalg.solve(kernel + shift * np.eye(300), start)
        placed = vectors.T @ start
        np.testing.assert_allclose(
            (placed.T / (values + shift)) @ placed, exact, rtol=1e-9, atol=1e-9 * abs(exact).max()
        )


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
