"""Large and hostile inputs end within bounds of time and memory, or are refused at once with the reason."""

from __future__ import annotations

import numpy as np

import deconfound as dc
from deconfound.reward.auto import family
from tests.support.results import demo_result, prepared_demo


def test_many_experiment_rows_are_solved_iteratively_with_the_same_answer(monkeypatch):
    """Above this number of rows ``auto`` factors no matrix of the experiment's size."""
    monkeypatch.setattr(family, "MAX_FACTORED_ROWS", 1)
    again = prepared_demo().evaluate("auto")
    expected = demo_result()
    np.testing.assert_allclose(again.values.estimate, expected.values.estimate, atol=1e-7)
    np.testing.assert_allclose(again.values.interval(), expected.values.interval(), atol=1e-7)
    assert again.attribution is not None
    np.testing.assert_allclose(again.attribution.shares, expected.attribution.shares, atol=1e-6)
    assert [row.model for row in again.recommendations] == [row.model for row in expected.recommendations]


def test_every_resample_of_the_experiment_is_solved_once(monkeypatch):
    """Recommendations and attribution use the same bootstrap refits."""
    solved = []
    solve = family.ConditionedGaussian.solve
    monkeypatch.setattr(family.ConditionedGaussian, "solve", lambda *args: solved.append(1) or solve(*args))
    prepared_demo().evaluate("auto")
    refits, folds, final = dc.EvaluationOptions().refits, 5, 1
    assert len(solved) == refits + folds + final
