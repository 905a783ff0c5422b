"""The paper's theorems as numbers, wherever possible through the package's own fits.

A population is a finite set of points z with masses. Given to a family as rows weighted by mass, with the conditional
mean as outcome and a penalty near zero, a fit is the population projection of the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import FloatArray, Rows
from deconfound.reward import Cvci, CvciResidual, ExpOnly, Grounded, ObsOnly, RepresentationExp
from tests.support import naive

FREE = 1e-9  # a penalty that only makes the system solvable, on masses that sum to one
CLOSE = 1e-6  # the error that this penalty can cause
SCALE = 1e3  # observations that a whole population represents


@dataclass(frozen=True)
class Population:
    """Points z with masses; f_obs and r* as tables over them."""

    mass: FloatArray
    phi: FloatArray
    psi: FloatArray
    log_outcome: FloatArray  # conditional mean outcome in the log
    reward: FloatArray  # r*

    def norm(self, values: FloatArray) -> float:
        """Squared norm under the experiment's distribution."""
        return float(self.mass @ values**2)

    def inner(self, one: FloatArray, other: FloatArray) -> float:
        return float(self.mass @ (one * other))

    def sources(self) -> tuple[Rows, Rows]:
        """Log and experiment that contain the whole population."""
        weight = SCALE * self.mass
        outcomes = (self.log_outcome, self.reward)
        log, experiment = (Rows(self.phi, psi=self.psi, outcome=y, weight=weight) for y in outcomes)
        return log, experiment

    def predict(self, family: Any) -> FloatArray:
        """The family's fit to the whole population, at every point; never clipped."""
        log, experiment = self.sources()
        predicted = np.asarray(family.fit(log, experiment).predict(experiment))
        assert predicted.min() > 0
        assert predicted.max() < 1
        return predicted


def population(seed: int = 0, points: int = 30, table: bool = True) -> Population:
    """A population whose log's regression can be any function (``table``) or is linear in four features."""
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((points, 2))
    phi = np.eye(points) if table else rng.standard_normal((points, 4))
    reward = 0.5 + 0.05 * np.sin(3 * psi[:, 0]) + 0.03 * rng.standard_normal(points)
    bias = 0.04 * psi[:, 1] + 0.05 + 0.03 * rng.standard_normal(points)
    return Population(rng.dirichlet(np.full(points, 2.0)), phi, psi, reward + bias, reward)


def full(strength: float = 1.0) -> Grounded:
    return Grounded(penalty=FREE * SCALE, strength=strength, log_penalty=FREE * SCALE)


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_correction_gains_exactly_what_the_theorem_states(seed: int) -> None:
    """R(f_obs - s h) = R(f_obs) - (2 s - s^2) |h|^2, with h the projection of the bias on psi."""
    it = population(seed)
    base = it.predict(ObsOnly(FREE * SCALE))
    h = base - it.predict(full())
    assert it.norm(h) > 1e-4
    previous = it.norm(base - it.reward)
    for strength in (0.0, 0.1, 0.5, 0.9, 1.0):
        risk = it.norm(it.predict(full(strength)) - it.reward)
        expected = it.norm(base - it.reward) - (2 * strength - strength**2) * it.norm(h)
        assert risk == pytest.approx(expected, abs=CLOSE)
        assert risk <= previous + CLOSE
        previous = risk


@dataclass(frozen=True)
class NoisyCorrection:
    """Baseline bias b, a correction h from few noisy rows, and the risks at no, half and full strength."""

    b: FloatArray
    h: FloatArray
    none: float
    half: float
    full: float


def noisy_correction(it: Population, seed: int) -> NoisyCorrection:
    """Fit the correction to ten rows of the population with noise on their outcomes."""
    rng = np.random.default_rng(seed)
    log, whole = it.sources()
    sample = whole.take(rng.choice(len(it.mass), 10, p=it.mass))
    noisy = replace(sample, outcome=sample.require_outcome() + 0.1 * rng.standard_normal(10), weight=None)
    none, half, whole_way = (
        Grounded(penalty=1e-3, strength=s, log_penalty=FREE * SCALE).fit(log, noisy).predict(whole)
        for s in (0.0, 0.5, 1.0)
    )
    assert 0 < whole_way.min() <= whole_way.max() < 1
    risk = [it.norm(predicted - it.reward) for predicted in (none, half, whole_way)]
    return NoisyCorrection(none - it.reward, none - whole_way, *risk)


def test_a_noisy_correction_obeys_its_identity_and_can_hurt() -> None:
    """R(f_obs - s h) - R(f_obs) = s^2 |h|^2 - 2 s <b, h>, for whatever h a small experiment gives.

    Among twenty experiments some corrections hurt at full strength and help at half: hence the strength.
    """
    improved_at_half = 0
    for seed in range(20):
        it = population(seed)
        noisy = noisy_correction(it, seed)
        for strength, risk in ((0.5, noisy.half), (1.0, noisy.full)):
            expected = strength**2 * it.norm(noisy.h) - 2 * strength * it.inner(noisy.b, noisy.h)
            assert risk - noisy.none == pytest.approx(expected, abs=1e-12)
        assert noisy.full > it.norm(it.predict(full()) - it.reward)
        improved_at_half += noisy.full > noisy.none > noisy.half
    assert improved_at_half >= 3


def distance(it: Population, target: FloatArray, features: FloatArray) -> float:
    """Distance under the experiment's distribution from a target to the affine span of features."""
    root = np.sqrt(it.mass)
    design = np.column_stack([features, np.ones(len(root))]) * root[:, None]
    coef = np.linalg.lstsq(design, root * target, rcond=None)[0]
    return float(np.linalg.norm(root * target - design @ coef))


def test_residual_beats_pooling_exactly_when_its_class_is_nearer() -> None:
    """R(f_obs + h) <= R(f) iff dist(r*, f_obs + H_psi) <= dist(r*, F_phi); both cases must occur."""
    winners = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        it = population(seed, table=False)
        lean = rng.uniform(0, 0.08)
        mixed = 0.5 + lean * it.phi[:, 0] + (0.08 - lean) * it.psi[:, 1] + 0.02 * rng.standard_normal(30)
        it = replace(it, reward=np.clip(mixed, 0.05, 0.95), log_outcome=0.5 + 0.05 * it.phi[:, 1])
        base = it.predict(ObsOnly(FREE * SCALE))
        residual = it.norm(it.predict(CvciResidual(0.0, FREE, FREE * SCALE)) - it.reward)
        pooled = it.norm(it.predict(Cvci(0.0, FREE)) - it.reward)
        near, far = distance(it, it.reward - base, it.psi), distance(it, it.reward, it.phi)
        assert residual == pytest.approx(near**2, abs=CLOSE)
        assert pooled == pytest.approx(far**2, abs=CLOSE)
        assert (residual <= pooled) == (near <= far)
        winners.append(residual <= pooled)
    assert 5 <= sum(winners) <= 35


def test_residual_wins_strictly_when_the_log_contains_the_complex_part() -> None:
    """r* - f_obs in H_psi and r* outside F_phi: residual risk zero, pooling risk positive."""
    it = population(1, table=False)
    hard = 0.5 + it.phi @ np.array([0.03, -0.02, 0.02, 0.0])
    it = replace(it, log_outcome=hard, reward=hard + 0.03 * it.psi[:, 0] - 0.02)
    assert it.norm(it.predict(CvciResidual(0.0, FREE, FREE * SCALE)) - it.reward) < CLOSE**1.5
    assert it.norm(it.predict(Cvci(0.0, FREE)) - it.reward) > 1e-4


def test_a_linear_bias_is_corrected_completely() -> None:
    """Class expansion (a): r* = f_obs - theta'psi is in the grounded class, and not in psi's own."""
    it = population(2)
    it = replace(it, log_outcome=it.reward + 0.04 * it.psi[:, 0] - 0.03 * it.psi[:, 1] + 0.05)
    np.testing.assert_allclose(it.predict(full()), it.reward, atol=CLOSE)
    assert it.norm(it.predict(RepresentationExp(FREE * SCALE)) - it.reward) > 1e-4


def test_grounding_can_represent_targets_that_psi_alone_cannot() -> None:
    """Class expansion (b): f_obs outside H_psi is itself in the grounded class."""
    it = population(3)
    it = replace(it, log_outcome=it.reward)
    assert distance(it, it.reward, it.psi) > 0.01
    np.testing.assert_allclose(it.predict(full()), it.reward, atol=CLOSE)
    assert it.norm(it.predict(RepresentationExp(FREE * SCALE)) - it.reward) > 1e-4


def test_grounding_adds_nothing_when_the_log_is_linear_in_psi() -> None:
    """Class expansion (c): with f_obs in H_psi both classes are H_psi, so both projections are one."""
    it = population(4)
    it = replace(it, log_outcome=0.5 + 0.04 * it.psi[:, 0] - 0.02 * it.psi[:, 1])
    np.testing.assert_allclose(it.predict(full()), it.predict(RepresentationExp(FREE * SCALE)), atol=CLOSE)


@dataclass(frozen=True)
class LinearCase:
    """psi = phi, a log linear in it, and the closed forms with the last coordinate the free intercept."""

    design: FloatArray  # (n, d + 1), last column ones
    log: Rows
    center: FloatArray  # (d + 1,) the log's own coefficients
    penalty: float

    @property
    def penalties(self) -> FloatArray:
        """Lambda: the penalty on every coordinate but the intercept."""
        return np.diag(np.append(np.full(self.design.shape[1] - 1, self.penalty), 0.0))

    @property
    def shrink(self) -> FloatArray:
        """A = (S + Lambda)^-1."""
        return np.asarray(np.linalg.inv(self.design.T @ self.design + self.penalties), dtype=np.float64)

    def experiment(self, outcome: FloatArray) -> Rows:
        """The experiment with these outcomes."""
        return Rows(self.design[:, :-1], psi=self.design[:, :-1], outcome=outcome)

    def grounded(self, outcome: FloatArray, strength: float = 1.0) -> FloatArray:
        """Coefficients of the grounded fit, read off its parts."""
        fit = Grounded(penalty=self.penalty, strength=strength, log_penalty=FREE)
        reward = fit.fit(self.log, self.experiment(outcome))
        assert reward.baseline is not None
        assert reward.psi_coef is not None
        level = float(reward.baseline.intercept) + reward.intercept
        return np.append(reward.baseline.coef + reward.psi_coef, level)

    def exp_only(self, outcome: FloatArray) -> FloatArray:
        """Coefficients of the experiment alone."""
        reward = ExpOnly(self.penalty).fit(self.log, self.experiment(outcome))
        assert reward.phi_coef is not None
        return np.append(reward.phi_coef, reward.intercept)


def linear_case(center: FloatArray, penalty: float = 2.0, seed: int = 0) -> LinearCase:
    rng = np.random.default_rng(seed)
    columns = len(center) - 1
    design = np.column_stack([rng.standard_normal((9, columns)), np.ones(9)])
    phi = rng.standard_normal((60, columns))
    log = Rows(phi, psi=phi, outcome=phi @ center[:-1] + center[-1])
    return LinearCase(design, log, center, penalty)


def test_grounded_is_centered_ridge_in_closed_form() -> None:
    """beta_G = (S + Lambda)^-1 (Psi'Y + Lambda beta_obs), and (1 - s) beta_obs + s beta_G at strength s."""
    case = linear_case(np.array([0.04, -0.05, 0.03, 0.5]))
    outcome = np.random.default_rng(1).uniform(0.3, 0.7, 9)
    closed = case.shrink @ (case.design.T @ outcome + case.penalties @ case.center)
    np.testing.assert_allclose(case.grounded(outcome), closed, atol=CLOSE)
    assert np.abs(closed - case.center).max() > 0.01
    for strength in (0.0, 0.35, 1.0):
        between = (1 - strength) * case.center + strength * closed
        np.testing.assert_allclose(case.grounded(outcome, strength), between, atol=CLOSE)


def risks(case: LinearCase, truth: FloatArray, noise: float, metric: FloatArray) -> tuple[float, float]:
    """Exact risks of grounded and exp-only, by fitting to a noise that has the right mean and covariance.

    Both estimators are linear in Y, so their risk sees only two moments of the noise. The 2n vectors
    +-noise * sqrt(n) e_i, all equally likely, have mean zero and covariance noise^2 I: no Monte Carlo is needed.
    """
    rows = len(case.design)
    errors: tuple[list[float], list[float]] = ([], [])
    for kick in np.vstack([np.eye(rows), -np.eye(rows)]) * noise * np.sqrt(rows):
        outcome = case.design @ truth + kick
        for squared_errors, coef in zip(errors, (case.grounded(outcome), case.exp_only(outcome)), strict=True):
            squared_errors.append(float((coef - truth) @ metric @ (coef - truth)))
    return float(np.mean(errors[0])), float(np.mean(errors[1]))


def test_the_crossover_is_where_the_log_becomes_a_worse_center_than_zero() -> None:
    """Both risks match the corollary's formulas, and grounded wins iff the weighted distance to the log is smaller.

    The log's center moves from the truth through zero and beyond, so that both answers occur.
    """
    truth = np.array([0.05, -0.04, 0.03, 0.5])
    metric = np.diag([1.0, 2.0, 0.5, 1.0])
    winners = []
    for stretch in (1.0, 0.6, 0.2, -0.2, 1.8, 2.4):
        case = linear_case(np.append(stretch * truth[:-1], 0.45))
        grounded, alone = risks(case, truth, 0.02, metric)
        bias = case.penalties @ case.shrink @ metric @ case.shrink @ case.penalties
        noise = 0.02**2 * np.trace(metric @ case.shrink @ case.design.T @ case.design @ case.shrink)
        away = truth - case.center
        assert grounded == pytest.approx(away @ bias @ away + noise, rel=1e-4)
        assert alone == pytest.approx(truth @ bias @ truth + noise, rel=1e-4)
        assert (grounded <= alone) == (away @ bias @ away <= truth @ bias @ truth)
        winners.append(grounded <= alone)
    assert winners == [True, True, True, False, True, False]


def test_the_naive_twin_of_least_squares_is_least_squares() -> None:
    """The twins rest on this one function, so it is compared with the normal equations."""
    case = linear_case(np.array([0.04, -0.05, 0.03, 0.5]))
    outcome = np.random.default_rng(2).uniform(0, 1, 9)
    coef, intercept = naive.least_squares(case.design[:, :-1], outcome, np.ones(9), case.penalty)
    np.testing.assert_allclose(np.append(coef, intercept), case.shrink @ case.design.T @ outcome, atol=1e-12)
