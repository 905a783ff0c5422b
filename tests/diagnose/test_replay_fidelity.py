"""A2: replayed outputs against the experiment's, in clean studies and in violated ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.replay_fidelity import (
    ModelSupport,
    OutputDifference,
    OutsideSupport,
    ReplayDraws,
    beta_binomial_tail,
    check_replay_fidelity,
    compare_experiment_outputs,
    pair_with_replay,
    share_outside,
    support_by_model,
    support_p_value,
)
from tests.support.checking import MODELS, by_check, each, make_study, study_arrays


def findings(study):
    return by_check(check_replay_fidelity(study_arrays(study), 0, 0.95))


def garbage(at):
    return " ".join(f"zx{at}q{i}" for i in range(40))


# --- fidelity ---


def test_a_faithful_replay_passes():
    checks = findings(make_study())
    assert {finding.verdict for finding in checks.values()} == {"pass"}
    assert {finding.assumption for finding in checks.values()} == {"A2"}
    assert checks["replay fidelity"].statistic == pytest.approx(0.5, abs=0.1)
    assert checks["replay support"].statistic < 0.2
    assert checks["replay draws"].statistic == 0.0


def test_one_model_replayed_with_another_prompt_fails_and_is_named():
    def greet(_, row):
        if row["model"] == "bee":
            row["output"] = f"Certainly! {row['output']}"

    finding = findings(make_study(rows=150, replay=each(greet)))["replay fidelity"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, OutputDifference)
    assert finding.details.other_source == "experiment"
    assert finding.details.models == ("bee",)
    assert finding.details.model_aucs[0] > 0.75


def test_a_truncated_replay_of_all_models_fails():
    cut = each(lambda _, row: row.update(output=" ".join(row["output"].split()[:3])))
    assert findings(make_study(rows=150, replay=cut))["replay fidelity"].verdict == "fail"


def test_deterministic_models_pass_with_an_auc_of_one_half():
    def fixed(_, row):
        row["output"] = f"{row['model']} on {row['context_id']}"

    finding = findings(make_study(experiment=each(fixed), replay=each(fixed)))["replay fidelity"]
    assert (finding.verdict, finding.statistic, finding.p_value) == ("pass", 0.5, 1.0)


def test_every_experiment_row_is_paired_with_its_own_cell():
    """Naive twin of the strata: a cell contains what the tables have for one context and one model."""
    study = make_study(rows=12)
    arrays = study_arrays(study)
    trial = arrays.experiment
    data = pair_with_replay(arrays, trial.blocks, trial.context, trial.model, 0)
    expected = {
        (arrays.replay.contexts.index(row["context_id"]), MODELS.index(row["model"]))
        for row in study.experiment.arrow.to_pylist()
    }
    assert {(int(code) // 3, int(code) % 3) for code in data.stratum} == expected
    assert data.group.sum() == len(data.group) / 2 == 12
    np.testing.assert_array_equal(data.subgroup, data.stratum % 3)


def test_copies_and_retries_of_experiment_rows_are_counted_and_change_no_verdict():
    """Every row occurs three times, with outcomes of its own; the cells have one draw of the replay."""

    def retry(rows):
        copies = [dict(row, outcome=1.0 - row["outcome"], time=row["time"] + 0.1 * k) for k in (1, 2) for row in rows]
        rows.extend(copies)

    def cluster(rows):
        for at, row in enumerate(rows):
            row["cluster"] = f"user {at}"
        retry(rows)

    finding = findings(make_study(experiment=cluster))["replay fidelity"]
    assert finding.verdict == "pass"
    assert finding.details.repeated_rows == 180
    assert finding.details.cells == 90


def test_a_replay_that_differs_names_copies_first():
    cut = each(lambda _, row: row.update(output=" ".join(row["output"].split()[:3])))
    finding = findings(make_study(rows=150, replay=cut, experiment=lambda rows: rows.extend(map(dict, rows[:20]))))
    assert finding["replay fidelity"].verdict == "fail"
    assert finding["replay fidelity"].message.startswith("Copies, retries or cached outputs in the experiment: 20 rows")
    assert finding["replay fidelity"].remedy.startswith("Remove copies first.")


def test_rows_of_models_that_are_not_compared_are_left_out():
    study = make_study(rows=60)
    fewer = Study.from_tables(study.log, study.experiment, study.replay, models=("ant", "bee"))
    counts = study.experiment.arrow["model"].to_pylist()
    result = compare_experiment_outputs(study_arrays(fewer), 0)
    assert result.strata == counts.count("ant") + counts.count("bee")


@pytest.mark.parametrize("empty", [("experiment", "replay"), ("replay",), ("experiment",)])
def test_empty_outputs_end_in_a_verdict(empty):
    changes = {name: each(lambda _, row: row.update(output=" ")) for name in empty}
    assert findings(make_study(**changes))["replay fidelity"].verdict == ("pass" if len(empty) == 2 else "fail")


def test_a_handful_of_rows_cannot_be_compared():
    checks = findings(make_study(rows=4))
    assert checks["replay fidelity"].verdict == "cannot tell"
    assert checks["replay support"].verdict == "cannot tell"
    assert checks["replay fidelity"].statistic is None


def test_a_study_of_columns_alone_is_compared_by_them():
    def study(shift):
        rng = np.random.default_rng(0)
        context = np.repeat(np.arange(60), 2)
        center = rng.standard_normal(60)
        model = rng.integers(2, size=60)
        replayed = center[context] + np.tile([0.0, 1.0], 60) + 0.3 * rng.standard_normal(120)
        own = center + model + 0.3 * rng.standard_normal(60) + shift

        def table(at, codes, values, **more):
            ids, names = [f"c{i}" for i in at], [MODELS[code] for code in codes]
            return pa.table({"context_id": ids, "model": names, "feature_a": values, **more})

        rated = table(np.arange(60), model, own, outcome=rng.random(60))
        replay = table(context, np.tile([0, 1], 60), replayed, draw=np.zeros(120, dtype=np.int64))
        return Study.from_tables(Log(rated, "log"), Experiment(rated, "experiment"), Replay(replay, "replay"))

    assert findings(study(0.0))["replay fidelity"].verdict == "pass"
    assert findings(study(1.0))["replay fidelity"].verdict == "fail"


# --- support ---


def test_garbage_in_one_replay_is_outside_the_support():
    def garble(at, row):
        if row["model"] == "cat" and at % 9 == 2:
            row["output"] = garbage(at)

    finding = findings(make_study(rows=180, replay=each(garble)))["replay support"]
    assert finding.verdict == "warn"
    assert isinstance(finding.details, OutsideSupport)
    assert finding.details.models == ("cat",)
    assert 0.25 < finding.statistic == finding.details.largest_share < 0.45


def test_support_is_not_tested_where_propensities_differ_by_context():
    """A model that some contexts rarely get has other outputs in the experiment than in the replay, by design."""

    def uneven(at, row):
        row["propensity"] = 0.2 if at % 2 else 0.4

    study = make_study(rows=120, experiment=each(uneven), replay=each(lambda at, row: row.update(output=garbage(at))))
    finding = findings(study)["replay support"]
    assert finding.verdict == "cannot tell"
    assert "propensities that differ by context" in finding.message


def test_a_replay_of_nothing_but_garbage_fails():
    finding = findings(make_study(rows=120, replay=each(lambda at, row: row.update(output=garbage(at)))))
    assert (finding["replay support"].verdict, finding["replay support"].statistic) == ("fail", 1.0)


def test_small_shares_count_as_p_one_and_others_are_adjusted_for_the_number_of_models():
    assert support_p_value((ModelSupport(0, 0.04, 1e-9), ModelSupport(1, 0.3, 0.01))) == pytest.approx(0.02)
    assert support_p_value((ModelSupport(0, 0.04, 1e-9),)) == 1.0
    assert support_p_value((ModelSupport(0, 0.2, 0.7), ModelSupport(1, 0.3, 0.8))) == 1.0


def test_the_share_outside_has_the_distribution_of_order_statistics():
    """Closed form: for n = 1 and N = 1 one half lies beyond; for n = 2, N = 1 a third lies beyond both."""
    assert share_outside(np.array([1.0]), np.array([2.0])) == (1.0, pytest.approx(1 / 2))
    assert share_outside(np.array([1.0, 2.0]), np.array([3.0])) == (1.0, pytest.approx(1 / 3))
    assert share_outside(np.array([1.0, 2.0]), np.array([1.5])) == (0.0, 1.0)


@pytest.mark.parametrize(("count", "trials", "a", "b"), [(0, 9, 2, 3), (3, 9, 2, 30), (9, 9, 1, 1), (40, 200, 6, 95)])
def test_the_tail_of_the_beta_binomial_distribution(count: int, trials: int, a: int, b: int) -> None:
    expected = stats.betabinom.sf(count - 1, trials, a, b)
    assert beta_binomial_tail(count, trials, a, b) == pytest.approx(expected, rel=1e-9)


def test_the_p_value_of_the_share_outside_is_valid():
    """Independent distances: p-values below 0.1 in at most 10 % of 2,000 draws, plus 4 standard errors."""
    rng = np.random.default_rng(0)
    p_values = [share_outside(rng.random(150), rng.random(100))[1] for _ in range(2000)]
    assert np.mean(np.array(p_values) <= 0.1) < 0.1 + 4 * np.sqrt(0.09 / 2000)
    assert stats.kstest(p_values, "uniform", alternative="greater").pvalue > 0.001


def test_models_with_few_experiment_rows_are_listed_as_unchecked():
    def rare(at, row):
        row["model"] = "cat" if at < 3 else MODELS[at % 2]

    study = make_study(experiment=each(rare))
    assert [support.model for support in support_by_model(study_arrays(study), 0)] == [0, 1]
    assert findings(study)["replay support"].details.unchecked_models == ("cat",)


# --- draws ---


def test_contexts_without_every_model_and_cells_without_every_draw_are_counted():
    def change(rows):
        for row in rows:
            row["draw"] = 0
        rows += [dict(row, draw=1) for row in rows]
        del rows[-5:]
        rows.append(dict(rows[0], context_id="further", context="a further context", draw=0))

    finding = findings(make_study(replay=change))["replay draws"]
    assert finding.verdict == "warn"
    assert finding.details == ReplayDraws(91, 1, 271, 6, 2, 2)
    assert finding.statistic == pytest.approx((1 * 3 + 6) / 273)


def test_a_baseline_with_one_draw_is_complete():
    """What always writes the same is drawn once where others are drawn twice."""

    def change(rows):
        for row in rows:
            row["draw"] = 0
        rows += [dict(row, draw=1) for row in rows if row["model"] != "cat"]

    finding = findings(make_study(replay=change))["replay draws"]
    assert finding.verdict == "pass"
    assert finding.details == ReplayDraws(90, 0, 270, 0, 2, 1)
    assert "1 to 2 draws each" in finding.message


def test_a_context_that_was_replayed_more_often_leaves_the_others_complete():
    def change(rows):
        rows += [dict(row, draw=9) for row in rows[:3]]

    finding = findings(make_study(replay=change))["replay draws"]
    assert (finding.verdict, finding.details.short_cells) == ("pass", 0)
