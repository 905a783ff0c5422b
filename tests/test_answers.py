"""What an answer says beside the values: what it is made of, what routing is worth, how far the log can be believed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.crossfit import BOOTSTRAP_REFITS, cross_fit
from deconfound.decide.calibration import cross_fitted_calibrated_q
from deconfound.decide.routing import routing_gain
from deconfound.demo import Demo, Sizes, make_demo
from deconfound.design import group_folds
from deconfound.evaluation import FOLDS
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.report.attribution_text import NEGLIGIBLE_LOG_BIAS, explain_log_weight
from deconfound.report.text import comparison
from deconfound.reward import Auto, ObsOnly
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.value import ScoredExperiment, direct, tuned_doubly_robust, with_reward_bias

SMALL = Sizes(log_contexts=80, log_repeats=3, log_people=40, experiment_contexts=96, experiment_people=96, draws=1)


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_demo(5, sizes=SMALL)


@pytest.fixture(scope="module")
def study(demo: Demo) -> dc.Study:
    return dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)


@pytest.fixture(scope="module")
def result(study: dc.Study) -> dc.Result:
    return dc.evaluate(study)


def half(demo: Demo) -> pa.Table:
    """Every other row of the experiment, so that half of the replayed contexts lie beyond it."""
    return demo.experiment.take(np.arange(0, demo.experiment.num_rows, 2))


def test_shares_sum_to_one_and_have_a_bootstrap_sd(result):
    attribution = result.attribution
    assert attribution is not None
    assert attribution.shares.shape == (len(SOURCES), len(FEATURE_VIEWS))
    assert attribution.shares.sum() == pytest.approx(1.0)
    assert (attribution.bootstrap_sd >= 0).all()
    assert attribution.bootstrap_sd.max() > 0


def test_only_auto_has_an_attribution(study):
    assert dc.evaluate(study, family="cvci").attribution is None


def test_a_log_that_is_too_long_is_sampled_and_the_result_says_so(study, monkeypatch):
    monkeypatch.setattr(Auto, "max_log_rows", 100)
    told = {finding.check: finding.message for finding in dc.evaluate(study).findings}
    assert "a random 100 of the log's 2" in told["long log"]
    assert "long log" not in {finding.check for finding in dc.evaluate(study, family="cvci").findings}


def test_the_explanation_of_the_log_bias_is_in_text_and_json(result):
    """The demo's log is confounded through the choice of the model."""
    attribution = result.attribution
    assert attribution.log_bias_sd > NEGLIGIBLE_LOG_BIAS
    assert attribution.variance_components.bias_model > attribution.variance_components.bias_proxies
    assert explain_log_weight(attribution) in result.summary()
    assert result.document()["attribution"]["explanation"] == explain_log_weight(attribution)


def test_point_estimates_lean_and_intervals_do_not(result, study):
    values = result.values
    assert values.interval_center is not None
    assert 0 <= values.shrinkage_fraction <= 1
    assert (np.abs(values.estimate - values.interval_center) <= values.standard_error * (1 + 1e-9)).all()
    low, high = values.interval().T
    np.testing.assert_allclose((low + high) / 2, values.interval_center, atol=1e-9)
    assert dc.evaluate(study, family="cvci").values.interval_center is None


def test_log_bias_and_routing_are_in_text_and_document(result):
    text, document = result.summary(), result.document()
    assert result.log_bias.summary in text
    assert result.routing.summary in text
    assert document["log_bias"]["verdict"] == result.log_bias.verdict
    assert document["routing"]["verdict"] == result.routing.verdict
    assert set(document["best_set"]) == set(result.values.best_set())
    assert json.loads(json.dumps(document, allow_nan=False))["routing"] == document["routing"]


def test_routing_judges_the_policy_that_is_recommended(study, result):
    """Leads as far as outcomes bear them out, not the reward's own, which here would send people elsewhere."""
    material = StudyArrays.of(study, FeatureSpec())
    fitted = cross_fit(material, Auto(), FOLDS, 0, None, lambda _stage, _done: None)
    t = material.trial
    data = ScoredExperiment.from_arrays(
        material.models,
        fitted.q,
        fitted.prediction,
        t.model,
        t.outcome,
        propensity=t.propensity,
        cluster=t.cluster,
    )
    policy_q = cross_fitted_calibrated_q(data, group_folds(t.together, FOLDS, 0))
    expected = np.bincount(policy_q.argmax(axis=1), minlength=len(study.models)) / len(policy_q)
    np.testing.assert_allclose(result.routing.model_shares, expected)
    assert not np.allclose(routing_gain(data).model_shares, expected)


def test_direct_values_know_of_their_bias(study, result):
    """A reward learned from the log alone moves with no resample, and is off all the same."""
    logged = dc.evaluate(study, "obs-only", method="direct")
    gap = logged.direct.estimate - dc.evaluate(study, "obs-only").values.center
    assert (result.direct.method, logged.values.method) == (
        "direct, bootstrap refits, reward bias included",
        "direct, reward bias included",
    )
    assert (logged.values.standard_error > 0.5 * np.sqrt(np.mean(gap**2))).all()
    assert np.isfinite(result.direct.df).all()


def test_the_luck_of_contexts_cancels_in_the_gap_of_direct_values(study):
    """Direct and unbiased values of a resample are taken over its own contexts, as those of the experiment are."""
    found = dc.evaluate(study, "obs-only")
    material = StudyArrays.of(study, FeatureSpec())
    fitted = cross_fit(material, ObsOnly(), FOLDS, 0, None, lambda _stage, _done: None)
    t, q = material.trial, fitted.q  # a reward that the experiment does not touch is the same in every fold
    reward_weight = float(found.values.reward_weight.mean())
    data = ScoredExperiment.from_arrays(study.models, q, fitted.prediction, t.model, t.outcome, propensity=t.propensity)
    gaps = []
    for at in fitted.samples:
        resampled = tuned_doubly_robust(data.take(at), reward_weight=reward_weight)
        gaps.append(q[at].mean(axis=0) - resampled.estimate)
    expected = with_reward_bias(direct(study.models, q, t.cluster), found.values, np.array(gaps))
    np.testing.assert_allclose(found.direct.covariance, expected.covariance, rtol=1e-9)


def test_every_check_is_among_the_findings(result):
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in result.findings}


def test_a_cost_moves_recommendations_and_not_values(study, result, tmp_path):
    dear = result.values.ranking()[0]
    priced = dc.evaluate(study, cost={dear: 0.9})
    np.testing.assert_array_equal(priced.values.estimate, result.values.estimate)
    assert dear not in {row.model for row in priced.recommendations}
    assert f"Net of cost {dear}" not in priced.summary()
    assert "Net of cost" in priced.summary()
    priced.save(tmp_path / "priced")
    assert dc.Result.load(tmp_path / "priced").summary() == priced.summary()
    with pytest.raises(dc.UsageError, match="there is no model"):
        dc.evaluate(study, cost={"nobody": 0.1})


def test_contexts_beyond_the_experiment_sharpen_the_average(demo):
    """The same experiment with and without the replay of other contexts of the same kind."""
    experiment = half(demo)
    ours = pc.is_in(demo.replay["context_id"], value_set=experiment["context_id"].combine_chunks())
    narrow = dc.evaluate(dc.load(log=demo.log, experiment=experiment, replay=demo.replay.filter(ours)))
    wide = dc.evaluate(dc.load(log=demo.log, experiment=experiment, replay=demo.replay))
    assert "contexts of the replay" in {f.check for f in wide.findings if f.verdict == "pass"}
    assert "contexts of the replay" not in {f.check for f in narrow.findings}
    assert wide.values.standard_error.mean() < narrow.values.standard_error.mean()
    moved = wide.policy.calibration.mean_q - narrow.policy.calibration.mean_q
    assert np.abs(moved).max() > 1e-3  # leads deviate from the average over the contexts that the values are about


def test_contexts_of_another_kind_are_left_aside(demo):
    """Contexts beyond the experiment's that are told from its own move no value."""
    experiment = half(demo)
    beyond = pc.invert(pc.is_in(demo.replay["context_id"], value_set=experiment["context_id"].combine_chunks()))
    strange = pc.if_else(
        beyond, pc.binary_join_element_wise("qqq zzz", demo.replay["context"], " "), demo.replay["context"]
    )
    at = demo.replay.column_names.index("context")
    found = dc.evaluate(
        dc.load(log=demo.log, experiment=experiment, replay=demo.replay.set_column(at, "context", strange))
    )
    narrow = dc.evaluate(
        dc.load(log=demo.log, experiment=experiment, replay=demo.replay.filter(pc.invert(beyond))),
    )
    assert "contexts of the replay" in {f.check for f in found.findings if f.verdict == "warn"}
    np.testing.assert_allclose(found.values.standard_error, narrow.values.standard_error, rtol=1e-9)
    np.testing.assert_allclose(found.values.estimate, narrow.values.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.policy.calibration.mean_q, narrow.policy.calibration.mean_q, rtol=1e-9)


def test_a_broken_assumption_stands_above_the_answer(demo, result, tmp_path):
    """Empty replays are nothing that any model wrote in the experiment."""
    at = demo.replay.column_names.index("output")
    empty = demo.replay.set_column(at, "output", pa.array([""] * demo.replay.num_rows))
    broken = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=empty))
    assert broken.summary().startswith("Assumption check failed: A2 (replay fidelity).\n")
    broken.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>Assumption check failed: A2 (replay fidelity).</h1>" in page
    assert "check failed" not in result.summary()
    assert comparison([broken]).startswith("Assumption check failed: A2 (replay fidelity).\n")
    assert "check failed" not in comparison([result])


def test_users_of_the_log_widen_the_intervals_of_its_bias(demo):
    """Outcomes that hang on the user alone: thirty users say less than their rows seem to."""
    users = np.arange(demo.log.num_rows) % 30
    liking = np.random.default_rng(0).random(30)[users]
    log = demo.log.drop_columns([name for name in ("cluster", "outcome") if name in demo.log.column_names])
    log = log.append_column("outcome", pa.array(liking))
    named = log.append_column("cluster", pa.array([f"user {u}" for u in users]))
    nameless, known = (
        dc.evaluate(dc.load(log=each, experiment=demo.experiment, replay=demo.replay)) for each in (log, named)
    )
    assert (known.raw_log.standard_error > 1.15 * nameless.raw_log.standard_error).all()
    wide = [[bias.high - bias.low for bias in found.log_bias.biases] for found in (known, nameless)]
    assert (np.array(wide[0]) > wide[1]).all()


def test_a_target_reweights_and_one_without_overlap_is_refused(demo, study, result):
    contexts = demo.experiment.select(["context_id", "context"])
    same = dc.evaluate(study, target=contexts)
    np.testing.assert_allclose(same.values.interval_center, result.values.interval_center, atol=0.05)
    length = pc.utf8_length(contexts["context"]).to_numpy()
    longer = contexts.take(np.argsort(-length)[: len(length) // 2])
    shifted = dc.evaluate(study, target=longer)
    assert np.abs(shifted.values.interval_center - result.values.interval_center).max() > 1e-3
    assert np.abs(shifted.experiment.estimate - result.experiment.estimate).max() > 1e-3
    assert np.abs(shifted.direct.estimate - result.direct.estimate).max() > 1e-3
    assert np.abs(shifted.policy.calibration.mean_q - result.policy.calibration.mean_q).max() > 1e-3
    assert shifted.routing.value != result.routing.value
    strange = pa.table(
        {"context_id": [f"x{i}" for i in range(60)], "context": [f"qqq{i} zzz{i} {i}" for i in range(60)]}
    )
    assert "effective" in same.summary()
    with pytest.raises(dc.AssumptionError, match="target"):
        dc.evaluate(study, target=strange)


def test_the_number_of_refits_is_a_choice_that_leaves_the_values_alone(study, result):
    stages: list[str] = []
    more = dc.evaluate(study, refits=30, progress=lambda stage, _: stages.append(stage))
    assert (len(result.policy.bootstrap_fits), len(more.policy.bootstrap_fits)) == (BOOTSTRAP_REFITS, 30)
    assert stages.count("fitting bootstrap replicates") == 30
    np.testing.assert_array_equal(more.values.estimate, result.values.estimate)
    with pytest.raises(dc.UsageError, match="refits"):
        dc.evaluate(study, refits=1)


def test_costs_and_targets_from_the_command_line(demo, tmp_path, capsys):
    demo.write(tmp_path)
    files = [f"--{name}={tmp_path / name}.parquet" for name in ("log", "experiment", "replay")]
    dear = demo.models[0]
    assert main(["evaluate", *files, "-q", "--json", f"--cost={dear}=9", "--value-of-outcome=10"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert dear not in document["recommended"]["best_guess"]
    for wrong, match in (
        ([f"--cost={dear}"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=much"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=1", "--value-of-outcome=0"], "--value-of-outcome"),
        (["--cost=nobody=1"], "there is no model"),
    ):
        assert main(["evaluate", *files, "-q", *wrong]) == 2
        assert match in capsys.readouterr().err
