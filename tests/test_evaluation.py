"""An evaluation as a whole: what changes its numbers, what does not, and what each option does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deconfound as dc
from deconfound.crossfit import CrossFit, cross_fit
from deconfound.decide.calibration import CrossFittedPolicy, SlopeFit
from deconfound.demo import Demo
from deconfound.design import group_folds
from deconfound.findings import Notice
from deconfound.prepared_study import FOLDS
from deconfound.progress import no_progress
from deconfound.reward import FAMILIES, Auto, ExpOnly, Family
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.surface_share import StudyTrainingData
from deconfound.value import ScoredExperiment
from deconfound.value.shrinkage import MAX_SHIFT_SE
from deconfound.value_methods import score_experiment
from tests.support.results import demo_result, load_demo, prepared_demo, small_demo

CLOSE = 1e-8  # sums in another order differ in the last digits; fits repeat them through a solve
FEW_EXAMPLES = settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TABLES = ("log", "experiment", "replay")


@pytest.fixture(scope="module")
def demo() -> Demo:
    return small_demo()


@pytest.fixture(scope="module")
def study() -> dc.Study:
    return prepared_demo().study


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


def numbers(result: dc.Result) -> np.ndarray:
    q = [row.q for row in result.recommendations]
    parts = (result.values.estimate, result.values.covariance.ravel(), result.direct.estimate, result.raw_log.estimate)
    return np.concatenate([*parts, q])


def verdicts(result: dc.Result) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in result.findings}


def change_column(table: pa.Table, name: str, change: Callable[[pa.ChunkedArray], pa.Array]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, change(table[name]))


def cross_fit_demo(family: Family) -> tuple[CrossFit[Family], ScoredExperiment]:
    """What the evaluation of the demo does first, done separately."""
    arrays = prepared_demo().arrays
    fitted = cross_fit(StudyTrainingData(arrays), family, FOLDS, 0, None, no_progress)
    return fitted, score_experiment(arrays, fitted)


# Families


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_every_family_gives_intervals_in_the_unit_range_and_recommends_for_every_context(demo, family):
    result = demo_result(family)
    interval = result.values.interval()
    assert result.family.estimator.name == family
    assert ((interval >= 0) & (interval <= 1)).all()
    assert (interval[:, 0] <= interval[:, 1]).all()
    assert {row.model for row in result.recommendations} <= set(result.models)
    assert len(result.recommendations) == len(set(demo.replay["context_id"].to_pylist()))


def test_families_evaluated_on_one_prepared_study_or_alone_agree(study, result):
    alone = dc.evaluate(study)
    np.testing.assert_array_equal(alone.values.estimate, result.values.estimate)
    prepared = dc.prepare(study)
    prepared.evaluate("exp-only")
    np.testing.assert_array_equal(prepared.evaluate("auto").values.estimate, result.values.estimate)


def test_hyperparameters_of_a_family_object_are_used():
    assert prepared_demo().evaluate(ExpOnly(penalty=7.0)).family.estimator == ExpOnly(penalty=7.0)


def test_a_family_that_ignores_the_experiment_is_clear_on_no_context():
    assert {row.verdict for row in demo_result("obs-only").recommendations} == {"cannot tell"}


def test_only_auto_has_an_attribution_and_its_shares_sum_to_one(result):
    attribution = result.attribution
    assert attribution is not None
    assert attribution.shares.shape == (len(SOURCES), len(FEATURE_VIEWS))
    assert attribution.shares.sum() == pytest.approx(1.0)
    assert (attribution.bootstrap_sd >= 0).all()
    assert attribution.bootstrap_sd.max() > 0
    assert demo_result("cvci").attribution is None


@pytest.mark.parametrize("family", ["auto", "cvci"])
def test_every_family_shrinks_point_estimates_and_leaves_intervals_around_the_unbiased_ones(family):
    values = demo_result(family).values
    assert values.interval_center is not None
    assert 0 < values.shrinkage_fraction <= 1
    assert (np.abs(values.estimate - values.interval_center) <= MAX_SHIFT_SE * values.standard_error + 1e-9).all()
    unbiased = replace(values, estimate=values.center, interval_center=None)
    (low, high), (unbiased_low, unbiased_high) = values.interval().T, unbiased.interval().T
    np.testing.assert_allclose(low, np.minimum(unbiased_low, values.estimate))
    np.testing.assert_allclose(high, np.maximum(unbiased_high, values.estimate))


def test_auto_samples_a_log_that_is_too_long_and_reports_it(study, monkeypatch):
    monkeypatch.setattr(Auto, "max_log_rows", 100)
    prepared = dc.prepare(study)
    result = prepared.evaluate("auto")
    (finding,) = (each for each in result.findings if each.check == "long log")
    assert finding.verdict == "pass"
    assert finding.message in " ".join(result.summary(verbose=True).split())
    assert isinstance(finding.details, Notice)
    assert f"100 of the log's {len(prepared.arrays.log.weight)} " in finding.details.message
    assert "long log" not in verdicts(prepared.evaluate("cvci"))


# What does not change the numbers, and what does


@FEW_EXAMPLES
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(demo, result, seed):
    rng = np.random.default_rng(seed)
    shuffled = {name: getattr(demo, name).take(rng.permutation(getattr(demo, name).num_rows)) for name in TABLES}
    again = dc.evaluate(load_demo(demo, **shuffled))
    np.testing.assert_allclose(numbers(again), numbers(result), atol=CLOSE)
    assert [row.model for row in again.recommendations] == [row.model for row in result.recommendations]


@pytest.mark.slow
@FEW_EXAMPLES
@given(order=st.permutations(range(6)))
def test_renaming_the_models_renames_the_values(demo, result, order):
    """Model i gets the name of model order[i]; its value must follow it."""
    names = dict(zip(demo.models, [demo.models[i] for i in order], strict=True))

    def rename(column: pa.ChunkedArray) -> pa.Array:
        return pa.array([names[model] for model in column.to_pylist()])

    renamed = {name: change_column(getattr(demo, name), "model", rename) for name in TABLES}
    again = dc.evaluate(load_demo(demo, **renamed)).values
    for old, new in names.items():
        before, after = result.values.models.index(old), again.models.index(new)
        assert again.estimate[after] == pytest.approx(result.values.estimate[before], abs=CLOSE)
        assert again.covariance[after, after] == pytest.approx(result.values.covariance[before, before], abs=CLOSE)


def test_doubling_every_log_row_does_not_change_a_family_that_pools_means(demo):
    doubled = dc.evaluate(load_demo(demo, log=pa.concat_tables([demo.log, demo.log])), "cvci")
    np.testing.assert_allclose(doubled.values.estimate, demo_result("cvci").values.estimate, atol=CLOSE)


def test_repeating_every_replay_draw_changes_nothing(demo, result):
    second = change_column(demo.replay, "draw", lambda column: pc.add(column, 1))
    again = dc.evaluate(load_demo(demo, replay=pa.concat_tables([demo.replay, second])))
    np.testing.assert_allclose(again.values.estimate, result.values.estimate, atol=CLOSE)


def test_another_seed_gives_other_folds(study, result):
    assert not np.array_equal(dc.evaluate(study, seed=1).values.estimate, result.values.estimate)


def test_models_left_out_still_contribute_rows_and_propensities(demo, result):
    """With a third of the models left out, the others' unbiased values move by less than their standard errors."""
    compared = demo.models[:4]
    part = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay, models=compared))
    assert part.models == compared
    assert part.counts.experiment.rows == result.counts.experiment.rows
    moved = np.abs(part.values.interval_center - result.values.interval_center[:4])
    assert (moved < result.values.standard_error[:4]).all()


# Values, routing and bias


def test_every_assumption_is_among_the_findings(result):
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in result.findings}


def test_empty_replays_fail_the_check_of_replay_fidelity(demo):
    empty = change_column(demo.replay, "output", lambda column: pa.array([""] * len(column)))
    broken = dc.evaluate(load_demo(demo, replay=empty))
    assert "A2" in {finding.assumption for finding in broken.findings if finding.verdict == "fail"}


def test_routing_evaluates_the_recommended_policy(study, result):
    """It follows the calibrated reward; the uncalibrated one would choose other models here."""
    _, data = cross_fit_demo(Auto())
    folds = group_folds(prepared_demo().arrays.experiment.fold_group, FOLDS, 0)
    calibrated, uncalibrated = CrossFittedPolicy.fit(data, folds).q, data.q
    shares = [np.bincount(q.argmax(axis=1), minlength=len(study.models)) / len(q) for q in (calibrated, uncalibrated)]
    np.testing.assert_allclose(result.routing.model_shares, shares[0])
    assert not np.allclose(shares[0], shares[1])


def test_decisions_are_calibrated_on_rewards_that_have_not_seen_the_context(demo):
    """The log has the experiment's contexts, too: values use what it shows about them, decisions do not."""
    names = [name for name in demo.log.column_names if name in demo.experiment.column_names]
    log = pa.concat_tables([demo.log.select(names), demo.experiment.select(names)])
    prepared = dc.prepare(load_demo(demo, log=log), options=dc.EvaluationOptions(refits=2))
    fitted = cross_fit(prepared._training, Auto(), FOLDS, 0, None, no_progress, 2)
    data = score_experiment(prepared.arrays, fitted)
    unseen, seen = (
        SlopeFit.from_experiment(each, each.q.mean(axis=0)) for each in (replace(data, q=fitted.q_unseen), data)
    )
    assert abs(unseen.standard_error - seen.standard_error) > 0.01
    result = prepared.evaluate("auto")
    assert result.policy.calibration.slope == pytest.approx(unseen.shrunken_slope)
    assert result.policy.calibration.slope_standard_error == pytest.approx(unseen.standard_error)
    folds = group_folds(prepared.arrays.experiment.fold_group, FOLDS, 0)
    picked = CrossFittedPolicy.fit(replace(data, q=fitted.q_unseen), folds).q.argmax(axis=1)
    expected = np.bincount(picked, minlength=len(result.models)) / len(picked)
    np.testing.assert_allclose(result.routing.model_shares, expected)


def test_direct_values_have_the_intervals_of_the_unbiased_ones(study, result):
    """A reward fitted to the log alone does not vary between bootstrap experiments, and is still biased."""
    logged = dc.evaluate(study, "obs-only", options=dc.EvaluationOptions(method="direct"))
    assert logged.values.method == result.direct.method == "direct"
    np.testing.assert_array_equal(logged.values.estimate, demo_result("obs-only").direct.estimate)
    np.testing.assert_array_equal(logged.values.center, demo_result("obs-only").values.center)
    interval, unbiased = logged.values.interval(), demo_result("obs-only").values.interval()
    inside = (interval[:, 0] <= logged.values.estimate) & (logged.values.estimate <= interval[:, 1])
    assert inside.all()
    assert ((interval[:, 1] - interval[:, 0]) > 0.7 * (unbiased[:, 1] - unbiased[:, 0])).all()


def test_users_of_the_log_widen_the_intervals_of_its_bias(demo):
    """Outcomes that depend on the user alone: the effective number of rows is the number of users."""
    users = np.arange(demo.log.num_rows) % 30
    effect = np.random.default_rng(0).random(30)[users]
    log = demo.log.drop_columns([name for name in ("cluster", "outcome") if name in demo.log.column_names])
    log = log.append_column("outcome", pa.array(effect))
    clustered_log = log.append_column("cluster", pa.array([f"user {user}" for user in users]))
    plain, clustered = (dc.evaluate(load_demo(demo, log=each)) for each in (log, clustered_log))
    assert (clustered.raw_log.standard_error > 1.15 * plain.raw_log.standard_error).all()
    widths = [[bias.high - bias.low for bias in each.log_bias.biases] for each in (clustered, plain)]
    assert (np.array(widths[0]) > widths[1]).all()


def test_contexts_without_every_model_are_left_out_and_change_no_other_recommendation(demo, result):
    """Three replay rows are missing; their contexts are in the experiment."""
    gaps = list(range(0, 90, 30))
    replay = demo.replay.take([row for row in range(demo.replay.num_rows) if row not in gaps])
    tables = {"log": demo.log, "experiment": demo.experiment, "replay": replay}
    partial = dc.evaluate(dc.load(**tables, incomplete="drop"))
    lacking = {demo.replay["context_id"][row].as_py() for row in gaps}
    assert lacking.isdisjoint(row.context_id for row in partial.recommendations)
    assert len(partial.recommendations) == len(result.recommendations) - len(lacking)
    assert np.isfinite([(row.q, row.margin) for row in partial.recommendations]).all()
    assert np.isfinite(partial.policy.calibration.mean_q).all()
    assert partial.recommendations[0].model == partial.values.ranking()[0]


# Contexts beyond the experiment


@pytest.fixture(scope="module")
def half_experiment(demo: Demo) -> pa.Table:
    """Every other row, so that half of the replayed contexts are outside the experiment."""
    return demo.experiment.take(np.arange(0, demo.experiment.num_rows, 2))


@pytest.fixture(scope="module")
def outside(demo: Demo, half_experiment: pa.Table) -> pa.ChunkedArray:
    """Whether each replay row's context is outside that half of the experiment."""
    return pc.invert(pc.is_in(demo.replay["context_id"], value_set=half_experiment["context_id"].combine_chunks()))


@pytest.fixture(scope="module")
def narrow(demo: Demo, half_experiment: pa.Table, outside: pa.ChunkedArray) -> dc.Result:
    """Half of the experiment, with a replay of its own contexts only."""
    return dc.evaluate(load_demo(demo, experiment=half_experiment, replay=demo.replay.filter(pc.invert(outside))))


def test_extra_contexts_are_averaged_in_on_request_alone(demo, half_experiment, narrow):
    study = load_demo(demo, experiment=half_experiment)
    default, wide = dc.evaluate(study), dc.evaluate(study, options=dc.EvaluationOptions(extra_contexts=True))
    assert verdicts(wide)["contexts of the replay"] == "pass"
    assert "contexts of the replay" not in verdicts(narrow)
    np.testing.assert_allclose(default.values.estimate, narrow.values.estimate, rtol=1e-9)
    # The demo's reward predicts little, and raised variances are taken at the estimates, which move.
    assert wide.values.standard_error.mean() < 1.005 * default.values.standard_error.mean()
    assert np.abs(wide.direct.estimate - default.direct.estimate).max() > 1e-4
    outside, own = len(study.replay.unique_values("context_id")), half_experiment.num_rows
    assert (default.population.kind, default.population.unused_extra_contexts) == ("experiment", outside - own)
    assert (wide.population.kind, wide.population.contexts) == ("experiment and extra contexts", outside)
    moved = wide.policy.calibration.mean_q - default.policy.calibration.mean_q
    assert np.abs(moved).max() > 1e-3  # mean q is over the contexts that the values are about


def test_extra_contexts_of_another_population_get_a_warning_and_change_nothing(demo, half_experiment, outside, narrow):
    def disguise(column: pa.ChunkedArray) -> pa.Array:
        return pc.if_else(outside, pc.binary_join_element_wise("qqq zzz", column, " "), column)

    replay = change_column(demo.replay, "context", disguise)
    other = dc.evaluate(load_demo(demo, experiment=half_experiment, replay=replay))
    assert verdicts(other)["contexts of the replay"] == "warn"
    np.testing.assert_allclose(other.values.standard_error, narrow.values.standard_error, rtol=1e-9)
    np.testing.assert_allclose(other.values.estimate, narrow.values.estimate, rtol=1e-9)
    np.testing.assert_allclose(other.policy.calibration.mean_q, narrow.policy.calibration.mean_q, rtol=1e-9)
