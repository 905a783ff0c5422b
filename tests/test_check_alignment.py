"""A5: whose contexts they are, and weights that carry values over to others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose import target as weighting
from deconfound.diagnose.alignment import alignment, drawn
from deconfound.diagnose.contexts import Contexts, columns_of_contexts
from deconfound.diagnose.target import Weights, logistic, overlap, required, reweight, target_weights
from deconfound.errors import AssumptionError, DataError, UsageError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from tests.support.checking import WORDS, each, make_study

OTHER = ("invoice", "router", "kettle", "passport", "violin")


def found(study, target=None, seed=0):
    material = StudyArrays.from_study(study, FeatureSpec(source="text" if study.has_text else "columns"))
    return {finding.check: finding for finding in alignment(material, study, target, seed, 0.95)}


def text(rng, words=WORDS):
    """A few words, and one that stands nowhere else."""
    own = "".join(rng.choice(list("bcdfghjk"), 8))
    return " ".join([*rng.choice(words, int(rng.integers(3, 12))), own])


def plain(seed=0, rows=90, log_words=WORDS, topics=(WORDS,), further=()):
    """A study whose contexts are nothing but words, of one list in log and experiment if not told otherwise."""
    rng = np.random.default_rng([seed, 1])
    texts = {f"case {i}": text(rng, topics[i % len(topics)]) for i in range(rows)}
    texts |= {f"log {i}": text(rng, log_words) for i in range(2 * rows)}
    rename = each(lambda _, row: row.update(context=texts[row["context_id"]]))

    def replay(rows):
        rename(rows)
        for at, words in enumerate(further):
            context = text(rng, words)
            rows += [dict(row, context_id=f"more {at}", context=context) for row in rows[:3]]

    return make_study(seed, rows, log=rename, experiment=rename, replay=replay)


def columns_study(shift=0.0, own=False, rows=80, further=60):
    """A study without text: feature_a is about the output and, if not ``own``, feature_x about the context."""
    rng = np.random.default_rng(3)
    sizes = {"e": rows, "l": 2 * rows, "r": further}
    x = {f"{kind}{i}": rng.standard_normal() + shift * (kind != "e") for kind, n in sizes.items() for i in range(n)}

    def table(ids, models, **more):
        held = {"context_id": ids, "model": models, "feature_a": [x[i] + rng.standard_normal() for i in ids]}
        return pa.table(held | ({} if own else {"feature_x": [x[i] for i in ids]}) | more)

    names = [[i for i in x if i.startswith(kind)] for kind in "elr"]
    replayed = [i for i in names[0] + names[2] for _ in range(2)]
    replay = table(replayed, ["ant", "bee"] * (rows + further), draw=np.zeros(len(replayed), dtype=np.int64))
    judged = [table(ids, rng.choice(["ant", "bee"], len(ids)), outcome=rng.random(len(ids))) for ids in names[:2]]
    return Study.from_tables(Log(judged[1], "log"), Experiment(judged[0], "experiment"), Replay(replay, "replay"))


# --- which contexts are set against which ---


def keys(ours, theirs, clusters=(None, None), seed=0):
    tables = [
        Contexts(np.array(key), None if cluster is None else np.array(cluster), pa.table({}))
        for key, cluster in zip((ours, theirs), clusters, strict=True)
    ]
    rows = drawn(*tables, seed)
    return [sorted(table.key[index].tolist()) for table, index in zip(tables, rows, strict=True)]


def test_contexts_of_their_own_count_once_each():
    assert keys([1, 1, 2, 3], [4, 5, 5]) == [[1, 2, 3], [4, 5]]


def test_a_part_of_a_list_is_set_against_the_rest_of_it():
    assert keys([1, 2, 2], [1, 2, 3, 4]) == [[1, 2], [3, 4]]
    assert keys([1, 2, 3], [3, 3]) == [[1, 2], [3]]


def test_the_same_contexts_leave_nothing_to_compare():
    assert keys([1, 2, 2], [2, 1]) == [[], []]


def test_of_a_cluster_one_row_is_taken():
    for seed in range(5):
        ours, theirs = keys([1, 2, 3, 4], [5, 6, 7], ([0, 0, 0, 1], [0, 0, 1]), seed)
        assert 4 in ours
        assert len(ours) == len(theirs) == 2


def test_popular_contexts_are_left_out_on_equal_terms():
    """Both sources draw alike from 300 popular and many rare contexts; the log is ten times as long.

    Of what is left, popular contexts must be as common on both sides: over 200 studies the mean difference of the
    shares has standard error 0.004. With every row of both they would differ by 0.1.
    """
    shares = []
    for seed in range(200):
        rng = np.random.default_rng([8, seed])
        held = [
            np.where(rng.random(n) < 0.4, rng.integers(300, size=n), rng.integers(300, 10**6, n)) for n in (100, 1000)
        ]
        ours, theirs = keys(*held, seed=seed)
        shares.append(np.mean(np.array(ours) < 300) - np.mean(np.array(theirs) < 300))
    assert abs(np.mean(shares)) < 0.016


# --- findings ---


def test_contexts_of_one_population_pass():
    findings = found(plain())
    assert [(f.check, f.verdict, f.assumption) for f in findings.values()] == [("contexts of the log", "pass", "A5")]


def test_other_contexts_in_the_log_warn_and_never_fail():
    finding = found(plain(log_words=OTHER))["contexts of the log"]
    assert finding.verdict == "warn"
    assert finding.number > 0.8
    assert "stay right" in finding.message
    assert finding.remedy


def test_replay_beyond_the_experiment_is_looked_at():
    sound = found(plain(further=[WORDS] * 90))
    assert sound["contexts of the replay"].verdict == "pass"
    shifted = found(plain(further=[OTHER] * 90))
    assert shifted["contexts of the replay"].verdict == "warn"
    assert shifted["contexts of the log"].verdict == "pass"


def test_a_target_like_the_experiment_costs_little_and_another_much():
    rng = np.random.default_rng(5)
    like = found(plain(), pa.table({"context": [text(rng) for _ in range(150)]}))
    assert like["contexts of the target"].verdict == "pass"
    assert like["overlap with the target"].verdict == "pass"
    assert like["overlap with the target"].number > 0.8
    unlike = found(plain(), pa.table({"context": [f"{text(rng, OTHER)} please " * 9 for _ in range(150)]}))
    assert unlike["contexts of the target"].verdict == "warn"
    assert unlike["overlap with the target"].verdict == "fail"


def test_the_experiment_itself_is_a_target_at_no_cost():
    study = plain()
    findings = found(study, study.experiment.arrow.select(["context_id"]))
    assert "same contexts" in findings["contexts of the target"].message
    assert findings["overlap with the target"].number == pytest.approx(1.0, abs=0.05)


def test_weights_come_in_the_order_of_the_trial():
    """Half of the experiment's contexts use the target's words: those rows, wherever they stand, must gain weight."""
    study = plain(rows=120, topics=(WORDS, OTHER))
    material = StudyArrays.from_study(study, FeatureSpec())
    rng = np.random.default_rng(6)
    target = pa.table({"context": [text(rng, OTHER if i % 5 else WORDS) for i in range(200)]})
    weights = target_weights(material, study, target, 0).weight
    names = [material.replay.contexts[code] for code in material.experiment.context]
    wanted = np.array([int(name.split()[1]) % 2 == 1 for name in names])
    assert weights[wanted].mean() > 2 * weights[~wanted].mean()


# --- studies without text ---


def test_columns_of_contexts_are_those_that_no_output_changes():
    assert columns_of_contexts(columns_study()) == ("feature_x",)
    assert columns_of_contexts(columns_study(own=True)) == ()


def test_columns_of_contexts_show_a_shift():
    assert {f.verdict for f in found(columns_study()).values()} == {"pass"}
    shifted = found(columns_study(shift=1.5))
    assert {f.check: f.verdict for f in shifted.values()} == {
        "contexts of the log": "warn",
        "contexts of the replay": "warn",
    }


def test_columns_of_outputs_alone_tell_of_replayed_contexts_only():
    target = pa.table({"context_id": ["a", "b"], "feature_a": [0.0, 1.0]})
    findings = found(columns_study(shift=2.5, own=True), target)
    assert {f.check: f.verdict for f in findings.values()} == {
        "contexts of the log": "cannot tell",
        "contexts of the replay": "warn",
        "contexts of the target": "cannot tell",
    }
    assert "feature_*" in findings["contexts of the log"].remedy


def test_a_target_of_columns_is_reached_or_not():
    rng = np.random.default_rng(7)

    def target(middle):
        return pa.table(
            {"context_id": [f"t{i}" for i in range(200)], "feature_x": middle + 0.7 * rng.standard_normal(200)}
        )

    assert found(columns_study(), target(0.4))["overlap with the target"].verdict in ("pass", "warn")
    assert found(columns_study(), target(9.0))["overlap with the target"].verdict == "fail"


# --- bad input ---


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (pa.table({"context": pa.array([], pa.string())}), "no rows"),
        (pa.table({"topic": ["a"]}), "no column context or context_id"),
        (pa.table({"context_id": ["nobody knows"]}), "nobody knows"),
    ],
)
def test_a_target_that_cannot_be_read_says_why(target, said):
    with pytest.raises(DataError, match=said):
        found(plain(), target)


@pytest.mark.parametrize("values", [[np.nan, 1.0], [None, 1.0]])
def test_a_target_with_holes_says_where(values):
    target = pa.table({"context_id": ["a", "b"], "feature_x": pa.array(values, pa.float64())})
    with pytest.raises(DataError, match="feature_x"):
        found(columns_study(), target)
    with pytest.raises(DataError, match="feature_x"):
        found(columns_study(), pa.table({"context_id": ["a"]}))


def test_few_contexts_tell_nothing():
    assert found(plain(rows=5))["contexts of the log"].verdict == "cannot tell"
    one = found(plain(), pa.table({"context": ["one context"] * 30}))
    assert one["contexts of the target"].verdict == "cannot tell"


def test_contexts_without_words_end_in_a_verdict():
    blank = each(lambda _, row: row.update(context="?" * (int(row["context_id"].split()[1]) + 1)))
    study = make_study(log=blank, experiment=blank, replay=blank)
    assert found(study)["contexts of the log"].verdict in ("pass", "warn")


# --- weights ---


def test_effective_rows_of_known_weights():
    """Kish: equal weights keep all rows; one row of weight n keeps one; 1 and 3 keep 16 / 10 of two."""
    assert Weights(np.ones(50), 1.0, 0.0).effective == pytest.approx(50)
    assert Weights(np.eye(9)[0] * 9, 1.0, 0.0).effective == pytest.approx(1)
    assert Weights(np.array([0.5, 1.5]), 1.0, 0.0).effective == pytest.approx(1.6)


def test_newton_finds_what_a_general_minimiser_finds():
    rng = np.random.default_rng(9)
    rows, group = rng.standard_normal((40, 3)), rng.random(40) < 0.3

    def loss(coef):
        logit = rows @ coef[:-1] + coef[-1]
        each_loss = np.log1p(np.exp(np.where(group, -logit, logit)))
        return 0.5 * each_loss[group].mean() + 0.5 * each_loss[~group].mean() + 0.05 * (coef[:-1] @ coef[:-1])

    expected = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(logistic(rows, group, 0.1), expected, atol=1e-5)


def shifted_rows(seed, shift, n=300, m=600, columns=3):
    rng = np.random.default_rng([10, seed])
    experiment, target = rng.standard_normal((n, columns)), rng.standard_normal((m, columns))
    target[:, 0] += shift
    return experiment, target


def test_weights_bring_the_mean_over_to_the_target():
    """Outcomes rise by 1 with x, whose mean moves by 0.8: without weights the error is 0.8, with them a third of it.

    The density ratio is exp(0.8 x - 0.32), so that (sum w)^2 / sum w^2 tends to n exp(-0.64) = 0.53 n.
    """
    errors, shares = [], []
    for seed in range(20):
        experiment, target = shifted_rows(seed, 0.8)
        weights = reweight(experiment, target, seed)
        assert weights.weight.mean() == pytest.approx(1.0)
        errors.append(np.mean(weights.weight * experiment[:, 0]) - 0.8)
        shares.append(weights.effective / len(experiment))
    assert np.sqrt(np.mean(np.square(errors))) < 0.8 / 3
    assert 0.4 < np.mean(shares) < 0.75


def test_weights_follow_the_density_ratio():
    experiment, target = shifted_rows(0, 0.8, n=1500, m=1500)
    weights = reweight(experiment, target, 0).weight
    truth = np.exp(0.8 * experiment[:, 0] - 0.32)
    assert np.corrcoef(np.log(weights), np.log(truth))[0, 1] > 0.95


def test_without_a_shift_the_weights_stay_near_one():
    shares = [reweight(*shifted_rows(seed, 0.0), seed).effective / 300 for seed in range(10)]
    assert np.mean(shares) > 0.97


def test_a_row_never_weighs_itself():
    """Without a shift, twenty columns and few rows: a classifier that had seen the rows would take noise for one."""
    shares = [reweight(*shifted_rows(seed, 0.0, n=60, m=80, columns=20), seed).effective / 60 for seed in range(10)]
    assert np.mean(shares) > 0.8


def test_no_overlap_is_refused():
    weights = reweight(*shifted_rows(0, 9.0), 0)
    finding = overlap(weights)
    assert finding.verdict == "fail"
    assert weights.outside > 0.9
    with pytest.raises(AssumptionError, match="does not reach the target"):
        required(weights)
    near = reweight(*shifted_rows(0, 0.3), 0)
    assert required(near) is near


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        (Weights(np.ones(100), 1.0, 0.0), "pass"),
        (Weights(np.ones(9), 1.0, 0.0), "fail"),
        (Weights(np.r_[np.full(12, 25.0), np.zeros(288)], 1.0, 0.0), "fail"),
        (Weights(np.r_[np.full(40, 2.5), np.zeros(60)], 1.0, 0.0), "warn"),
        (Weights(np.ones(100), 0.1, 0.0), "fail"),
        (Weights(np.ones(100), 1.0, 0.2), "warn"),
        (Weights(np.ones(100), 1.0, 0.6), "fail"),
    ],
)
def test_every_way_of_missing_the_target_is_seen(weights, verdict):
    assert overlap(weights).verdict == verdict


def test_hopeless_rows_end_in_an_error_or_in_equal_weights():
    with pytest.raises(UsageError, match="finite"):
        reweight(np.array([[np.nan]]), np.ones((3, 1)), 0)
    with pytest.raises(UsageError):
        reweight(np.zeros((0, 2)), np.ones((3, 2)), 0)
    same = reweight(np.ones((5, 2)), np.ones((4, 2)), 0)
    np.testing.assert_allclose(same.weight, 1.0)
    assert same.outside == 0.0
    assert reweight(np.ones((1, 1)), np.zeros((1, 1)), 0).weight == pytest.approx(1.0)


def test_no_weight_exceeds_its_bound():
    experiment, target = shifted_rows(1, 4.0, n=400)
    weights = reweight(experiment, target, 0).weight
    assert weights.max() <= weighting.MAX_WEIGHT * 400
    assert (weights >= 0).all()
