"""The methods of an evaluation: efficient values with their fallbacks, and the paper's formula."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from benchmarks.short_answers import MODELS, ROWS, answer_tables
from deconfound.crossfit import CrossFit, cross_fit
from deconfound.design import FloatArray
from deconfound.findings import Finding
from deconfound.prepared_study import FOLDS
from deconfound.progress import no_progress
from deconfound.reward import Auto, Family
from deconfound.value import ScoredExperiment, Values
from deconfound.value.efficient import efficient
from deconfound.value_methods import all_propensities, estimate_values, score_experiment
from tests.support.results import demo_result, prepared_demo, small_demo
from tests.support.short_answers import answer_result, answer_study

VARYING = np.where(np.arange(ROWS)[:, None] % 2 == 0, [0.6, 0.2, 0.2], [0.2, 0.3, 0.5])  # (rows, models)


def cross_fitted(study: dc.Study) -> tuple[dc.PreparedStudy, CrossFit[Family], ScoredExperiment]:
    prepared = dc.prepare(study)
    fitted = cross_fit(prepared._training, Auto(), FOLDS, 0, None, no_progress, 2)
    return prepared, fitted, score_experiment(prepared.arrays, fitted)


def same_values(one: Values, other: Values) -> None:
    for name in ("estimate", "covariance", "df", "interval_center", "posterior_covariance", "reward_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.method == other.method


def same_answer(one: dc.Result, other: dc.Result) -> None:
    """To the last bit, in all that follows from the values."""
    same_values(one.values, other.values)
    same_values(one.direct, other.direct)
    assert one.recommendations == other.recommendations
    assert repr(one.log_bias) == repr(other.log_bias)
    assert repr(one.routing) == repr(other.routing)


def exclusion_finding(result: dc.Result) -> Finding:
    (finding,) = [each for each in result.findings if each.check == "exclusion"]
    return finding


def with_propensities(tables: dict[str, pa.Table], propensity: FloatArray, *, of_all: bool) -> dict[str, pa.Table]:
    """The experiment with the propensity of the assigned model, or with those of all models."""
    experiment = tables["experiment"]
    if of_all:
        for a, name in enumerate(MODELS):
            experiment = experiment.append_column(f"propensity_{name}", pa.array(propensity[:, a]))
    else:
        model = [MODELS.index(name) for name in experiment["model"].to_pylist()]
        experiment = experiment.append_column("propensity", pa.array(propensity[np.arange(ROWS), model]))
    return {**tables, "experiment": experiment}


def evaluate(tables: dict[str, pa.Table], method: str = "efficient", models: list[str] | None = None) -> dc.Result:
    options = dc.EvaluationOptions(method=method, refits=2)
    return dc.evaluate(dc.load(**tables, models=models), options=options)


# Efficient values


def test_shared_outputs_narrow_every_interval():
    result, plain = answer_result(), answer_result("doubly robust")
    assert result.efficient.used
    assert result.efficient.obstacle is None
    assert result.values.method == "efficient, shrunk"
    assert (result.values.standard_error < 0.95 * plain.values.standard_error).all()
    same_unshrunk = result.efficient.result.doubly_robust
    np.testing.assert_array_equal(same_unshrunk.estimate, plain.values.interval_center)
    assert 0.1 < result.efficient.narrowing() < 0.4
    assert 0.4 < result.efficient.overlap.shared_rows < 0.9
    assert exclusion_finding(result).verdict == "pass"
    assert exclusion_finding(result).p_value == result.efficient.result.exclusion.p_value


def test_efficient_values_equal_those_of_counts_by_hand():
    """Each model always writes the same answer, so P is the share of e_a among the models with the row's answer."""
    prepared, fitted, data = cross_fitted(answer_study())
    table = prepared.study.experiment.arrow
    replay = prepared.study.replay.arrow.to_pylist()
    answers = {(row["context_id"], row["model"]): row["output"] for row in replay}
    by_context = {row["context_id"]: row for row in table.to_pylist()}
    probability = np.empty((ROWS, 3))
    for j, context in enumerate(prepared.arrays.experiment.context):
        row = by_context[prepared.arrays.replay.contexts[context]]
        agrees = np.array([answers[row["context_id"], name] == row["output"] for name in MODELS], dtype=float)
        probability[j] = agrees / agrees.sum()
    expected = efficient(data, probability, predictions=fitted.predictions)
    found = estimate_values(data, fitted, "efficient", prepared._shared_outputs, data.q[:0])
    np.testing.assert_allclose(found.unbiased.estimate, expected.values.estimate, atol=1e-12)
    np.testing.assert_allclose(found.unbiased.covariance, expected.values.covariance, atol=1e-14)
    assert not np.allclose(found.decisive.estimate, found.unbiased.estimate)  # shrunk
    np.testing.assert_array_equal(found.decisive.center, found.unbiased.estimate)


def test_predictions_have_the_effect_of_each_model():
    """The demo's reward has an effect per model; without it in the predictions, efficient values would be biased."""
    prepared = prepared_demo()
    fitted = cross_fit(prepared._training, Auto(), FOLDS, 0, None, no_progress, 2)
    model = prepared.arrays.experiment.model
    np.testing.assert_allclose(fitted.predictions[np.arange(len(model)), model], fitted.prediction, rtol=1e-12)
    assert np.ptp(fitted.predictions, axis=1).max() > 0.01
    rows = prepared._training.at(fitted.final.surface_share).experiment
    for a in range(len(prepared.study.models)):
        own = fitted.final.reward.predict(replace(rows, model=np.full(len(rows), a)))
        assert np.corrcoef(own, fitted.predictions[:, a])[0, 1] > 0.8


def test_a_direct_effect_of_a_model_switches_shared_outputs_off():
    result, plain = (answer_result(method, direct_effect=-0.25) for method in ("efficient", "doubly robust"))
    assert result.efficient.obstacle == "exclusion rejected"
    assert result.efficient.narrowing() == 0
    assert not result.efficient.used
    finding = exclusion_finding(result)
    assert finding.verdict == "warn"
    assert finding.p_value < 0.05
    assert finding.statistic > 3
    assert plain.efficient is None  # nothing to suggest
    same_answer(result, plain)


def test_without_shared_outputs_the_answer_is_doubly_robust_to_the_last_bit():
    result, plain = (answer_result(method, unique=True) for method in ("efficient", "doubly robust"))
    assert result.efficient.obstacle == "no shared outputs"
    assert result.efficient.overlap.effective_models == 1
    assert exclusion_finding(result).verdict == "pass"
    assert exclusion_finding(result).p_value is None
    same_answer(result, plain)
    demo = dc.evaluate(prepared_demo().study, options=dc.EvaluationOptions(method="efficient"))
    same_answer(demo, demo_result())


@pytest.mark.slow
def test_propensities_that_vary_and_are_not_all_known_give_doubly_robust_values():
    tables = answer_tables(1, propensity=VARYING)
    unknown = with_propensities(tables, VARYING, of_all=False)
    result = evaluate(unknown)
    assert result.efficient.obstacle == "unknown propensities"
    assert result.efficient.result is None
    assert exclusion_finding(result).verdict == "warn"
    same_answer(result, evaluate(unknown, "doubly robust"))
    known = evaluate(with_propensities(tables, VARYING, of_all=True))
    assert known.efficient.used
    assert (known.values.standard_error < 0.97 * result.values.standard_error).all()


def test_declared_propensities_are_those_of_the_rows():
    study = dc.load(**with_propensities(answer_tables(1, propensity=VARYING), VARYING, of_all=True))
    prepared = dc.prepare(study)
    propensities = all_propensities(prepared.study, prepared.arrays)
    contexts = np.array([int(prepared.arrays.replay.contexts[c][1:]) for c in prepared.arrays.experiment.context])
    np.testing.assert_allclose(propensities, VARYING[contexts])


def test_a_compared_model_without_a_propensity_column_gives_doubly_robust_values():
    """It was replayed and never assigned, so no row shows its propensity."""
    pair = np.tile([0.4, 0.6, 0.0], (ROWS, 1))
    tables = with_propensities(answer_tables(2, propensity=pair), pair, of_all=True)
    tables["experiment"] = tables["experiment"].drop_columns(["propensity_cat"])
    result = evaluate(tables)
    assert result.models == MODELS
    assert result.efficient.obstacle == "unknown propensities"


def test_models_that_are_not_compared_count_for_the_sum_of_propensities():
    """Each of three models always has the same propensity, yet two of them exclude each other."""
    share = np.where(np.arange(ROWS)[:, None] % 2 == 0, [0.6, 0.4, 0.0], [0.6, 0.0, 0.4])
    tables = with_propensities(answer_tables(3, propensity=share), share, of_all=False)
    for compared in (["bee", "cat"], list(MODELS)):
        study = dc.load(**tables, models=compared)
        assert all_propensities(study, dc.prepare(study).arrays) is None
    even = np.tile([0.5, 0.3, 0.2], (ROWS, 1))
    study = dc.load(**with_propensities(answer_tables(3, propensity=even), even, of_all=False), models=["bee", "cat"])
    np.testing.assert_allclose(all_propensities(study, dc.prepare(study).arrays), np.tile([0.3, 0.2], (ROWS, 1)))


def test_some_models_can_be_left_out():
    result = evaluate(answer_tables(), models=["ant", "cat"])
    assert result.models == ("ant", "cat")
    assert result.efficient.used


@pytest.mark.slow
def test_other_populations_are_those_of_doubly_robust_values():
    """Efficient values average over the same contexts as doubly robust ones, with the same weights."""
    tables = answer_tables()
    half = tables["experiment"].take(np.arange(0, ROWS, 2))
    study = dc.load(**{**tables, "experiment": half})
    target = half.select(["context_id", "context"]).take(np.arange(0, ROWS // 2, 3))
    for population in ({"extra_contexts": True}, {"target": target}):
        options = [dc.EvaluationOptions(method=m, refits=2, **population) for m in ("efficient", "doubly robust")]
        result, plain = (dc.evaluate(study, options=each) for each in options)
        assert result.efficient.used
        np.testing.assert_array_equal(result.efficient.result.doubly_robust.estimate, plain.values.interval_center)
        assert (result.values.standard_error <= plain.values.standard_error * (1 + 1e-12)).all()
        assert result.efficient.narrowing() > 0.05


def test_doubly_robust_values_suggest_efficient_ones_where_outputs_are_shared():
    result = answer_result("doubly robust")
    assert not result.efficient.requested
    assert not result.efficient.used
    assert "exclusion" not in {finding.check for finding in result.findings}
    assert result.efficient.narrowing() == answer_result().efficient.narrowing()
    assert demo_result().efficient is None
    assert answer_result("direct").efficient is None


# The paper's formula


@pytest.fixture(scope="module")
def paper() -> dc.Result:
    return dc.evaluate(prepared_demo().study, options=dc.EvaluationOptions(method="paper"))


def test_paper_values_equal_the_formula_in_loops(paper):
    prepared = prepared_demo()
    fitted = cross_fit(prepared._training, Auto(), FOLDS, 0, None, no_progress)
    rows, count = prepared.arrays.experiment, len(paper.models)
    n = len(rows.outcome)
    influence = np.zeros((n, count))
    for j in range(n):
        for a in range(count):
            own = (rows.outcome[j] - fitted.prediction[j]) / rows.propensity[j] if rows.model[j] == a else 0.0
            influence[j, a] = fitted.q[j, a] + own
    np.testing.assert_allclose(paper.values.estimate, influence.mean(axis=0), atol=1e-10)
    assert len(np.unique(rows.context)) == n  # every row is a cluster of its own
    # The variances of ``auto`` are searched for again, and the search may end a rounding error away.
    np.testing.assert_allclose(paper.values.covariance, np.cov(influence.T) / n, atol=1e-10)
    assert paper.values.method == "paper"
    assert paper.values.shrinkage_fraction is None


def test_everything_follows_paper_values(paper):
    assert paper.efficient is None
    assert [row["model"] for row in paper.values.table()] == list(paper.values.ranking())
    expected = paper.raw_log.estimate - paper.values.estimate
    np.testing.assert_allclose([bias.estimate for bias in paper.log_bias.biases], expected)
    np.testing.assert_array_equal(paper.policy.covariance, paper.values.covariance)
    np.testing.assert_array_equal(paper.direct.center, paper.values.estimate)
    assert not np.allclose(paper.values.estimate, demo_result().values.estimate)


def test_the_paper_has_no_formula_for_other_contexts():
    contexts = small_demo().experiment.select(["context_id", "context"])
    for wrong in ({"target": contexts}, {"extra_contexts": True}):
        with pytest.raises(dc.UsageError, match="method paper"):
            dc.EvaluationOptions(method="paper", **wrong)
