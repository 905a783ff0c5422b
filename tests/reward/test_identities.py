"""Limits and equivalences between the families; each docstring has the algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import FloatArray, Rows
from deconfound.reward import (
    FAMILIES,
    VARIANTS,
    Cvci,
    CvciResidual,
    ExpOnly,
    Grounded,
    GroundedAnchor,
    GroundedLinear,
    ObsOnly,
    RepresentationExp,
    TrainingData,
)
from tests.support import naive
from tests.support.random_rows import Pair, Shape, make, mild, repeated, shuffled

AGREE = 1e-10
RIDGE_FAMILIES = [pytest.param(family(), id=family.name) for family in FAMILIES + VARIANTS]


def same(one: Any, other: Any, pair: Pair, atol: float = AGREE) -> None:
    """Both candidates predict the same everywhere, and not a constant."""
    for rows in (pair.log, pair.experiment, pair.fresh):
        left, right = (c.fit(pair.log, pair.experiment).predict(rows) for c in (one, other))
        np.testing.assert_allclose(left, right, rtol=0, atol=atol)
        assert np.ptp(left) > 1e-6


@pytest.mark.parametrize("penalty", [1e-3, 0.3, 10.0])
def test_cvci_without_the_log_is_exp_only(pair: Pair, penalty: float) -> None:
    """mean + p w'w is (sum + p n w'w) / n."""
    same(Cvci(0.0, penalty), ExpOnly(penalty * len(pair.experiment)), pair)


@pytest.mark.parametrize("penalty", [1e-3, 0.3, 10.0])
def test_cvci_without_the_experiment_is_obs_only(pair: Pair, penalty: float) -> None:
    same(Cvci(1.0, penalty), ObsOnly(penalty * len(pair.log)), pair)


def test_cvci_counts_observations_and_not_rows(shape: Shape) -> None:
    """With weights, n is the number of observations that the rows represent."""
    weighted = make(replace(shape, weighted=True))
    same(Cvci(0.0, 0.3), ExpOnly(0.3 * weighted.experiment.total_weight), weighted)
    same(Cvci(1.0, 0.3), ObsOnly(0.3 * weighted.log.total_weight), weighted)


def test_cvci_moves_continuously_to_both_ends(pair: Pair) -> None:
    """The ends have separate code; a jump there would mean a wrong scale."""
    same(Cvci(1e-9, 0.1), Cvci(0.0, 0.1), pair, atol=1e-6)
    same(Cvci(1 - 1e-9, 0.1), Cvci(1.0, 0.1), pair, atol=1e-6)


def test_pooling_two_copies_of_one_source_is_that_source(pair: Pair) -> None:
    """(1 - l) mean + l mean = mean, for every l."""
    twin = replace(pair, log=pair.experiment)
    for pooling in (0.25, 0.8):
        same(Cvci(pooling, 0.2), ExpOnly(0.2 * len(pair.experiment)), twin)


@pytest.mark.parametrize("penalty", [0.1, 5.0])
def test_grounded_on_phi_is_ridge_centered_at_the_log(pair: Pair, penalty: float) -> None:
    """With psi = phi, w = w_obs - t turns |f_obs - Y - phi't|^2 + p t't into |Y - phi'w|^2 + p |w - w_obs|^2."""
    calm = on_phi(mild(pair))
    phi, experiment = calm.experiment.phi.toarray(), calm.experiment
    center, intercept_of_log = naive.least_squares(
        calm.log.phi.toarray(), calm.log.require_outcome(), calm.log.weight_or_ones, 2.0
    )
    offset = experiment.require_outcome() - phi @ center
    shift, intercept = naive.least_squares(phi, offset, experiment.weight_or_ones, penalty)
    fit = Grounded(penalty=penalty, log_penalty=2.0).fit(calm.log, experiment)
    for rows in (calm.log, experiment):
        assert unclipped(rows.phi.toarray() @ center + intercept_of_log)
        expected = rows.phi.toarray() @ (center + shift) + intercept
        np.testing.assert_allclose(fit.predict(rows), expected, rtol=0, atol=AGREE)


def on_phi(pair: Pair) -> Pair:
    """The same study with psi = phi."""
    return Pair(*(replace(rows, psi=rows.phi.toarray()) for rows in (pair.log, pair.experiment, pair.fresh)))


def unclipped(values: FloatArray) -> bool:
    return bool((values > 0).all() and (values < 1).all())


def test_a_correction_of_strength_zero_leaves_the_log_unchanged(pair: Pair) -> None:
    for basis in ("linear", "quadratic"):
        same(Grounded(basis, strength=0.0, log_penalty=0.7), ObsOnly(0.7), pair)
    same(GroundedLinear(strength=0.0, log_penalty=0.7), ObsOnly(0.7), pair)


def test_the_strength_moves_predictions_along_a_straight_line(pair: Pair) -> None:
    """f_obs - s c is linear in s until it is clipped."""
    calm = mild(pair)
    none, half, full = (
        Grounded(strength=s).fit(calm.log, calm.experiment).predict(calm.experiment) for s in (0.0, 0.5, 1.0)
    )
    assert unclipped(full)
    np.testing.assert_allclose(half, (none + full) / 2, rtol=0, atol=AGREE)


def test_an_infinitely_penalized_correction_shifts_the_log_by_its_mean_bias(pair: Pair) -> None:
    """As the penalty grows t goes to zero, and the free intercept to mean(f_obs - Y)."""
    calm = mild(pair)
    log_only = ObsOnly(1.0).fit(calm.log, calm.experiment)
    bias = np.mean(log_only.predict(calm.experiment) - calm.experiment.require_outcome())
    assert abs(bias) > 1e-4
    corrected = Grounded(penalty=1e13).fit(calm.log, calm.experiment).predict(calm.experiment)
    np.testing.assert_allclose(corrected, log_only.predict(calm.experiment) - bias, rtol=0, atol=1e-9)


def test_the_linear_variant_is_grounded_with_a_linear_basis(pair: Pair) -> None:
    same(GroundedLinear(0.4, 0.6, 2.0), Grounded("linear", 0.4, 0.6, 2.0), pair)


def test_residual_pooling_without_the_log_is_the_full_linear_correction(pair: Pair) -> None:
    """The ridge of Y - f_obs on psi is minus the ridge of f_obs - Y on psi."""
    same(CvciResidual(0.0, 0.2, 3.0), Grounded("linear", 0.2 * len(pair.experiment), 1.0, 3.0), pair)


def test_an_infinitely_penalized_residual_of_the_log_only_leaves_the_log_unchanged(pair: Pair) -> None:
    """The free intercept of f_obs gives its residuals mean zero; with no slope nothing is left to add."""
    calm = mild(pair)
    assert unclipped(naive.f_obs(calm.log, 0.7)(calm.log))
    left, right = (
        c.fit(calm.log, calm.experiment).predict(calm.experiment) for c in (CvciResidual(1.0, 1e13, 0.7), ObsOnly(0.7))
    )
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-9)


def test_a_residual_on_phi_adds_nothing_to_an_unpenalized_fit_of_the_log() -> None:
    """Least squares leaves residuals orthogonal to phi, so on the log alone psi = phi explains none of them."""
    tall = on_phi(mild(make(Shape(spread=0.3))))
    same(CvciResidual(1.0, 1e-3, 1e-9), ObsOnly(1e-9), tall, atol=1e-7)


def test_residual_pooling_over_an_infinitely_penalized_baseline_is_pooling_on_psi(pair: Pair) -> None:
    """A huge log penalty leaves f_obs the log's mean, a constant that the free intercept absorbs."""
    on_psi = Pair(
        *(
            Rows(rows.require_psi(), psi=rows.psi, outcome=rows.outcome)
            for rows in (pair.log, pair.experiment, pair.fresh)
        )
    )
    residual = CvciResidual(0.4, 0.1, 1e13).fit(pair.log, pair.experiment).predict(pair.fresh)
    direct = Cvci(0.4, 0.1).fit(on_psi.log, on_psi.experiment).predict(on_psi.fresh)
    np.testing.assert_allclose(residual, direct, rtol=0, atol=1e-9)


@pytest.mark.parametrize("strength", [1.0, 0.3])
@pytest.mark.parametrize("pooling", [0.0, 0.5])
def test_infinite_anchors_make_the_anchored_variant_grounded(pair: Pair, strength: float, pooling: float) -> None:
    """b is then one and alpha the strength, whatever the data."""
    anchored = GroundedAnchor(strength=strength, pooling=pooling, baseline_anchor=1e13, strength_anchor=1e13)
    same(anchored, Grounded(strength=strength), pair)


def test_representation_exp_is_exp_only_on_psi(pair: Pair) -> None:
    same(RepresentationExp(0.6), ExpOnly(0.6), on_phi(pair))


def test_doubling_the_log_changes_no_mean(pair: Pair) -> None:
    doubled = replace(pair, log=pair.log.take(np.tile(np.arange(len(pair.log)), 2)))
    pairs: list[tuple[Any, Any]] = [
        (Cvci(0.4, 0.05), Cvci(0.4, 0.05)),
        (CvciResidual(0.4, 0.05, 1.0), CvciResidual(0.4, 0.05, 2.0)),
        (GroundedAnchor(pooling=0.3, log_penalty=1.0), GroundedAnchor(pooling=0.3, log_penalty=2.0)),
        (Grounded(log_penalty=1.0), Grounded(log_penalty=2.0)),
        (ObsOnly(1.0), ObsOnly(2.0)),
    ]
    for one, other in pairs:
        before = one.fit(pair.log, pair.experiment).predict(pair.fresh)
        after = other.fit(doubled.log, pair.experiment).predict(pair.fresh)
        np.testing.assert_allclose(after, before, rtol=0, atol=AGREE)
    assert not np.allclose(
        ObsOnly(1.0).fit(pair.log, pair.experiment).predict(pair.fresh),
        ObsOnly(1.0).fit(doubled.log, pair.experiment).predict(pair.fresh),
        atol=1e-5,
    )


@pytest.mark.parametrize("candidate", RIDGE_FAMILIES)
def test_the_order_of_rows_changes_nothing(candidate: Any, pair: Pair) -> None:
    before = candidate.fit(pair.log, pair.experiment).predict(pair.fresh)
    after = candidate.fit(shuffled(pair.log, 1), shuffled(pair.experiment, 2)).predict(pair.fresh)
    np.testing.assert_allclose(after, before, rtol=0, atol=AGREE)


@pytest.mark.parametrize("candidate", RIDGE_FAMILIES)
@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
def test_a_weight_equals_that_many_repeats_of_the_row(candidate: Any, shape: Shape, stored: bool) -> None:
    weighted = make(replace(shape, weighted=True, sparse=stored))
    before = candidate.fit(weighted.log, weighted.experiment).predict(weighted.fresh)
    after = candidate.fit(repeated(weighted.log), repeated(weighted.experiment)).predict(weighted.fresh)
    np.testing.assert_allclose(after, before, rtol=0, atol=AGREE)


@pytest.mark.parametrize("candidate", RIDGE_FAMILIES)
def test_dense_and_sparse_rows_give_the_same_reward(candidate: Any, shape: Shape) -> None:
    thin = make(replace(shape, sparse=True))
    full = Pair(*(replace(rows, phi=rows.phi.toarray()) for rows in (thin.log, thin.experiment, thin.fresh)))
    before = candidate.fit(thin.log, thin.experiment).predict(thin.fresh)
    after = candidate.fit(full.log, full.experiment).predict(full.fresh)
    np.testing.assert_allclose(after, before, rtol=0, atol=AGREE)
    crossed = candidate.fit(thin.log, full.experiment).predict(full.fresh)
    np.testing.assert_allclose(crossed, before, rtol=0, atol=AGREE)


@pytest.mark.parametrize("candidate", RIDGE_FAMILIES)
def test_features_that_never_vary_change_nothing(candidate: Any, pair: Pair) -> None:
    """A constant column is absorbed by the intercept, and a column of zeros has no effect."""
    wider = [
        replace(rows, phi=np.column_stack([rows.phi.toarray(), np.full(len(rows), 3.0), np.zeros(len(rows))]))
        for rows in (pair.log, pair.experiment, pair.fresh)
    ]
    before = candidate.fit(pair.log, pair.experiment).predict(pair.fresh)
    after = candidate.fit(wider[0], wider[1]).predict(wider[2])
    np.testing.assert_allclose(after, before, rtol=0, atol=AGREE)


@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
def test_one_ridge_on_stacked_rows_equals_the_shared_factorization(pair: Pair, pooling: float) -> None:
    """Before anything is tuned ``Cvci`` fits one plain ridge; afterwards it reuses the factored log."""
    candidate, train = Cvci(pooling, 0.05), np.arange(len(pair.experiment))[::2]
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment), [candidate])
    alone = prepared.fit(candidate, train)
    prepared.predict(candidate, [train])
    again = prepared.fit(candidate, train)
    np.testing.assert_allclose(alone.predict(pair.fresh), again.predict(pair.fresh), rtol=0, atol=1e-9)
