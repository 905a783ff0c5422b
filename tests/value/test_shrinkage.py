"""Shrinkage toward a biased source: a brute-force twin, limits, and gains and losses for any bias."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import shrinkage
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value import Values, shrink_toward
from deconfound.value.shrinkage import BIAS_POINTS, MAX_SHIFT_SE, PRIOR_SHAPE, SHIFT_POINTS

MODELS = tuple("abcdefgh")
STUDIES = 150
ERROR = 0.05


def unbiased(seed: int = 0, k: int = 8) -> Values:
    rng = np.random.default_rng(seed)
    return Values(MODELS[:k], 0.5 + ERROR * rng.normal(size=k), ERROR**2 * np.eye(k), "by hand")


def correlated(seed: int = 0, k: int = 5) -> Values:
    rng = np.random.default_rng([7, seed])
    root = 0.03 * rng.normal(size=(k, k + 2))
    return Values(MODELS[:k], rng.uniform(0.3, 0.7, k), root @ root.T, "by hand", np.full(k, 6.0))


def naive_posterior(gap: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Posterior mean of value - unbiased value, and covariance, by a loop over the grid with dense matrices."""
    k = len(gap)
    ones = np.ones((k, 1))
    shift_unit = 1 / float((ones.T @ np.linalg.solve(covariance, ones)).item())
    bias_unit = np.trace(covariance) / k
    log_weights, steps, covariances = [], [], []
    for i in range(BIAS_POINTS):
        for j in range(SHIFT_POINTS):
            bias_share = ((i + 0.5) / BIAS_POINTS) ** (1 / PRIOR_SHAPE)  # the distribution is share ** PRIOR_SHAPE
            shift_share = ((j + 0.5) / SHIFT_POINTS) ** (1 / PRIOR_SHAPE)
            tau2, omega2 = bias_unit * (1 / bias_share - 1), shift_unit * (1 / shift_share - 1)
            s = covariance + tau2 * np.eye(k) + omega2 * ones @ ones.T
            log_weights.append(-np.linalg.slogdet(s)[1] / 2 - gap @ np.linalg.solve(s, gap) / 2)
            steps.append(covariance @ np.linalg.solve(s, gap))
            covariances.append(covariance - covariance @ np.linalg.solve(s, covariance))
    weight = np.exp(np.array(log_weights) - max(log_weights))
    weight /= weight.sum()
    mean = sum(w * step for w, step in zip(weight, steps, strict=True))
    within = sum(w * c for w, c in zip(weight, covariances, strict=True))
    between = sum(w * np.outer(step - mean, step - mean) for w, step in zip(weight, steps, strict=True))
    return np.asarray(mean), np.asarray(within + between)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("gap_se", [0.2, 1.0, 4.0])
def test_the_posterior_equals_a_loop_over_the_grid(k: int, gap_se: float) -> None:
    values = correlated(k=k)
    gap = gap_se * values.standard_error * np.random.default_rng(1).normal(size=k)
    step, covariance = naive_posterior(gap, values.covariance)
    limit = MAX_SHIFT_SE * values.standard_error
    shrunk = shrink_toward(values, values.estimate + gap)
    np.testing.assert_allclose(shrunk.estimate - values.estimate, np.clip(step, -limit, limit), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(shrunk.error_covariance, covariance, rtol=1e-8, atol=1e-12)
    moved = np.linalg.norm(shrunk.estimate - values.estimate)
    assert shrunk.shrinkage_fraction == pytest.approx(moved / np.linalg.norm(gap))
    np.testing.assert_array_equal(shrunk.covariance, values.covariance)
    np.testing.assert_array_equal(shrunk.center, values.estimate)


def test_a_source_equal_to_the_values_changes_no_estimate_and_lowers_the_error() -> None:
    values = unbiased()
    same = shrink_toward(values, values.estimate)
    np.testing.assert_array_equal(same.estimate, values.estimate)
    assert same.shrinkage_fraction == 0
    assert (np.diag(same.error_covariance) < 0.5 * np.diag(values.covariance)).all()


@pytest.mark.parametrize("k", [1, 2, 8])
def test_a_huge_disagreement_moves_nothing(k: int) -> None:
    """A gap of g standard errors moves an estimate by about 1 / g of one; the unbiased errors remain."""
    values = unbiased(k=k)
    gap = np.resize([1.0, -1.0, 0.6, -1.4], k)
    for size in (1e2, 1e4):
        shrunk = shrink_toward(values, values.estimate + size * ERROR * gap)
        assert np.abs(shrunk.estimate - values.estimate).max() < 10 / size * ERROR
    np.testing.assert_allclose(shrunk.error_covariance, values.covariance, rtol=0.05, atol=0.05 * ERROR**2)


def test_a_shift_common_to_all_models_leaves_the_source_useful() -> None:
    """Too high by a hundred standard errors for every model: only the common part of the estimates stays."""
    values, source = unbiased(), np.full(8, 0.5)
    near, shifted = shrink_toward(values, source), shrink_toward(values, source + 100 * ERROR)
    differences, moved = (x - x.mean() for x in (values.estimate, shifted.estimate))
    assert np.linalg.norm(moved) < 0.5 * np.linalg.norm(differences)
    assert abs(shifted.estimate.mean() - values.estimate.mean()) < 0.02 * ERROR
    assert shifted.shrinkage_fraction is not None
    assert near.shrinkage_fraction is not None
    assert shifted.shrinkage_fraction < 0.05
    assert near.shrinkage_fraction > 0.5
    relative = np.eye(8) - 1 / 8
    assert np.trace(relative @ shifted.error_covariance) < 0.6 * np.trace(relative @ values.covariance)


def test_every_estimate_is_inside_its_interval_and_p_values_stay_those_of_the_unbiased_values() -> None:
    """The step ends at 1.5 standard errors, so the intervals of level 95 % do not change."""
    values = unbiased()
    shrunk = shrink_toward(values, values.estimate[::-1])
    assert np.abs(shrunk.estimate - values.estimate).max() > 0.01
    np.testing.assert_array_equal(shrunk.interval(), values.interval())
    np.testing.assert_array_equal(shrunk.interval(simultaneous=True), values.interval(simultaneous=True))
    assert set(values.best_set()) <= set(shrunk.best_set())
    assert shrunk.ranking()[0] in shrunk.best_set()
    before = {(c.model, c.reference): c for c in values.contrasts()}
    for contrast in shrunk.contrasts():
        assert contrast.difference >= 0
        assert contrast.low <= contrast.difference <= contrast.high
        same_order = before.get((contrast.model, contrast.reference))
        assert contrast.p_value == (1.0 if same_order is None else same_order.p_value)
    again = shrink_toward(shrunk, values.estimate[::-1])
    np.testing.assert_array_equal(again.estimate, shrunk.estimate)


@pytest.mark.parametrize("seed", range(5))
def test_no_estimate_moves_by_more_than_its_limit(seed: int) -> None:
    rng, values = np.random.default_rng(seed), correlated(seed, k=8)
    shrunk = shrink_toward(values, np.clip(values.estimate + rng.normal(size=8) * values.standard_error, 0, 1))
    assert (np.abs(shrunk.estimate - values.estimate) <= MAX_SHIFT_SE * values.standard_error + 1e-12).all()
    assert shrunk.shrinkage_fraction is not None
    assert 0 <= shrunk.shrinkage_fraction <= 1
    inside, interval = np.clip(shrunk.estimate, 0, 1), shrunk.interval(0.5)
    assert (interval[:, 0] <= inside).all()
    assert (interval[:, 1] >= inside).all()


def test_a_single_badly_biased_model_moves_by_a_limited_amount() -> None:
    """A gap of three standard errors in one model of eight: the posterior mean alone would move it by two of them."""
    values = unbiased()
    gap = np.append(3 * ERROR, np.zeros(7))
    assert naive_posterior(gap, values.covariance)[0][0] > MAX_SHIFT_SE * ERROR
    shrunk = shrink_toward(values, values.estimate + gap)
    assert shrunk.estimate[0] - values.estimate[0] == pytest.approx(MAX_SHIFT_SE * ERROR)


def test_a_missing_value_is_taken_from_the_source_and_its_interval_stays_open() -> None:
    values = unbiased()
    covariance, estimate = values.covariance.copy(), values.estimate.copy()
    covariance[7, 7], estimate[7] = np.inf, np.nan
    source = np.append(values.estimate[:7] + 0.01, 0.7)
    shrunk = shrink_toward(Values(MODELS, estimate, covariance, "by hand"), source)
    assert shrunk.estimate[7] == 0.7
    assert shrunk.interval()[7].tolist() == [0.0, 1.0]
    assert np.isinf(shrunk.error_covariance[7, 7])
    seven = shrink_toward(Values(MODELS[:7], estimate[:7], covariance[:7, :7], "by hand"), source[:7])
    np.testing.assert_allclose(shrunk.estimate[:7], seven.estimate)
    np.testing.assert_allclose(shrunk.error_covariance[:7, :7], seven.error_covariance)
    nothing = shrink_toward(Values(MODELS[:1], np.array([np.nan]), np.full((1, 1), np.inf), "by hand"), np.ones(1))
    assert (nothing.estimate[0], nothing.shrinkage_fraction) == (1.0, 0.0)


def test_a_model_without_a_source_stays_where_it_is() -> None:
    """Its errors are correlated with those of the others, whose variances shrink: the covariance must follow."""
    covariance = ERROR**2 * (0.1 * np.eye(8) + 0.9)
    values = Values(MODELS, unbiased().estimate, covariance, "by hand")
    source = np.append(values.estimate[:7] + 0.01, np.nan)
    shrunk = shrink_toward(values, source)
    assert shrunk.estimate[7] == values.estimate[7]
    seven = shrink_toward(Values(MODELS[:7], values.estimate[:7], covariance[:7, :7], "by hand"), source[:7])
    np.testing.assert_allclose(shrunk.estimate[:7], seven.estimate)
    assert np.linalg.eigvalsh(shrunk.error_covariance)[0] >= -1e-12


def test_exact_values_do_not_move() -> None:
    exact = Values(MODELS, np.linspace(0.2, 0.8, 8), np.zeros((8, 8)), "by hand")
    shrunk = shrink_toward(exact, np.full(8, 0.5))
    np.testing.assert_array_equal(shrunk.estimate, exact.estimate)
    np.testing.assert_array_equal(shrunk.error_covariance, exact.covariance)


def test_a_singular_covariance_gives_finite_estimates() -> None:
    """Errors common to all models: differences are exact and stay, the common part moves."""
    values = Values(MODELS[:4], np.array([0.2, 0.4, 0.6, 0.8]), ERROR**2 * np.ones((4, 4)), "by hand")
    shrunk = shrink_toward(values, values.estimate + 0.5 * ERROR)
    steps = shrunk.estimate - values.estimate
    np.testing.assert_allclose(steps, steps[0], atol=1e-9)
    assert 0.1 * ERROR < steps[0] < 0.5 * ERROR
    assert np.linalg.eigvalsh(shrunk.error_covariance)[0] > -1e-12


def test_sources_of_the_wrong_shape_are_refused() -> None:
    for source in (np.ones(3), np.ones((8, 1)), np.ones((8, 8))):
        with pytest.raises(UsageError, match="source must"):
            shrink_toward(unbiased(), source)


# --- gain and loss ---

NODES = 10  # per dimension; 20 change the ratios below by less than 1e-6


def two_model_rmse_ratio(bias: FloatArray, correlation: float = 0.0) -> float:
    """RMSE of shrunken values of two models relative to unbiased ones, by Gauss-Hermite quadrature over their errors.

    ``bias`` (2,) of the source is in standard errors.
    """
    node, weight = np.polynomial.hermite_e.hermegauss(NODES)
    root = np.linalg.cholesky(ERROR**2 * (correlation + (1 - correlation) * np.eye(2)))
    truth, before, after = np.full(2, 0.5), 0.0, 0.0
    for i in range(NODES):
        for j in range(NODES):
            error = root @ np.array([node[i], node[j]])
            values = Values(MODELS[:2], truth + error, root @ root.T, "by hand")
            shrunk = shrink_toward(values, truth + ERROR * bias)
            before += weight[i] * weight[j] * float(error @ error)
            after += weight[i] * weight[j] * float(((shrunk.estimate - truth) ** 2).sum())
    return float(np.sqrt(after / before))


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_two_models_gain_where_the_source_is_right(correlation: float) -> None:
    assert two_model_rmse_ratio(np.zeros(2), correlation) < 0.82


@pytest.mark.parametrize("direction", [(1.0, -1.0), (1.0, 0.0), (1.0, 1.0)])
def test_two_models_lose_little_at_any_bias_of_the_source(direction: tuple[float, float]) -> None:
    """Quadrature, not simulation: no sampling error. The largest ratio is 1.062, at opposite biases of 2.7.

    A common bias is a shift: the difference of the two models still gains.
    """
    ratios = [two_model_rmse_ratio(size * np.array(direction)) for size in (1.5, 2.7, 4.0, 30.0)]
    assert max(ratios) < (0.93 if direction == (1.0, 1.0) else 1.065)
    assert direction == (1.0, 1.0) or ratios[-1] < 1.005


@pytest.mark.parametrize("pattern", shrinkage.PATTERNS)
@pytest.mark.parametrize("rows", [shrinkage.NORMAL_ERRORS, 5])
def test_shrinkage_is_never_much_worse_than_the_experiment_alone(rows: int, pattern: str) -> None:
    """RMSE ratio at most 1.05 at any bias, at most 0.75 at none.

    Both errors come from the same draws. With a shrinkage fraction s the ratio varies between studies by about s times
    sqrt(1 / (2 * 8)) = 0.25. Over 150 studies its standard error is 0.02 at bias 0 (s near one) and below 0.01 at a
    bias of two or more (s below one third). The true ratios are near 0.5 to 0.7 and 1.0, four standard errors away.
    """
    cell = shrinkage.Cell(rows, pattern)
    for size in (0, 2, 4, 50) if rows == shrinkage.NORMAL_ERRORS else (0, 2):
        ratio = shrinkage.rmse_ratio(cell, size, STUDIES)
        # A bias common to all models affects one direction only: 1 + 2 of 8 parts of the squared error remain.
        common = rows == shrinkage.NORMAL_ERRORS and pattern == "same sign"
        assert ratio <= (0.75 if size == 0 or common else 1.05), (size, ratio)
