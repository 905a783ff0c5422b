"""False alarms and power of the checks of A1 and A3, on the studies of ``benchmarks/checks_*.py``.

At a nominal 5 % the alarms in 30 clean studies exceed 6 with probability 0.0006, and in 1,000 they exceed 72 with
probability 0.001. With a power of 0.9 fewer than 6 of 10 violated studies are seen with probability 0.0016, fewer than
166 of 200 with probability 0.0008. Seeds are fixed, so a failure is a change of the code.
"""

from __future__ import annotations

import pytest

from benchmarks import checks_consistency, checks_randomization
from benchmarks.checks import alarms

CASES = {case.name: case for module in (checks_randomization, checks_consistency) for case in module.cases()}
SLOW = [name for name in CASES if "by context" in name]  # a sixth of a second a study


@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_a_check_is_silent_on_clean_studies_and_sees_the_violation(name):
    assert alarms(CASES[name].clean, 30, seed=11) <= 6 / 30
    assert alarms(CASES[name].violated, 10, seed=12) >= 6 / 10


@pytest.mark.parametrize("name", SLOW)
def test_contexts_that_decide_the_model_are_seen(name):
    """Of five violated studies at least three, which fails with probability 0.009 at a power of 0.9."""
    assert alarms(CASES[name].violated, 5, seed=12) >= 3 / 5


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_false_alarms_and_power_are_what_the_table_says(name):
    assert alarms(CASES[name].clean, 1000, seed=13) <= 0.072
    assert alarms(CASES[name].violated, 200, seed=14) >= 0.83
