"""The demo's comparison of a result with the truth."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.demo.compare import Estimate, TruthComparison, comparison_text
from deconfound.formatting import TERMINAL_WIDTH
from deconfound.value import Values
from tests.support.snapshots import assert_matches_snapshot

TRUTH = {"aspen": 0.41, "cedar": 0.71, "maple": 0.43, "oak": 0.65}
LOG = (0.46, 0.60, 0.64, 0.61)
EXPERIMENT = (0.41, 0.63, 0.37, 0.60)
EVALUATION = (0.38, 0.69, 0.38, 0.58)


def estimate(values: tuple[float, ...], standard_error: float) -> Estimate:
    covariance = standard_error**2 * np.eye(len(values))
    return Estimate.from_values(Values(tuple(TRUTH), np.array(values), covariance, "test"), TRUTH, 0.95)


@pytest.fixture
def comparison() -> TruthComparison:
    truth = dict(sorted(TRUTH.items(), key=lambda item: -item[1]))
    return TruthComparison(truth, estimate(LOG, 0.01), estimate(EXPERIMENT, 0.03), estimate(EVALUATION, 0.02), 0.95)


def test_an_estimate_knows_its_best_model_and_that_models_true_rank(comparison):
    assert (comparison.raw_log.best, comparison.raw_log.true_rank) == ("maple", 3)
    assert (comparison.evaluation.best, comparison.evaluation.true_rank) == ("cedar", 1)


def test_rivals_are_the_other_models_that_may_be_best(comparison):
    assert comparison.experiment.rivals == ("oak",)
    assert comparison.evaluation.rivals == ()


def test_the_error_is_the_root_mean_square_over_models(comparison):
    errors = np.array(LOG) - np.array(list(TRUTH.values()))
    assert comparison.raw_log.rmse == pytest.approx(np.sqrt((errors**2).mean()))


def test_intervals_that_contain_the_truth_are_counted(comparison):
    """Half-widths 1.96 * 0.02: aspen, cedar and not maple (0.38 for 0.43) nor oak (0.58 for 0.65)."""
    assert comparison.evaluation.covered == 2
    assert comparison.experiment.covered == 2
    assert "2 of 4 intervals" in comparison_text(comparison)


def test_the_text_matches_its_snapshot(comparison):
    text = comparison_text(comparison) + "\n"
    assert max(len(line) for line in text.splitlines()) <= TERMINAL_WIDTH
    assert_matches_snapshot(text, "demo")
