"""Options of an evaluation, and studies that are too small or have no text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.crossfit import BOOTSTRAP_REFITS
from deconfound.demo import Demo
from deconfound.reward import Cvci
from tests.support.results import demo_result, load_demo, prepared_demo, small_demo


@pytest.fixture(scope="module")
def demo() -> Demo:
    return small_demo()


@pytest.fixture(scope="module")
def study() -> dc.Study:
    return prepared_demo().study


@pytest.fixture(scope="module")
def result() -> dc.Result:
    return demo_result()


@pytest.mark.parametrize("wrong", [{"method": "guess"}, {"surface_share": 2.0}, {"refits": 1}])
def test_an_invalid_option_is_refused_by_name(wrong):
    with pytest.raises(dc.UsageError, match=next(iter(wrong))):
        dc.EvaluationOptions(**wrong)


@pytest.mark.parametrize(("wrong", "message"), [({"family": "cvcy"}, "cvcy"), ({"level": 1.5}, "level")])
def test_an_unknown_family_and_an_impossible_level_are_refused(study, wrong, message):
    with pytest.raises(dc.UsageError, match=message):
        dc.evaluate(study, **wrong)


def test_the_number_of_refits_does_not_change_the_values(study, result):
    stages: list[str] = []
    options = dc.EvaluationOptions(refits=30)
    more = dc.evaluate(study, options=options, progress=lambda stage, _: stages.append(stage))
    assert (len(result.policy.bootstrap_fits), len(more.policy.bootstrap_fits)) == (BOOTSTRAP_REFITS, 30)
    assert stages.count("fitting bootstrap refits") == 30
    np.testing.assert_array_equal(more.values.estimate, result.values.estimate)


def test_values_recommendations_and_routing_are_net_of_cost_and_the_log_bias_is_not(study, result):
    costly = result.values.ranking()[0]
    cost = {name: 0.9 * (name == costly) for name in study.models}
    net = dc.evaluate(study, options=dc.EvaluationOptions(cost=cost))
    for name in ("values", "direct"):
        gross = getattr(result, name)
        np.testing.assert_allclose(getattr(net, name).estimate, gross.estimate - [cost[name] for name in study.models])
    assert net.values.ranking()[0] == net.routing.best != costly
    assert net.log_bias == result.log_bias
    np.testing.assert_array_equal(net.raw_log.estimate, result.raw_log.estimate)
    assert costly not in {row.model for row in net.recommendations}
    np.testing.assert_array_equal(net.policy.cost, [0.9 if name == costly else 0.0 for name in study.models])
    assert net.routing.model_shares[study.models.index(costly)] == 0


def test_a_cost_that_is_no_number_is_refused_before_the_work(study):
    with pytest.raises(dc.UsageError, match="finite"):
        dc.prepare(study, options=dc.EvaluationOptions(cost=dict.fromkeys(study.models, float("nan"))))


def test_a_model_without_a_cost_is_named(study):
    cost = dict.fromkeys(study.models[2:], 0.1)
    with pytest.raises(dc.UsageError, match=rf"{study.models[0]}, {study.models[1]}.*0 if it is free"):
        dc.prepare(study, options=dc.EvaluationOptions(cost=cost))


def test_costs_are_in_units_of_the_users_outcome(demo, study):
    """A cost of 2 stars on a scale from 1 to 5 is half of the scale."""
    cost = dict.fromkeys(study.models, 2.0)
    starred = demo.experiment.set_column(
        demo.experiment.column_names.index("outcome"),
        "outcome",
        pc.add(1.0, pc.multiply(4.0, demo.experiment["outcome"])),
    )
    log = demo.log.set_column(
        demo.log.column_names.index("outcome"), "outcome", pc.add(1.0, pc.multiply(4.0, demo.log["outcome"]))
    )
    stars = dc.load(log=log, experiment=starred, replay=demo.replay, outcome_range=(1, 5))
    prepared = dc.prepare(stars, options=dc.EvaluationOptions(cost=cost))
    np.testing.assert_array_equal(prepared.cost, np.full(len(study.models), 0.5))
    result = prepared.evaluate("exp-only")
    assert result.outcome_range == (1.0, 5.0)
    plain = demo_result("exp-only")
    np.testing.assert_allclose(result.values.estimate, plain.values.estimate - 0.5, atol=1e-6)


def test_a_family_class_in_place_of_an_object_is_refused_with_advice():
    with pytest.raises(dc.UsageError, match=r"Cvci\(\)"):
        prepared_demo().evaluate(Cvci)


def test_checks_take_a_target_as_evaluations_do(demo, study, tmp_path):
    path = tmp_path / "target.parquet"
    pq.write_table(demo.replay.select(["context"]), path)
    assert "overlap with the target" in {finding.check for finding in dc.check(study, target=path)}


def test_results_have_a_short_repr_and_compare_by_identity(result):
    assert len(repr(result)) < 300
    assert result == result  # noqa: PLR0124  (arrays in fields would raise)
    assert result.values != result.direct


def test_a_cost_of_an_unknown_model_is_refused(study):
    with pytest.raises(dc.UsageError, match="no model"):
        dc.prepare(study, options=dc.EvaluationOptions(cost={"unknown": 0.1}))


def test_a_target_of_the_same_contexts_changes_little_and_reports_its_overlap(demo, study, result):
    contexts = demo.experiment.select(["context_id", "context"])
    same = dc.evaluate(study, options=dc.EvaluationOptions(target=contexts))
    np.testing.assert_allclose(same.values.interval_center, result.values.interval_center, atol=0.05)
    assert "overlap with the target" in {finding.check for finding in same.findings}
    population = same.population
    assert (population.kind, population.contexts) == ("target", len(contexts["context"].unique()))
    assert population.effective_rows <= population.experiment_rows == len(study.experiment)
    assert "Values are for the" in same.summary()


def test_a_target_of_longer_contexts_changes_every_number_that_depends_on_contexts(demo, study, result):
    contexts = demo.experiment.select(["context_id", "context"])
    length = pc.utf8_length(contexts["context"]).to_numpy()
    longer = contexts.take(np.argsort(-length)[: len(length) // 2])
    shifted = dc.evaluate(study, options=dc.EvaluationOptions(target=longer))
    assert np.abs(shifted.values.interval_center - result.values.interval_center).max() > 1e-3
    assert np.abs(shifted.experiment.estimate - result.experiment.estimate).max() > 1e-3
    assert np.abs(shifted.direct.estimate - result.direct.estimate).max() > 1e-3
    assert np.abs(shifted.policy.calibration.mean_q - result.policy.calibration.mean_q).max() > 1e-3
    assert shifted.routing.value != result.routing.value
    assert shifted.log_bias == result.log_bias  # the log is compared on the contexts that it may share
    assert "compares the log with the experiment's own contexts" in " ".join(shifted.summary().split())


def test_a_target_without_overlap_is_refused(study):
    numbers = range(60)
    target = pa.table({"context_id": [f"x{i}" for i in numbers], "context": [f"qqq{i} zzz{i} {i}" for i in numbers]})
    with pytest.raises(dc.AssumptionError, match="target"):
        dc.prepare(study, options=dc.EvaluationOptions(target=target))


def test_an_experiment_without_two_rows_of_any_model_is_refused(demo):
    models = demo.experiment["model"].to_pylist()
    other = next(i for i, name in enumerate(models) if name != models[0])
    with pytest.raises(dc.EvidenceError, match="no model has 2"):
        dc.evaluate(load_demo(demo, experiment=demo.experiment.take([0, other])))


def test_a_model_with_one_experiment_row_has_the_whole_range_as_its_interval(demo):
    models = demo.experiment["model"].to_pylist()
    rare = models[0]
    rows = [i for i, name in enumerate(models) if name != rare or i == 0]
    result = dc.evaluate(load_demo(demo, experiment=demo.experiment.take(rows)))
    assert result.values.interval()[result.models.index(rare)].tolist() == [0.0, 1.0]
    assert "cannot tell" in {finding.verdict for finding in result.findings}


def test_a_study_without_text_is_evaluated_on_its_feature_columns(demo):
    """The true reward of each row and a column of noise replace the text."""
    rng = np.random.default_rng(0)
    tables = {}
    for name in ("log", "experiment", "replay"):
        table = getattr(demo, name)
        reward = demo.true_reward(table)
        table = table.drop_columns(["context", "output"]).append_column("feature_reward", pa.array(reward))
        tables[name] = table.append_column("feature_noise", pa.array(rng.standard_normal(len(reward))))
    study = dc.load(**tables)
    assert not study.has_text
    result = dc.evaluate(study, options=dc.EvaluationOptions(features=dc.FeatureSpec(source="columns")))
    assert result.featurizer.psi_source == "labels and columns"
    model, reward = np.array(demo.replay["model"].to_pylist()), demo.true_reward(demo.replay)
    truth = np.array([reward[model == name].mean() for name in demo.models])
    assert np.corrcoef(result.direct.estimate, truth)[0, 1] > 0.9


def test_extra_contexts_are_refused_where_there_are_none(study):
    with pytest.raises(dc.UsageError, match="extra_contexts"):
        dc.prepare(study, options=dc.EvaluationOptions(extra_contexts=True))


def test_extra_contexts_that_lack_a_model_are_left_out(demo):
    """The check of the replay's draws reports them."""
    ids = demo.experiment["context_id"].unique().to_pylist()
    inside = set(ids[: len(ids) // 2])
    rows = [i for i, name in enumerate(demo.experiment["context_id"].to_pylist()) if name in inside]
    missing = (ids[-1], demo.models[0])
    cells = zip(demo.replay["context_id"].to_pylist(), demo.replay["model"].to_pylist(), strict=True)
    replay = demo.replay.take([i for i, cell in enumerate(cells) if cell != missing])
    study = load_demo(demo, experiment=demo.experiment.take(rows), replay=replay)
    prepared = dc.prepare(study, options=dc.EvaluationOptions(extra_contexts=True))
    assert prepared.population.contexts == len(ids) - 1
    assert len(prepared.extra_contexts) == len(ids) - 1 - len(inside)
    assert np.isfinite(prepared.evaluate("exp-only").values.estimate).all()
