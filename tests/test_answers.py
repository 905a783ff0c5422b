"""What an answer says beside the values: what it is made of, what routing is worth, how far the log can be believed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.crossfit import BOOTSTRAP_REFITS_THOROUGH, cross_fit
from deconfound.decide.calibration import cross_fitted_calibrated_q
from deconfound.decide.routing import routing_gain
from deconfound.demo import make_demo
from deconfound.demo.study import Demo, Sizes
from deconfound.design import group_folds
from deconfound.evaluation import FOLDS
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.report.text import comparison
from deconfound.reward import Auto, ObsOnly
from deconfound.reward.auto.attribution import FEATURE_VIEWS, NEGLIGIBLE_LOG_BIAS, SOURCES
from deconfound.value import direct, tuned_doubly_robust, with_reward_bias

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


def test_shares_sum_to_one_and_know_their_spread(result):
    trust = result.trust
    assert trust is not None
    assert trust.shares.shape == (len(SOURCES), len(FEATURE_VIEWS))
    assert trust.shares.sum() == pytest.approx(1.0)
    assert (trust.spread >= 0).all()
    assert trust.spread.max() > 0
    assert trust.log == pytest.approx(trust.shares[0].sum())


def test_shares_are_covariances_of_leads_with_the_whole(study, result):
    """Against a loop over sources and views, contexts centred one by one."""
    material = StudyArrays.of(study, FeatureSpec())
    sources = material.sources(0.0)
    prepared = Auto.prepare(sources, [result.choice.estimator])
    cells, everything = material.cells, np.arange(len(sources.experiment))
    leads = []
    for fit in prepared.shares(everything):
        rows = cells.rows(0.0)
        seen = (rows.phi @ fit.phi_coef, rows.proxies @ fit.psi_coef)
        tables = [cells.average(np.asarray(each)) for each in seen]
        tables.append(np.tile(fit.model_effect[: cells.models], (len(cells.contexts), 1)))
        leads.append([np.array([row - row.mean() for row in table]) for table in tables])
    whole = sum(part for source in leads for part in source)
    expected = [[(part * whole).sum() / (whole**2).sum() for part in source] for source in leads]
    np.testing.assert_allclose(result.trust.shares, expected, atol=1e-9)


def test_only_auto_is_made_of_shares(study):
    assert dc.evaluate(study, family="cvci").trust is None


def test_a_log_that_is_too_long_is_sampled_and_the_result_says_so(study, monkeypatch):
    for module in ("deconfound.evaluation", "deconfound.reward.auto.family"):
        monkeypatch.setattr(f"{module}.MAX_LOG_ROWS", 100)
    told = {finding.check: finding.message for finding in dc.evaluate(study).findings}
    assert "a random 100 of the log's 2" in told["long log"]
    assert "long log" not in {finding.check for finding in dc.evaluate(study, family="cvci").findings}


def test_the_reason_names_the_bias_that_is_there(result):
    """The demo's log is confounded through the choice of the model."""
    assert result.trust.log_bias > NEGLIGIBLE_LOG_BIAS
    assert "goes with the model" in result.trust.reason
    assert result.trust.reason in result.summary()


def test_point_estimates_lean_and_intervals_do_not(result, study):
    values = result.values
    assert values.centre is not None
    assert 0 <= values.moved <= 1
    assert (np.abs(values.estimate - values.centre) <= values.error * (1 + 1e-9)).all()
    low, high = values.interval().T
    np.testing.assert_allclose((low + high) / 2, values.centre, atol=1e-9)
    assert dc.evaluate(study, family="cvci").values.centre is None


def test_the_alarm_and_the_routing_stand_in_every_form(result):
    text, document = result.summary(), result.document()
    assert result.alarm.sentence in text
    assert result.routing.sentence in text
    assert document["alarm"]["verdict"] == result.alarm.verdict
    assert document["routing"]["verdict"] == result.routing.verdict
    assert set(document["best_set"]) == set(result.values.best_set())
    assert json.loads(json.dumps(document, allow_nan=False))["routing"] == document["routing"]


def test_routing_judges_the_policy_that_is_recommended(study, result):
    """Leads as far as outcomes bear them out, not the reward's own, which here would send people elsewhere."""
    material = StudyArrays.of(study, FeatureSpec())
    fitted = cross_fit(material, Auto(), FOLDS, 0, None, lambda _stage, _done: None)
    t = material.trial
    known = (material.models, fitted.q, t.model, t.outcome, fitted.prediction, t.propensity, t.cluster)
    leads = cross_fitted_calibrated_q(*known, folds=group_folds(t.together, FOLDS, 0))
    expected = np.bincount(leads.argmax(axis=1), minlength=len(study.models)) / len(leads)
    np.testing.assert_allclose(result.routing.share, expected)
    assert not np.allclose(routing_gain(*known).share, expected)


def test_direct_values_know_of_their_bias(study, result):
    """A reward learned from the log alone moves with no resample, and is off all the same."""
    logged = dc.evaluate(study, "obs-only", method="direct")
    gap = logged.direct.estimate - dc.evaluate(study, "obs-only").values.middle
    assert (result.direct.method, logged.values.method) == ("direct, refitted, bias counted", "direct, bias counted")
    assert (logged.values.error > 0.5 * np.sqrt(np.mean(gap**2))).all()
    assert np.isfinite(result.direct.df).all()


def test_the_luck_of_contexts_cancels_in_the_gap_of_direct_values(study):
    """Direct and unbiased values of a resample are taken over its own contexts, as those of the experiment are."""
    found = dc.evaluate(study, "obs-only")
    material = StudyArrays.of(study, FeatureSpec())
    fitted = cross_fit(material, ObsOnly(), FOLDS, 0, None, lambda _stage, _done: None)
    t, q = material.trial, fitted.q  # a reward that the experiment does not touch is the same in every fold
    power = float(found.values.power.mean())
    gaps = []
    for at in fitted.samples:
        columns = (q[at], t.model[at], t.outcome[at], fitted.prediction[at], t.propensity[at])
        gaps.append(q[at].mean(axis=0) - tuned_doubly_robust(study.models, *columns, power=power).estimate)
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
    assert wide.values.error.mean() < narrow.values.error.mean()
    moved = wide.policy.calibration.average - narrow.policy.calibration.average
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
    np.testing.assert_allclose(found.values.error, narrow.values.error, rtol=1e-9)
    np.testing.assert_allclose(found.values.estimate, narrow.values.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.policy.calibration.average, narrow.policy.calibration.average, rtol=1e-9)


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


def test_users_of_the_log_make_the_alarm_less_sure(demo):
    """Outcomes that hang on the user alone: thirty users say less than their rows seem to."""
    users = np.arange(demo.log.num_rows) % 30
    liking = np.random.default_rng(0).random(30)[users]
    log = demo.log.drop_columns([name for name in ("cluster", "outcome") if name in demo.log.column_names])
    log = log.append_column("outcome", pa.array(liking))
    named = log.append_column("cluster", pa.array([f"user {u}" for u in users]))
    nameless, known = (
        dc.evaluate(dc.load(log=each, experiment=demo.experiment, replay=demo.replay)) for each in (log, named)
    )
    assert (known.raw_log.error > 1.15 * nameless.raw_log.error).all()
    wide = [[bias.high - bias.low for bias in found.alarm.biases] for found in (known, nameless)]
    assert (np.array(wide[0]) > wide[1]).all()


def test_a_target_reweights_and_one_without_overlap_is_refused(demo, study, result):
    contexts = demo.experiment.select(["context_id", "context"])
    same = dc.evaluate(study, target=contexts)
    np.testing.assert_allclose(same.values.centre, result.values.centre, atol=0.05)
    length = pc.utf8_length(contexts["context"]).to_numpy()
    longer = contexts.take(np.argsort(-length)[: len(length) // 2])
    shifted = dc.evaluate(study, target=longer)
    assert np.abs(shifted.values.centre - result.values.centre).max() > 1e-3
    assert np.abs(shifted.experiment.estimate - result.experiment.estimate).max() > 1e-3
    assert np.abs(shifted.direct.estimate - result.direct.estimate).max() > 1e-3
    assert np.abs(shifted.policy.calibration.average - result.policy.calibration.average).max() > 1e-3
    assert shifted.routing.value != result.routing.value
    strange = pa.table(
        {"context_id": [f"x{i}" for i in range(60)], "context": [f"qqq{i} zzz{i} {i}" for i in range(60)]}
    )
    assert "effective" in same.summary()
    with pytest.raises(dc.AssumptionError, match="target"):
        dc.evaluate(study, target=strange)


def test_thorough_refits_ten_times_as_often_and_says_so(study, result):
    told: list[tuple[str, float]] = []
    thorough = dc.evaluate(study, thorough=True, progress=lambda stage, done: told.append((stage, done)))
    assert len(thorough.policy.bootstrap_fits) == BOOTSTRAP_REFITS_THOROUGH == 10 * len(result.policy.bootstrap_fits)
    assert sum(stage == "refitting" for stage, _ in told) == BOOTSTRAP_REFITS_THOROUGH
    np.testing.assert_array_equal(thorough.values.estimate, result.values.estimate)


def test_costs_and_targets_from_the_command_line(demo, tmp_path, capsys):
    demo.write(tmp_path)
    files = [f"--{name}={tmp_path / name}.parquet" for name in ("log", "experiment", "replay")]
    dear = demo.models[0]
    assert main(["evaluate", *files, "-q", "--json", f"--cost={dear}=9", "--worth=10"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert dear not in document["recommended"]["best_guess"]
    for wrong, match in (
        ([f"--cost={dear}"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=much"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=1", "--worth=0"], "--worth"),
        (["--cost=nobody=1"], "there is no model"),
    ):
        assert main(["evaluate", *files, "-q", *wrong]) == 2
        assert match in capsys.readouterr().err
