"""Propensities of the next batch, and the rows that a decision is expected to need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.monitor_studies import Growing, Rows
from deconfound.monitoring.next_batch import Outlook, round_propensities, without
from deconfound.monitoring.sequences import Sequences
from deconfound.monitoring.stopping import Verdict
from deconfound.planning import inputs_from_pilot
from deconfound.value import Values, tuned_doubly_robust

EQUAL = np.full(4, 0.25)
HORIZON = 4_000


def look(*values: float, seed: int = 0) -> tuple[Outlook, Values]:
    data = Rows(Growing(values, 400, 1, yes_no=False), np.random.default_rng(seed)).add(EQUAL)
    estimated = tuned_doubly_robust(data)
    lead = Sequences.from_values(estimated, 0.95, 0.1).lead
    verdict = Verdict.from_lead(estimated.estimate, lead, 0.0, 0.1)
    return Outlook(inputs_from_pilot(data), verdict, 400, HORIZON, 0.05, 0.0), estimated


def test_rows_go_to_the_models_that_may_be_best_and_no_model_gets_none():
    outlook, _ = look(0.3, 0.6, 0.6, 0.3)
    share = outlook.propensity(EQUAL)
    assert set(outlook.verdict.contenders) == {1, 2}
    assert share.sum() == pytest.approx(1.0)
    assert share[[1, 2]].min() > 0.4
    assert share.min() == pytest.approx(0.2 / 4)


def test_propensities_stay_where_others_gain_little():
    outlook, _ = look(0.3, 0.6, 0.6, 0.3)
    proposed = outlook.propensity(EQUAL)
    close = 0.9 * proposed + 0.1 * EQUAL
    assert not np.array_equal(proposed, close)
    assert np.array_equal(outlook.propensity(close), close)


def test_a_dropped_model_gets_nothing_and_the_others_at_least_the_minimum():
    outlook, _ = look(0.3, 0.6, 0.6, 0.3)
    share = outlook.propensity(EQUAL, dropped=(0,))
    assert share[0] == 0.0
    assert share[1:].min() == pytest.approx(0.2 / 3, abs=1e-4)
    assert share.sum() == pytest.approx(1.0)


def test_smaller_differences_need_more_rows_and_equal_models_end_at_the_horizon():
    wide, narrow = look(0.5, 0.5, 0.58, 0.5), look(0.5, 0.5, 0.55, 0.5)
    rows = [outlook.expected_rows(values, EQUAL) for outlook, values in (wide, narrow)]
    assert 0 < rows[0] < rows[1] < HORIZON
    outlook, values = look(0.5, 0.5, 0.5, 0.5, seed=2)
    assert outlook.expected_rows(values, EQUAL) is None


def test_a_tolerance_shortens_the_wait_and_a_stopped_experiment_needs_no_rows():
    outlook, values = look(0.5, 0.5, 0.55, 0.5)
    tolerant = replace(outlook, tolerance=0.03)
    assert tolerant.expected_rows(values, EQUAL) < outlook.expected_rows(values, EQUAL)
    done = replace(outlook, verdict=replace(outlook.verdict, reason="best model"))
    assert done.expected_rows(values, EQUAL) == 0
    assert replace(outlook, rows=HORIZON).expected_rows(values, EQUAL) is None


def test_rounded_propensities_sum_to_one():
    share = round_propensities(np.array([1, 1, 1]) / 3)
    assert share.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.round(share, 4) == share).all()
    assert without(np.array([0.5, 0.3, 0.2]), [0]).tolist() == [0.0, 0.6, 0.4]
