"""Plan inputs from a log and a replay: discounts, sparse models, short logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from deconfound.errors import DataError, EvidenceError
from deconfound.planning import LogAndReplay, load_log_and_replay, plan
from deconfound.planning.from_log import (
    DIFFERENCE_RETENTION,
    EXPLAINED_RETENTION,
    HeldOutLog,
    inputs_from_held_out_log,
)
from tests.support.checking import make_study
from tests.support.plan_inputs import simulate_pilot


def held_out_log(rows: int = 40_000) -> HeldOutLog:
    pilot = simulate_pilot(rows)
    return HeldOutLog(pilot.model, pilot.outcome, pilot.prediction, pilot.q)


def test_half_of_what_the_log_shows_is_expected_to_last():
    """The reward explains 0.01 of 0.05, and means differ by 0.05; half of each is retained."""
    inputs = inputs_from_held_out_log(("a", "b", "c"), held_out_log())
    r2 = 1 - inputs.residual_variance / inputs.outcome_variance
    assert r2 == pytest.approx(np.full(3, EXPLAINED_RETENTION * 0.2), rel=0.1)
    assert np.diag(inputs.context_covariance) == pytest.approx(np.full(3, EXPLAINED_RETENTION * 0.01), rel=0.1)
    assert np.diff(inputs.prior.mean) == pytest.approx(np.full(2, DIFFERENCE_RETENTION * 0.05), rel=0.1)
    value_variance = DIFFERENCE_RETENTION * (1 - DIFFERENCE_RETENTION) * 0.05**2
    assert np.diag(inputs.prior.covariance) == pytest.approx(np.full(3, value_variance), rel=0.15)
    low, high = inputs.variance_factor_interval
    assert low < 0.7
    assert high > 1.4


def test_a_reward_that_predicts_nothing_explains_nothing():
    log = held_out_log(3_000)
    opposite = replace(log, prediction=1 - log.prediction)
    inputs = inputs_from_held_out_log(("a", "b", "c"), opposite)
    assert not inputs.reward_helps
    assert (inputs.context_covariance == 0).all()


def test_a_model_without_log_rows_has_the_most_uncertain_value():
    log = held_out_log(3_000)
    with_new = replace(log, q=np.column_stack([log.q, log.q[:, 0]]))
    inputs = inputs_from_held_out_log(("a", "b", "c", "d"), with_new)
    assert inputs.prior.covariance[3, 3] > inputs.prior.covariance[0, 0]
    assert inputs.sparse_models == ("d",)
    assert inputs.rows_per_model[3] == 0
    assert np.isfinite(plan(inputs).at(20).widths).all()


def test_constant_outcomes_are_refused():
    constant = HeldOutLog(np.array([0, 1] * 10), np.ones(20), np.ones(20), np.ones((3, 2)))
    with pytest.raises(EvidenceError, match="constant"):
        inputs_from_held_out_log(("a", "b"), constant)


def tables(outcomes: list[float]) -> dict[str, pa.Table]:
    logged = [
        {"context": f"case {i}", "model": "ant" if i % 2 else "bee", "output": f"word {i}", "outcome": y}
        for i, y in enumerate(outcomes)
    ]
    replayed = [{"context": "new", "model": name, "output": name} for name in ("ant", "bee")]
    return {"log": pa.Table.from_pylist(logged), "replay": pa.Table.from_pylist(replayed)}


def test_twelve_log_rows_give_a_plan_with_a_wide_range():
    short = plan(load_log_and_replay(**tables([0.0, 1.0, 0.5, 0.25, 0.7, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8, 0.4])))
    assert np.isfinite(short.at(20).widths).all()
    assert short.inputs.source == "log"
    assert short.inputs.variance_factor_interval[0] < 1 / 1.5


@pytest.mark.parametrize("outcomes", [[0.0, 1.0, 1.0], [1.0] * 40])
def test_a_log_with_three_rows_or_constant_outcomes_is_refused(outcomes):
    """Two rows that happen to be equal would promise an experiment of a dozen rows."""
    with pytest.raises(EvidenceError):
        plan(load_log_and_replay(**tables(outcomes)))


def test_invalid_tables_are_refused_with_the_reason():
    valid = tables([0.0, 1.0, 1.0])
    with pytest.raises(DataError, match="ant"):
        load_log_and_replay(log=valid["log"], replay=valid["replay"].slice(0, 1))
    out_of_range = tables([0.0, 5.0])["log"]
    with pytest.raises(DataError, match="5"):
        load_log_and_replay(log=out_of_range, replay=valid["replay"])
    scaled = load_log_and_replay(log=out_of_range, replay=valid["replay"], outcome_range=(0, 5))
    assert isinstance(scaled, LogAndReplay)


def test_without_confounding_a_pilot_and_the_log_give_similar_plans():
    """The simulated study has no confounding; the log's reported range allows a factor of three."""
    study = make_study(seed=4)
    from_pilot, from_log = plan(study), plan(LogAndReplay(study.log, study.replay, study.models))
    rows = [one.rows_for(width=0.2).expected.total_rows for one in (from_pilot, from_log)]
    assert 1 / 3 < rows[0] / rows[1] < 3
    assert (from_pilot.inputs.source, from_log.inputs.source) == ("pilot", "log")
