"""Transport weights against known density ratios, and the logistic regression behind them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize

from deconfound.errors import UsageError
from deconfound.value.transport import MAX_WEIGHT, TransportWeights, logistic_ridge, transport_weights
from tests.support.checking import each, make_study, study_arrays
from tests.support.transport import transport

GARDEN, OFFICE = ("roof", "garden", "lamp", "heating"), ("invoice", "router", "passport", "printer")


def shifted_rows(seed, shift, n=300, m=600, columns=3):
    rng = np.random.default_rng([10, seed])
    experiment, target = rng.standard_normal((n, columns)), rng.standard_normal((m, columns))
    target[:, 0] += shift
    return experiment, target


@pytest.mark.parametrize(
    ("weight", "rows"), [(np.ones(50), 50.0), (np.eye(9)[0] * 9, 1.0), (np.array([0.5, 1.5]), 1.6)]
)
def test_the_effective_rows_are_kishs(weight, rows):
    """Equal weights leave all rows; one row of weight n leaves one; 1 and 3 leave 16 / 10 of two."""
    assert transport(weight).effective_rows == pytest.approx(rows)


def test_newton_finds_what_a_general_minimizer_finds():
    rng = np.random.default_rng(9)
    rows, is_target = rng.standard_normal((40, 3)), rng.random(40) < 0.3

    def loss(coef):
        logit = rows @ coef[:-1] + coef[-1]
        each_loss = np.log1p(np.exp(np.where(is_target, -logit, logit)))
        return 0.5 * each_loss[is_target].mean() + 0.5 * each_loss[~is_target].mean() + 0.05 * (coef[:-1] @ coef[:-1])

    expected = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(logistic_ridge(rows, is_target, 0.1), expected, atol=1e-5)


def test_weights_move_the_mean_to_the_target():
    """Outcomes rise by 1 with x, whose mean moves by 0.8: without weights the error is 0.8, with them a third of it.

    The density ratio is exp(0.8 x - 0.32), so that (sum w)^2 / sum w^2 tends to n exp(-0.64) = 0.53 n.
    """
    errors, shares = [], []
    for seed in range(20):
        experiment, target = shifted_rows(seed, 0.8)
        weights = TransportWeights.fit(experiment, target, seed)
        assert weights.weight.mean() == pytest.approx(1.0)
        errors.append(np.mean(weights.weight * experiment[:, 0]) - 0.8)
        shares.append(weights.effective_rows / len(experiment))
    assert np.sqrt(np.mean(np.square(errors))) < 0.8 / 3
    assert 0.4 < np.mean(shares) < 0.75


def test_weights_follow_the_density_ratio():
    experiment, target = shifted_rows(0, 0.8, n=1500, m=1500)
    weights = TransportWeights.fit(experiment, target, 0).weight
    truth = np.exp(0.8 * experiment[:, 0] - 0.32)
    assert np.corrcoef(np.log(weights), np.log(truth))[0, 1] > 0.95


def test_without_a_shift_the_weights_stay_near_one():
    """Nine balanced means differ by chance, which costs about 9 (1 / 300 + 1 / 600) = 4.5 % of the rows."""
    shares = [TransportWeights.fit(*shifted_rows(seed, 0.0), seed).effective_rows / 300 for seed in range(10)]
    assert np.mean(shares) > 0.92


def test_few_rows_are_not_spent_on_chance_differences():
    """Without a shift, twenty columns and 60 rows: exact balance of columns and squares leaves a third of the rows."""
    rows = [shifted_rows(seed, 0.0, n=60, m=80, columns=20) for seed in range(10)]
    shares = [TransportWeights.fit(*each_rows, seed).effective_rows / 60 for seed, each_rows in enumerate(rows)]
    assert np.mean(shares) > 0.5


def test_a_target_without_overlap_lies_outside_the_support():
    assert TransportWeights.fit(*shifted_rows(0, 9.0), 0).share_outside_support > 0.9
    assert TransportWeights.fit(*shifted_rows(0, 0.3), 0).share_outside_support < 0.1


def test_no_weight_exceeds_its_bound():
    experiment, target = shifted_rows(1, 4.0, n=400)
    weights = TransportWeights.fit(experiment, target, 0).weight
    assert weights.max() <= MAX_WEIGHT * 400
    assert (weights >= 0).all()


def test_degenerate_rows_end_in_an_error_or_in_equal_weights():
    with pytest.raises(UsageError, match="finite"):
        TransportWeights.fit(np.array([[np.nan]]), np.ones((3, 1)), 0)
    with pytest.raises(UsageError):
        TransportWeights.fit(np.zeros((0, 2)), np.ones((3, 2)), 0)
    same = TransportWeights.fit(np.ones((5, 2)), np.ones((4, 2)), 0)
    np.testing.assert_allclose(same.weight, 1.0)
    assert same.share_outside_support == 0.0
    assert TransportWeights.fit(np.ones((1, 1)), np.zeros((1, 1)), 0).weight == pytest.approx(1.0)


def test_weights_come_in_the_order_of_the_arrays():
    """Every second context has the target's words: those rows must gain weight, wherever they are."""
    rng = np.random.default_rng(6)

    def text(words):
        return " ".join([*rng.choice(words, 6), "".join(rng.choice(list("bcdfghjk"), 8))])

    texts = {f"case {i}": text(OFFICE if i % 2 else GARDEN) for i in range(120)}
    rename = each(lambda _, row: row.update(context=texts[row["context_id"]]))
    study = make_study(rows=120, experiment=rename, replay=rename)
    arrays = study_arrays(study)
    target = pa.table({"context": [text(OFFICE if i % 5 else GARDEN) for i in range(200)]})
    weights = transport_weights(arrays, study, target, 0).weight
    odd = np.array([int(arrays.replay.contexts[code].split()[1]) % 2 == 1 for code in arrays.experiment.context])
    assert weights[odd].mean() > 2 * weights[~odd].mean()
