"""Recommendations: the best model of a context, and when to stay silent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deconfound.features import Blocks
from deconfound.material import Cells
from deconfound.recommend import Policy
from deconfound.report.summary import spans
from deconfound.reward import RewardFit

MODELS = ("ant", "bee", "cat")
TIGHT = np.zeros((3, 3))


def cells(q: np.ndarray) -> Cells:
    """Contexts whose only feature is the reward itself, each cell replayed in two draws around it."""
    contexts, models = q.shape
    draws = np.stack([q - 0.01, q + 0.01]).reshape(-1, 1)
    blocks = Blocks(np.arange(len(draws)), None, draws / np.sqrt(2.0), None)
    context = np.tile(np.repeat(np.arange(contexts), models), 2)
    names = tuple(f"c{i}" for i in range(contexts))
    return Cells(blocks, names, context, np.tile(np.arange(models), 2 * contexts), models)


def policy(slopes: list[float], covariance: np.ndarray = TIGHT) -> Policy:
    refits = tuple(RewardFit(0.0, phi_coef=np.array([slope])) for slope in slopes)
    return Policy(MODELS, 1.0, RewardFit(0.0, phi_coef=np.array([1.0])), refits, covariance)


Q = np.array([[0.2, 0.5, 0.4], [0.6, 0.3, 0.59], [0.3, 0.3, 0.3]])


def test_the_best_model_of_each_context_is_named_with_its_lead():
    rows = policy([0.9, 1.0, 1.1]).recommend(cells(Q), 0.95)
    assert [(row.model, row.runner_up) for row in rows] == [("bee", "cat"), ("ant", "cat"), ("ant", "bee")]
    assert [row.q for row in rows] == pytest.approx([0.5, 0.6, 0.3])
    assert [row.margin for row in rows] == pytest.approx([0.1, 0.01, 0.0])


def test_the_interval_is_the_spread_of_the_refits_by_a_t_quantile():
    slopes = [0.8, 1.0, 1.3, 0.9]
    row = policy(slopes).recommend(cells(Q), 0.9)[0]
    half = stats.t.ppf(0.95, 3) * np.std([0.1 * s for s in slopes], ddof=1)
    assert (row.margin_low, row.margin_high) == pytest.approx((0.1 - half, 0.1 + half))


def test_a_reward_that_never_moves_is_still_no_surer_than_the_experiment():
    """Refits of a reward taken from the log agree; the models' average difference, error 0.1, must speak then."""
    still = [1.0, 1.0, 1.0]
    assert policy(still).recommend(cells(Q), 0.95)[0].verdict == "clear"
    unsure = np.diag([0.005, 0.005, 0.005])
    row = policy(still, unsure).recommend(cells(Q), 0.95)[0]
    half = stats.t.ppf(0.975, 2) * 0.1
    assert row.verdict == "cannot tell"
    assert row.margin_high == pytest.approx(0.1 + half)


def test_luck_that_two_models_share_cancels_in_their_lead():
    shared = np.full((3, 3), 0.005)
    assert policy([1.0, 1.0, 1.0], shared).recommend(cells(Q), 0.95)[0].verdict == "clear"


def test_equal_models_and_missing_evidence_cannot_be_told():
    assert policy([0.9, 1.1]).recommend(cells(Q), 0.95)[2].verdict == "cannot tell"
    blind = np.diag([np.inf, 0.0, 0.0])
    assert policy([1.0, 1.0], blind).recommend(cells(Q), 0.95)[1].verdict == "cannot tell"
    assert {row.verdict for row in policy([]).recommend(cells(Q), 0.95)} == {"cannot tell"}


def test_intervals_stay_where_values_and_leads_can_be():
    for row in policy([0.1, 3.0]).recommend(cells(Q), 0.95):
        assert 0.0 <= row.low <= row.high <= 1.0
        assert -1.0 <= row.margin_low <= row.margin_high <= 1.0


def test_runs_of_places_are_shortened():
    assert spans([7, 2, 3, 4]) == "2 to 4, 7"
    assert spans([1]) == "1"
