"""A study's answer as a whole: what may change it, what must not, and that it is right."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from deconfound.demo.study import Demo, Sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deconfound as dc
from deconfound.demo import make_demo
from deconfound.reward import FAMILIES

SMALL = Sizes(log_contexts=60, log_repeats=3, log_people=30, experiment_contexts=48, experiment_people=48, draws=1)
CLOSE = 1e-8  # sums in another order differ in the last digits; fits repeat them through a solve


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_demo(3, sizes=SMALL)


@pytest.fixture(scope="module")
def result(demo: Demo) -> dc.Result:
    return dc.evaluate(study_of(demo))


def study_of(demo: Demo, **tables: pa.Table) -> dc.Study:
    chosen = {"log": demo.log, "experiment": demo.experiment, "replay": demo.replay} | tables
    return dc.load(**chosen)


def numbers(result: dc.Result) -> np.ndarray:
    q = [row.q for row in result.recommendations]
    parts = (result.values.estimate, result.values.covariance.ravel(), result.direct.estimate, result.raw_log.estimate)
    return np.concatenate([*parts, q])


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_every_family_answers_and_keeps_its_promises(demo, family):
    result = dc.evaluate(study_of(demo), family=family)
    interval = result.values.interval()
    assert result.choice.estimator.name == family
    assert ((interval >= 0) & (interval <= 1)).all()
    assert (interval[:, 0] <= interval[:, 1]).all()
    assert {row.model for row in result.recommendations} <= set(result.models)
    assert len(result.recommendations) == len(set(demo.replay["context_id"].to_pylist()))
    assert result.summary().splitlines()[0].startswith(result.values.ranking()[0])


def test_a_family_that_never_sees_the_experiment_can_tell_nothing_per_context(demo):
    result = dc.evaluate(study_of(demo), family="obs-only")
    assert {row.verdict for row in result.recommendations} == {"cannot tell"}


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_never_matters(demo, result, seed):
    rng = np.random.default_rng(seed)
    shuffled = {
        name: getattr(demo, name).take(rng.permutation(getattr(demo, name).num_rows))
        for name in ("log", "experiment", "replay")
    }
    again = dc.evaluate(study_of(demo, **shuffled))
    np.testing.assert_allclose(numbers(again), numbers(result), atol=CLOSE)
    assert [row.model for row in again.recommendations] == [row.model for row in result.recommendations]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(6)))
def test_renaming_the_models_renames_the_answer(demo, result, order):
    """Model i takes the name of model order[i]; its value must follow it."""
    names = dict(zip(demo.models, [demo.models[i] for i in order], strict=True))
    renamed = {}
    for name in ("log", "experiment", "replay"):
        table = getattr(demo, name)
        models = pa.array([names[model] for model in table["model"].to_pylist()])
        renamed[name] = table.set_column(table.column_names.index("model"), "model", models)
    again = dc.evaluate(study_of(demo, **renamed)).values
    for old, new in names.items():
        at, then = result.values.models.index(old), again.models.index(new)
        assert again.estimate[then] == pytest.approx(result.values.estimate[at], abs=CLOSE)
        assert again.covariance[then, then] == pytest.approx(result.values.covariance[at, at], abs=CLOSE)


def test_doubling_every_log_row_changes_nothing_for_a_family_that_pools_means(demo):
    doubled = pa.concat_tables([demo.log, demo.log])
    once, twice = (dc.evaluate(each, family="cvci") for each in (study_of(demo), study_of(demo, log=doubled)))
    np.testing.assert_allclose(twice.values.estimate, once.values.estimate, atol=CLOSE)


def test_repeating_every_replay_draw_changes_nothing(demo, result):
    second = demo.replay.set_column(
        demo.replay.column_names.index("draw"), "draw", pa.array(np.ones(demo.replay.num_rows, dtype=np.int64))
    )
    again = dc.evaluate(study_of(demo, replay=pa.concat_tables([demo.replay, second])))
    np.testing.assert_allclose(again.values.estimate, result.values.estimate, atol=CLOSE)


def test_the_same_seed_gives_the_same_bytes(demo, result, tmp_path):
    again = dc.evaluate(study_of(demo))
    for name, each in (("first", result), ("second", again)):
        each.save(tmp_path / name)
    for file in ("result.json", "reward.npz", "featurizer.json", "featurizer.npz"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes(), file


def test_another_seed_cuts_other_folds(demo, result):
    other = dc.evaluate(study_of(demo), seed=1)
    assert not np.array_equal(other.values.estimate, result.values.estimate)


def test_a_kept_result_reloads_whole_and_recommends_the_same(demo, result, tmp_path):
    result.save(tmp_path)
    loaded = dc.Result.load(tmp_path)
    assert loaded.summary() == result.summary()
    assert loaded.document() == result.document()
    assert loaded.recommend(demo.replay) == result.recommendations


def test_a_half_kept_result_is_refused(result, tmp_path):
    result.save(tmp_path)
    whole = (tmp_path / "reward.npz").read_bytes()
    (tmp_path / "reward.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(dc.DataError, match=r"Run `deconfound evaluate"):
        dc.Result.load(tmp_path)
    (tmp_path / "result.json").unlink()
    with pytest.raises(dc.DataError, match=r"result\.json: there is no such file"):
        dc.Result.load(tmp_path)


def test_models_left_out_keep_teaching_and_keep_the_propensities(demo):
    """With a third of the models left out, the others' unbiased values move by less than their standard errors."""
    kept = demo.models[:4]
    whole = dc.evaluate(study_of(demo))
    part = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay, models=kept))
    assert part.models == kept
    assert part.counts["experiment"].rows == whole.counts["experiment"].rows
    assert (
        np.abs(part.values.interval_center - whole.values.interval_center[:4]) < whole.values.standard_error[:4]
    ).all()


def test_too_small_an_experiment_is_not_answered(demo):
    """Two rows of two models: no model has the two rows that a variance needs."""
    models = demo.experiment["model"].to_pylist()
    second = next(i for i, name in enumerate(models) if name != models[0])
    with pytest.raises(dc.EvidenceError, match="no model has 2"):
        dc.evaluate(study_of(demo, experiment=demo.experiment.take([0, second])))


def test_a_model_with_one_randomized_row_gets_the_whole_interval(demo):
    models = demo.experiment["model"].to_pylist()
    rare = models[0]
    rows = [i for i, name in enumerate(models) if name != rare or i == 0]
    result = dc.evaluate(study_of(demo, experiment=demo.experiment.take(rows)))
    assert result.values.interval()[result.models.index(rare)].tolist() == [0.0, 1.0]
    assert "cannot tell" in {finding.verdict for finding in result.findings}
    assert json.loads(json.dumps(result.document(), allow_nan=False))["models"] == list(result.models)


def test_a_study_without_text_is_evaluated_on_its_columns(demo):
    """An embedding of each row stands in for the text, which is then taken away."""
    rng = np.random.default_rng(0)
    bare = {}
    for name in ("log", "experiment", "replay"):
        table = getattr(demo, name)
        marks = demo.true_reward(table)
        keep = [c for c in table.column_names if c not in ("context", "output")]
        table = table.select(keep).append_column("feature_mark", pa.array(marks))
        bare[name] = table.append_column("feature_noise", pa.array(rng.standard_normal(len(marks))))
    study = dc.load(**bare)
    assert not study.has_text
    result = dc.evaluate(study, features=dc.FeatureSpec(source="columns"))
    assert result.featurizer.psi_source == "labels and columns"
    model, reward = np.array(demo.replay["model"].to_pylist()), demo.true_reward(demo.replay)
    truth = np.array([reward[model == m].mean() for m in demo.models])
    assert np.corrcoef(result.direct.estimate, truth)[0, 1] > 0.9


@pytest.mark.parametrize("wrong", [{"family": "cvcy"}, {"level": 1.5}, {"method": "guess"}, {"surface_share": 2.0}])
def test_wrong_arguments_are_refused_with_advice(demo, wrong):
    with pytest.raises(dc.UsageError):
        dc.evaluate(study_of(demo), **wrong)


def test_families_evaluated_together_or_alone_agree(demo, result):
    together = dc.evaluate_families(study_of(demo), ["exp-only", "auto"])
    np.testing.assert_array_equal(together[1].values.estimate, result.values.estimate)


def test_hyperparameters_given_with_a_fixed_family_are_used(demo):
    from deconfound.reward import ExpOnly

    result = dc.evaluate(study_of(demo), family=ExpOnly(penalty=7.0))
    assert result.choice.estimator == ExpOnly(penalty=7.0)
    assert replace(result.choice.estimator, penalty=1.0) == ExpOnly()
