"""Routers of prompts and segments: learned without the rows that value them, and written only where they pay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.decide.routing import routing_gain
from deconfound.design import Fold
from deconfound.errors import UsageError
from deconfound.evaluation import prepare
from deconfound.evaluation_options import MIN_REFITS, EvaluationOptions
from deconfound.policy_learning import context_policy
from deconfound.policy_learning.context_policy import ScoreCalibration, cross_fitted_context_policy, out_of_fold_scores
from deconfound.policy_learning.learn_policy import routing_pays
from deconfound.policy_learning.prompts import Prompts
from deconfound.policy_learning.segment_policy import cross_fitted_segment_policy, segment_values
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value_methods import score_experiment

MODELS = ("ant", "bee")
WORDS = {"code": "python loop compile", "verse": "poem rhyme stanza"}
OPTIONS = EvaluationOptions(refits=MIN_REFITS)


def tables(seed: int = 0, rows: int = 160, effect: float = 0.35) -> dict[str, pa.Table]:
    """Prompts of two topics; each model is better on one of them by twice the effect."""
    rng = np.random.default_rng(seed)

    def rated(prefix: str, n: int) -> pa.Table:
        topic, model = rng.integers(2, size=n), rng.integers(2, size=n)
        texts = [
            f"{WORDS[list(WORDS)[t]]} {' '.join(rng.choice(list('abcdefgh'), 3))} {prefix}{i}"
            for i, t in enumerate(topic)
        ]
        mean = 0.5 + effect * np.where(topic == model, 1, -1)
        return pa.table(
            {
                "context_id": [f"{prefix}{i}" for i in range(n)],
                "context": texts,
                "model": [MODELS[m] for m in model],
                "output": [f"{MODELS[m]} says {' '.join(rng.choice(list('uvwxyz'), 4))}" for m in model],
                "outcome": (rng.random(n) < mean).astype(float),
                "topic": [list(WORDS)[t] for t in topic],
            }
        )

    experiment = rated("e", rows)
    replay = pa.table(
        {
            "context_id": np.repeat(experiment["context_id"].to_pylist(), 2),
            "context": np.repeat(experiment["context"].to_pylist(), 2),
            "model": list(MODELS) * rows,
            "output": [
                f"{name} says {' '.join(rng.choice(list('uvwxyz'), 4))}" for _ in range(rows) for name in MODELS
            ],
        }
    )
    return {"log": rated("l", 2 * rows), "experiment": experiment, "replay": replay}


def load(found: dict[str, pa.Table], by: str | None = None) -> dc.Study:
    return dc.load(**found, segments=() if by is None else by)


@pytest.fixture(scope="module")
def study() -> dc.Study:
    return load(tables())


@pytest.fixture(scope="module")
def learned(study) -> dc.LearnedPolicy:
    return dc.route(study, "exp-only")


def test_a_router_learns_the_words_by_which_models_differ(learned, tmp_path):
    assert learned.policy.kind == "context"
    assert learned.pays
    assert learned.gain.gain > 0.15
    learned.save(tmp_path / "policy.json")
    router = dc.Router.load(tmp_path / "policy.json")
    assert router.choose("compile a python loop") == "ant"
    assert router.choose("a poem with rhyme in each stanza") == "bee"
    assert sum(learned.context_counts) == 160
    assert "Routing by the prompt pays. On contexts that it has not seen, a router gains +0." in learned.summary()


@pytest.mark.slow
def test_scores_of_a_fold_do_not_depend_on_its_outcomes_or_prompts(study):
    """The strongest test of a leak: other outcomes in a fold leave the scores of its rows as they are, bit for bit.

    exp-only has no hyperparameter that is estimated on all rows.
    """
    prepared = prepare(study, options=OPTIONS)
    fitted = prepared.cross_fit("exp-only")
    fold = fitted.folds[0]
    before = out_of_fold_scores(prompts_of(prepared), fitted, prepared.arrays)
    outcome = prepared.study.experiment.arrow["outcome"].to_numpy().copy()
    outcome[fold.held_out] = 1 - outcome[fold.held_out]
    table = prepared.study.experiment.arrow
    flipped = table.set_column(table.column_names.index("outcome"), "outcome", pa.array(outcome))
    other = prepare(
        replace(prepared.study, experiment=replace(prepared.study.experiment, arrow=flipped)), options=OPTIONS
    )
    ids, other_ids = (one.study.experiment.arrow["context_id"].to_pylist() for one in (prepared, other))
    refitted = other.cross_fit("exp-only")
    after = out_of_fold_scores(prompts_of(other), refitted, other.arrays)
    held_out = {ids[row] for row in fold.held_out}
    assert {other_ids[row] for row in refitted.folds[0].held_out} == held_out
    by_id, other_by_id = (dict(zip(names, s, strict=True)) for names, s in ((ids, before), (other_ids, after)))
    np.testing.assert_allclose([by_id[one] for one in held_out], [other_by_id[one] for one in held_out], atol=1e-9)
    assert any(not np.allclose(by_id[one], other_by_id[one]) for one in ids if one not in held_out)


def prompts_of(prepared: dc.PreparedStudy) -> Prompts:
    return Prompts.from_study(prepared.study, prepared.arrays.replay.contexts, 0)


def test_a_router_that_memorises_prompts_does_not_gain(monkeypatch):
    """Outcomes are noise, and a router without penalty learns them by heart: only on its own rows it seems to gain."""

    def memorise(experiment, _log, models):
        coef = np.zeros((experiment.features.shape[1], models))
        for model in range(models):
            X, y = experiment.of_model(model)
            coef[:, model] = np.linalg.lstsq(X, y, rcond=1e-8)[0]
        return coef

    monkeypatch.setattr(context_policy, "correction_coef", memorise)
    prepared = prepare(load(tables(effect=0.0)), options=OPTIONS)
    fitted = prepared.cross_fit("exp-only")
    result = prepared.result(fitted)
    context, prompts = prepared.arrays.experiment.context, prompts_of(prepared)
    data = replace(score_experiment(prepared.arrays, fitted, None), q=fitted.q_unseen)
    rows = np.arange(len(context))
    router = context_policy.PromptRouter.learn(prompts, fitted.final, prepared.arrays, rows, context_policy.NOTHING)
    gains = {}
    for name, scores in (
        ("own rows", router(prompts, context)),
        ("out of fold", out_of_fold_scores(prompts, fitted, prepared.arrays)),
    ):
        policy = cross_fitted_context_policy(data, scores, fitted)
        gains[name] = routing_gain(data, policy, best=result.routing.best, contenders=2)
    assert gains["own rows"].gain > 0.15
    assert gains["out of fold"].gain_low <= 0.0
    assert abs(gains["out of fold"].gain) < 0.1


def noise_experiment(seed: int, rows: int = 200) -> ScoredExperiment:
    rng = np.random.default_rng([5, seed])
    q = np.full((rows, 2), 0.5)
    model = rng.integers(0, 2, rows)
    return ScoredExperiment.from_arrays(MODELS, q, q[:, 0], model, rng.integers(0, 2, rows).astype(float))


def fits_of(t: ScoredExperiment) -> object:
    """Folds as a cross-fit has them."""
    rows = np.arange(len(t.q))

    class Fits:
        folds = tuple(Fold(rows[rows % 4 != f], rows[rows % 4 == f]) for f in range(4))

    return Fits()


def test_the_gain_of_a_router_equals_a_naive_loop():
    """Without a reward, the doubly robust gain is the difference of weighted means where policy and model differ."""
    rng = np.random.default_rng(8)
    t = noise_experiment(1)
    signal = rng.normal(size=(len(t.q), 2))
    outcome = np.clip(0.5 + 0.3 * signal[np.arange(len(t.q)), t.model] + 0.1 * rng.normal(size=len(t.q)), 0, 1)
    t = replace(t, outcome=outcome)
    policy = cross_fitted_context_policy(t, signal, fits_of(t))
    sums = {"policy": [], "single": []}
    differing = 0
    for fold in fits_of(t).folds:
        train = t.take(fold.train)
        value = [train.outcome[train.model == a].mean() for a in range(2)]
        calibration = ScoreCalibration.fit(train, signal[fold.train])
        slope, mean = calibration.slope, calibration.mean
        for row in fold.held_out:
            net = [value[a] + slope * (signal[row, a] - mean[a]) for a in range(2)]
            pick, single = int(np.argmax(net)), int(np.argmax(value))
            if pick != single:
                differing += 1
                sums["policy" if t.model[row] == pick else "single"].append(t.outcome[row])
    naive = differing / len(t.q) * (np.mean(sums["policy"]) - np.mean(sums["single"]))
    assert routing_gain(t, policy, best="ant", contenders=1).gain == pytest.approx(naive, abs=0.02)
    assert naive > 0.1


def test_segments_are_routed_where_they_differ_and_not_where_they_do_not():
    routed = dc.route(load(tables(), by="topic"), "exp-only")
    assert routed.policy.kind == "segments"
    assert [routed.policy.choose("", name) for name in ("code", "verse")] == ["ant", "bee"]
    assert routed.policy.choose("", "new") == routed.policy.default
    assert "topic:" in routed.summary()
    same = dc.route(load(tables(effect=0.0), by="topic"), "exp-only")
    assert same.policy.kind == "single"
    assert "does not pay" in same.summary()


def test_segment_values_are_shrunk_to_those_of_all_rows_and_equal_them_without_rows():
    t, segment = noise_experiment(2), np.arange(200) % 3
    value = tuned_doubly_robust(t).estimate
    noise = segment_values(t, segment, 4, value, np.zeros(2))
    np.testing.assert_allclose(noise, np.tile(value, (4, 1)))
    split = replace(t, outcome=np.where((segment == 0) == (t.model == 0), 1.0, 0.0))
    value = tuned_doubly_robust(split).estimate
    found = segment_values(split, segment, 4, value, np.zeros(2))
    assert found[0, 0] > found[0, 1]
    assert found[1, 1] > found[1, 0]
    np.testing.assert_allclose(found[3], value)
    policy = cross_fitted_segment_policy(split, segment, fits_of(split).folds, np.zeros(2))
    assert routing_gain(split, policy, best="bee", contenders=1).gain > 0.2


def test_a_cost_decides_and_a_policy_that_is_too_expensive_is_not_written():
    found = dc.route(load(tables()), "exp-only", options=EvaluationOptions(cost={"ant": 0.9, "bee": 0.0}))
    assert found.policy.kind == "single"
    assert found.policy.default == "bee"
    assert "net value" in found.summary()


def test_a_gain_that_cannot_be_estimated_does_not_pay(learned):
    gain = learned.gain
    for supported in (True, False):
        assert routing_pays(gain, supported) == supported
        assert not routing_pays(replace(gain, gain=float("nan")), supported)
        assert not routing_pays(replace(gain, gain=gain.min_gain / 2), supported)


def test_impossible_kinds_are_refused_before_the_work(study):
    with pytest.raises(UsageError, match="name it with --by"):
        dc.route(study, kind="segments")
    with pytest.raises(UsageError, match="must be one of"):
        dc.route(study, kind="magic")
    without_text = {
        name: table.drop_columns(["context", "output"]).append_column("feature_x", pa.array(np.zeros(len(table))))
        for name, table in tables().items()
    }
    with pytest.raises(UsageError, match="needs the text"):
        dc.route(load(without_text), kind="context")
