"""A1: the draw of the models, against naive twins, exact laws and planted violations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deconfound.diagnose.assignment import Assignment, assignment, one_of_each, repeats_within
from deconfound.diagnose.context_blocks import components, context_blocks, hashed_contexts
from deconfound.diagnose.randomization import counts_p_value, expected_rows, pearson, randomization, weighted_p_value
from deconfound.diagnose.smoothing import Smoother, flipping, p_value, permuting, within
from deconfound.diagnose.timeline import timeline, waves
from tests.support.checking import MODELS, each, every, make_study


def drawn(model, propensity, names=MODELS):
    model = np.asarray(model)
    return Assignment(tuple(names), model, np.asarray(propensity, float), np.arange(len(model)), by_cluster=False)


def verdicts(study, **more):
    return {finding.check: finding for finding in randomization(study, **more)}


@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_the_closed_form_predicts_each_row_as_a_refit_without_it_does(penalty):
    """Naive twin: drop a row, solve the ridge system of the others, predict the row; features stay centred at all."""
    rng = np.random.default_rng(0)
    features, target = rng.standard_normal((12, 4)), rng.standard_normal((12, 2))
    centred = features - features.mean(axis=0)
    expected = np.empty_like(target)
    for row in range(12):
        rest = np.arange(12) != row
        kept = centred[rest]
        coef = np.linalg.solve(kept.T @ kept + penalty * np.eye(4), kept.T @ target[rest])
        expected[row] = centred[row] @ coef
    smoother = Smoother.of(features, penalty)
    assert smoother.predict(target) == pytest.approx(expected)
    assert smoother.agreement(target.T[:, None])[0] == pytest.approx((expected * target).sum())


def test_the_p_value_counts_resamples_as_a_loop_of_refits_does():
    rng = np.random.default_rng(1)
    features, model = rng.standard_normal((15, 2)), rng.integers(3, size=15)
    target = np.eye(3)[model] - np.eye(3)[model].mean(axis=0)
    smoother, resample = Smoother.of(features, 1.0), permuting(target, np.zeros(15, dtype=int))
    targets = resample(np.random.default_rng(7), 199)
    naive = [(smoother.predict(t) * t).sum() for t in (target, *np.moveaxis(targets, 0, 2))]
    expected = np.mean(np.array(naive) >= naive[0] - 1e-9)
    assert p_value([smoother], target, resample, np.random.default_rng(7), 199) == pytest.approx(expected)


def test_features_that_do_not_vary_predict_nothing():
    target = np.random.default_rng(0).standard_normal((20, 2))
    flat = Smoother.of(np.ones((20, 3)), 1.0)
    assert p_value([flat], target, permuting(target, np.zeros(20, dtype=int)), np.random.default_rng(0), 99) == 1.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(0, 99))
def test_rows_are_exchanged_only_within_their_stratum(strata, seed):
    strata = np.array(strata)
    target = np.arange(len(strata), dtype=float)[:, None]
    for made in permuting(target, strata)(np.random.default_rng(seed), 3)[0]:
        assert sorted(made) == list(range(len(strata)))
        assert (strata[made.astype(int)] == strata).all()


def test_clusters_are_flipped_as_a_whole():
    target = np.arange(1.0, 7.0)[:, None]
    made = flipping(target, np.array([0, 0, 1, 1, 2, 2]))(np.random.default_rng(0), 50)[0] / target[:, 0]
    assert (made[:, ::2] == made[:, 1::2]).all()
    assert {tuple(signs) for signs in made[:, ::2]} == {(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)}


def test_within_takes_each_strata_mean_away():
    values, strata = np.array([[1.0], [3.0], [5.0]]), np.array([4, 4, 9])
    assert within(values, strata).ravel().tolist() == [-1.0, 1.0, 0.0]


def test_counts_are_judged_as_by_the_exact_multinomial_law():
    """Two models and twelve rows: the p-value must be the binomial one up to Monte Carlo error.

    Exact: two-sided probability of counts as unequal as 10 to 2, 2 * P(X >= 10) = 0.0386. With 9,999 draws the
    standard error is 0.0019; five of them are allowed.
    """
    assigned = drawn([0] * 10 + [1] * 2, [0.5] * 12, ("ant", "bee"))
    exact = stats.binomtest(10, 12, 0.5).pvalue
    assert counts_p_value(assigned, 0) == pytest.approx(exact, abs=0.01)
    assert pearson(np.array([[10, 2]]), np.array([6.0, 6.0]))[0] == pytest.approx(stats.chisquare([10, 2]).statistic)


def test_a_model_that_should_occur_and_never_does_is_missed():
    """Declared thirds, and none of sixty rows has the third model."""
    assert counts_p_value(drawn([0, 1] * 30, [1 / 3] * 60, ("ant", "bee")), 0) < 0.001
    assert counts_p_value(drawn([0, 1] * 30, [1 / 3] * 60), 0) < 0.001
    assert counts_p_value(drawn([0, 1] * 30, [0.5] * 60), 0) == 1.0


def test_the_weighted_score_is_the_binomial_score_where_propensities_are_equal():
    """With one propensity p a model, z is (count - n p) / sqrt(n p (1 - p))."""
    assigned = drawn([0] * 30 + [1] * 20, [0.4] * 30 + [0.6] * 20, ("ant", "bee"))
    z = (30 - 50 * 0.4) / np.sqrt(50 * 0.4 * 0.6)
    assert weighted_p_value(assigned) == pytest.approx(min(1.0, 2 * 2 * stats.norm.sf(z)))
    assert expected_rows(assigned) == pytest.approx([20.0, 30.0])


def test_propensities_that_vary_are_told_from_one_for_all():
    assert drawn([0, 1, 0, 1], [0.3, 0.7, 0.3, 0.7], ("ant", "bee")).shares == pytest.approx([0.3, 0.7])
    assert drawn([0, 1, 0, 1], [0.3, 0.7, 0.6, 0.4], ("ant", "bee")).shares is None
    assert drawn([0, 1], [0.9, 0.9], ("ant", "bee")).shares is None  # they sum to more than one
    assert drawn([0, 1, 0, 1], [0.33, 0.33, 0.333, 0.333]).shares == pytest.approx([0.3315, 0.3315, 0.337], abs=1e-3)


def test_a_draw_by_cluster_is_noticed_and_counted_once():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 3)
    sticky, free = rng.integers(3, size=40)[person], rng.integers(3, size=120)
    assert repeats_within(person, sticky, rng) < 0.01
    assert repeats_within(person, free, rng) > 0.01
    rows = one_of_each(person, rng)
    assert person[rows].tolist() == list(range(40))
    study = make_study(experiment=each(lambda at, row: row.update(cluster=f"p{at // 3}", model=MODELS[sticky[at]])))
    assert assignment(study, 0).by_cluster
    assert len(assignment(study, 0)) == 30


def test_a_sound_experiment_passes_all_three_tests():
    found = verdicts(make_study(seed=4))
    assert [finding.verdict for finding in found.values()] == ["pass"] * 3
    assert all(finding.number is not None and finding.assumption == "A1" for finding in found.values())


def test_rows_lost_for_one_model_fail_the_sample_ratio():
    lost = verdicts(make_study(experiment=lambda rows: rows.__delitem__(slice(None, None, 1)) or rows.extend(_lost())))
    assert lost["sample ratio"].verdict == "fail"
    assert "ant was drawn in" in lost["sample ratio"].message


def _lost():
    rows = []
    make_study(seed=0, experiment=lambda held: rows.extend(dict(row) for row in held))
    return [row for at, row in enumerate(rows) if row["model"] != "ant" or at % 8 == 0]


def test_a_draw_that_changes_on_the_way_fails_over_time():
    found = verdicts(make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 60 else None)))
    assert found["assignment over time"].verdict == "fail"
    assert "cat went from" in found["assignment over time"].message


def test_contexts_that_decide_the_model_fail():
    def route(_, row):
        row["model"] = "ant" if len(str(row["context"])) > 60 else row["model"]

    assert verdicts(make_study(experiment=each(route)))["assignment by context"].verdict == "fail"


def test_a_declared_rule_is_no_violation():
    """Long contexts go to ant with probability 0.8, as declared; undeclared, the same rows fail."""
    rng = np.random.default_rng(3)

    def route(_, row):
        shares = (0.8, 0.1, 0.1) if len(str(row["context"])) > 60 else (0.2, 0.4, 0.4)
        at = int(rng.choice(3, p=shares))
        row.update(model=MODELS[at], propensity=shares[at])

    declared = verdicts(make_study(rows=240, experiment=each(route)))
    assert [finding.verdict for finding in declared.values()] == ["pass"] * 3
    rng = np.random.default_rng(3)
    hidden = verdicts(make_study(rows=240, experiment=each(lambda at, row: (route(at, row), row.pop("propensity")))))
    assert hidden["assignment by context"].verdict == "fail"


def test_without_time_a_drift_cannot_be_told():
    found = verdicts(make_study(experiment=each(lambda _, row: row.pop("time"))))
    assert found["assignment over time"].verdict == "cannot tell"
    assert "time" in found["assignment over time"].remedy


@pytest.mark.parametrize("rows", [2, 3, 9])
def test_a_handful_of_rows_is_too_few(rows):
    found = verdicts(make_study(rows=rows))
    assert {finding.verdict for finding in found.values()} == {"cannot tell"}


def test_one_context_for_all_rows_says_nothing_about_contexts():
    def same(rows):
        for at, row in enumerate(rows):
            row.update(context_id="one", context="the same", draw=at)

    study = make_study(
        experiment=lambda rows: [row.update(context_id="one", context="the same") for row in rows], replay=same
    )
    assert verdicts(study)["assignment by context"].verdict == "cannot tell"


def test_features_of_contexts_come_from_the_replay_when_there_is_no_text():
    """A row's own feature may be its output's; only what all models share on a context may count."""
    model_effect = {"ant": 0.0, "bee": 5.0, "cat": 9.0}

    def strip(rows):
        for row in rows:
            row.pop("context")
            row.pop("output")
            row["feature_output"] = model_effect[row["model"]]
            row["feature_context"] = float(len(row["context_id"]))

    study = make_study(seed=4, log=strip, experiment=strip, replay=strip)
    (block,) = context_blocks(study, study.experiment.arrow, 0)
    assert block[:, list(study.feature_names).index("feature_output")] == pytest.approx(0.0)
    assert block[:, list(study.feature_names).index("feature_context")].std() > 0
    assert verdicts(study)["assignment by context"].verdict == "pass"


def test_components_span_what_a_full_decomposition_spans():
    texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in ("house", "tree", "car", "boat")]
    rows = hashed_contexts(texts)
    centred = rows.toarray() - rows.toarray().mean(axis=0)
    size = np.linalg.svd(centred, compute_uv=False)
    found = components(rows, 0)
    assert np.linalg.norm(found, axis=0)[:8] == pytest.approx(size[:8], rel=1e-6)


def test_only_the_order_of_times_counts():
    time = np.array([5.0, 1.0, 9.0, 1.0])
    assert timeline(time).tolist() == [0.625, 0.25, 0.875, 0.25]
    assert (waves(time) == waves(np.exp(time))).all()
    even = waves(np.arange(100.0))
    assert even.T @ even / 100 == pytest.approx(np.eye(4), abs=1e-9)


def test_the_same_seed_gives_the_same_findings_and_level_moves_the_threshold():
    study = make_study(seed=4)
    assert randomization(study, 3) == randomization(study, 3)
    strict = verdicts(study, level=1e-6)
    assert strict["assignment over time"].verdict == "warn"


def test_a_propensity_of_one_is_no_division_by_zero():
    found = verdicts(make_study(experiment=every(propensity=1.0)))
    assert found["sample ratio"].verdict == "fail"
