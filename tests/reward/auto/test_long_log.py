"""``auto`` from sums over a log, against ``auto`` from its rows."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.reward.auto import long_log
from deconfound.reward.auto.family import Auto
from deconfound.reward.auto.long_log import PreparedLongAuto, fit_long_variance_components
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.training_data import TrainingData
from tests.support.long_logs import moments_of, random_rows


@pytest.fixture(scope="module", params=[(2_000, 1), (1, 6_000), (1, 1)], ids=["rows", "columns", "products"])
def prepared(request):
    """The same study prepared both ways; the sums with few rows of the experiment, with many, and with many columns."""
    data = TrainingData(random_rows(0, 300), random_rows(1, 60))
    candidate = Auto(VarianceComponents.from_array(np.random.default_rng(2).uniform(0.01, 0.3, 12)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_log, "MAX_WRITTEN_ROWS", request.param[0])
        patch.setattr(long_log, "MAX_PRIMAL_COLUMNS", request.param[1])
        by_sums = PreparedLongAuto.condition_on_log(moments_of(data), data.experiment, candidate.variance_components)
    return candidate, Auto.prepare(data, [candidate]), by_sums


def test_predictions_and_fits_agree_to_eight_digits(prepared):
    candidate, by_rows, by_sums = prepared
    rng = np.random.default_rng(3)
    trains = [np.arange(60), np.arange(0, 60, 2), rng.integers(60, size=60)]
    for one, other in zip(by_rows.predict(candidate, trains), by_sums.predict(candidate, trains), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    new = random_rows(4, 50)
    for train in trains:
        one, other = by_rows.fit(candidate, train), by_sums.fit(candidate, train)
        np.testing.assert_allclose(one.predict(new), other.predict(new), atol=1e-8)
        np.testing.assert_allclose(one.predict_by_model(new, 3), other.predict_by_model(new, 3), atol=1e-8)


def test_the_shares_of_the_sources_add_up_to_the_fit(prepared):
    candidate, by_rows, by_sums = prepared
    train = np.arange(60)
    from_log, from_experiment = by_rows.from_log(), by_rows.from_experiment(train)
    expected = from_experiment.phi_coef
    total = by_sums.fit(candidate, train).phi_coef
    np.testing.assert_allclose(total - from_log.phi_coef, expected, atol=1e-8)


def test_the_variances_of_planted_components_are_found():
    """2,000 log rows with a model effect in the reward (variance 0.02) and a bias by model (0.01), noise 0.04.

    Three models give two degrees of freedom, so each of the two variances is known to a factor of about e^2.
    """
    rng = np.random.default_rng(5)
    log, experiment = random_rows(6, 2_000, unknown_models=False), random_rows(7, 600, unknown_models=False)
    reward, bias = np.array([-0.17, 0.0, 0.17]), np.array([0.12, -0.12, 0.0])
    logged = 0.5 + reward[log.model] + bias[log.model] + 0.2 * rng.standard_normal(2_000)
    randomized = 0.5 + reward[experiment.model] + 0.2 * rng.standard_normal(600)
    data = TrainingData(_with_outcome(log, logged), _with_outcome(experiment, randomized))
    found = fit_long_variance_components(moments_of(data), data.experiment)
    assert found.noise == pytest.approx(0.04, rel=0.1)
    assert 0.02 / 8 < found.reward_model < 0.02 * 8
    assert 0.01 / 8 < found.bias_model < 0.01 * 8
    assert max(found.reward_text, found.bias_text) < 0.002


def test_the_search_of_variances_reports_its_steps_and_gives_the_same_numbers():
    """The first guess takes fewer rows and columns; it is left out where the data have no more than that."""
    data, reported = TrainingData(random_rows(8, 400), random_rows(9, 320)), []
    moments = moments_of(data)
    observed = fit_long_variance_components(moments, data.experiment, lambda step, _: reported.append(step))
    assert observed == fit_long_variance_components(moments, data.experiment)
    guesses = [step for step in reported if step.startswith("first guess of variances, ")]
    for steps, start in ((guesses, "first guess of variances"), (reported[len(guesses) :], "estimating variances")):
        assert len(steps) > 1
        expected = [f"{start}, step {n} of usually 20 to 70" for n in range(1, len(steps) + 1)]
        assert steps == expected


def _with_outcome(rows, outcome):
    from deconfound.design import Rows

    return Rows(rows.phi, rows.psi, outcome, rows.model, modifiers=rows.modifiers)
