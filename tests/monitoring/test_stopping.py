"""The stopping rule on given bounds."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.monitoring.stopping import Verdict

ESTIMATE = np.array([0.5, 0.7, 0.6])


def bounds(**leads: float) -> np.ndarray:
    """Lower bounds of differences between models a, b and c: ba=0.1 is that of b - a; others are -0.3."""
    lead = np.full((3, 3), -0.3)
    np.fill_diagonal(lead, 0.0)
    for pair, bound in leads.items():
        lead["abc".index(pair[0]), "abc".index(pair[1])] = bound
    return lead


@pytest.mark.parametrize(
    ("leads", "tolerance", "share", "reason", "contenders", "choice"),
    [
        ({}, 0.0, 0.5, "", (0, 1, 2), 1),
        ({"ba": 0.1}, 0.0, 0.5, "", (1, 2), 1),
        ({"ba": 0.1, "bc": 0.01}, 0.0, 0.5, "best model", (1,), 1),
        ({"ba": 0.1, "bc": 0.01}, 0.0, 1.5, "best model", (1,), 1),
        ({"ba": 0.1, "bc": -0.05}, 0.05, 0.5, "within tolerance", (1, 2), 1),
        ({"ba": 0.1, "bc": -0.06}, 0.05, 0.5, "", (1, 2), 1),
        ({"ba": -0.06, "bc": 0.1}, 0.05, 0.5, "", (0, 1), 1),
        ({"ca": 0.1, "cb": -0.01}, 0.05, 0.5, "within tolerance", (1, 2), 2),
        ({"ba": 0.1}, 0.0, 1.0, "horizon", (1, 2), 1),
    ],
)
def test_the_rule(leads, tolerance, share, reason, contenders, choice):
    verdict = Verdict.from_lead(ESTIMATE, bounds(**leads), tolerance, share)
    assert (verdict.reason, verdict.contenders, verdict.choice) == (reason, contenders, choice)
    assert verdict.stop == bool(reason)


def test_a_ruled_out_model_does_not_count_for_the_regret():
    verdict = Verdict.from_lead(ESTIMATE, bounds(ca=0.1, bc=-0.2), 0.0, 0.5)
    assert verdict.max_regret == 0.2


def test_a_model_without_an_estimate_never_leads():
    assert Verdict.from_lead(np.array([np.nan, 0.1, 0.0]), bounds(), 0.0, 0.5).leader == 1
