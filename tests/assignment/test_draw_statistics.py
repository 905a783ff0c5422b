"""The hash draws as independent uniform numbers would: within an experiment, between experiments, for the share.

There is no chance in these tests: ids and names are fixed. Each statistic is what independent draws would make a
chi-square variable, and must lie between its quantiles 1e-4 and 1 - 1e-4. A proper hash fails one of the eight with
probability 8 * 2e-4 = 0.0016, once and for all; too even is as wrong as too uneven.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import chi2

from deconfound.assignment import AssignmentRule
from deconfound.assignment.unit_hash import KeyedHash

SHARES = {"cedar": 0.5, "elm": 0.2, "oak": 0.3}
NAMES = [f"prices-{number}" for number in range(30)]  # close to each other, as rounds of an experiment are
IDS = {
    "sequential": [str(number) for number in range(3_000)],
    "users": [f"user-{number:08}@example.org" for number in range(3_000)],
    "one letter": ["x" * length for length in range(1, 3_001)],
}
TAIL = 1e-4


def is_plausible(statistic: float, df: int) -> bool:
    low, high = chi2.ppf((TAIL, 1 - TAIL), df)
    return bool(low < statistic < high)


def contingency(table: np.ndarray) -> float:
    """Pearson's statistic of independence, with (rows - 1) (columns - 1) degrees of freedom."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def drawn(name: str, ids: Sequence[str], share: float = 1.0) -> np.ndarray:
    rule = AssignmentRule.from_models(name, SHARES, share)
    return np.array([rule.models.index(rule.draw(unit).model) for unit in ids])


@pytest.mark.parametrize("kind", IDS)
def test_numbers_are_uniform_over_ids_and_names(kind):
    """64 bins of 3,000 numbers under each of 30 names: the statistics add up to 30 * 63 degrees of freedom."""
    total = 0.0
    for name in NAMES:
        keyed = KeyedHash.of_experiment("model", name)
        counts = np.bincount([int(64 * keyed.uniform(unit.encode())) for unit in IDS[kind]], minlength=64)
        total += float(((counts - len(IDS[kind]) / 64) ** 2 / (len(IDS[kind]) / 64)).sum())
    assert is_plausible(total, 63 * len(NAMES))


def test_models_have_the_shares_of_their_propensities():
    """Three models: two degrees of freedom for each name."""
    expected = 3_000 * np.array([0.5, 0.2, 0.3])
    counts = [np.bincount(drawn(name, IDS["users"]), minlength=3) for name in NAMES]
    total = sum(float(((count - expected) ** 2 / expected).sum()) for count in counts)
    assert is_plausible(total, 2 * len(NAMES))


@pytest.mark.parametrize("kind", ["sequential", "users"])
def test_experiments_draw_independently_of_each_other(kind):
    """Neighbouring names: 15 pairs with 2 * 2 degrees of freedom each."""
    models = [drawn(name, IDS[kind]) for name in NAMES]
    tables = [
        np.bincount(3 * first + second, minlength=9).reshape(3, 3)
        for first, second in zip(models[::2], models[1::2], strict=True)
    ]
    assert is_plausible(sum(map(contingency, tables)), 4 * len(tables))


def test_the_share_says_nothing_about_the_model():
    """Taking part and model: one times two degrees of freedom for each of 30 names."""
    total = 0.0
    for name in NAMES:
        rule = AssignmentRule.from_models(name, SHARES, 0.3)
        takes_part = np.array([rule.takes_part(unit) for unit in IDS["users"]])
        total += contingency(np.bincount(3 * takes_part + drawn(name, IDS["users"]), minlength=6).reshape(2, 3))
    assert is_plausible(total, 2 * len(NAMES))


def test_the_share_of_units_is_the_one_that_was_asked_for():
    """Binomial counts, as one degree of freedom for each name."""
    counts = [sum(map(AssignmentRule.from_models(name, SHARES, 0.3).takes_part, IDS["users"])) for name in NAMES]
    total = sum((count - 900) ** 2 / (3_000 * 0.3 * 0.7) for count in counts)
    assert is_plausible(total, len(NAMES))
