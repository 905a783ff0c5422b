"""Outcomes that are missing by model or by output fail; those that are missing by chance, user or context do not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from benchmarks.missing_outcomes import INDEPENDENT, SCENARIOS, make_study, simulate_rows
from deconfound.diagnose.missing_outcomes import (
    BY_MODEL,
    BY_OUTPUT,
    LOG_RATES,
    _associations,
    check_missing_outcomes,
)
from deconfound.diagnose.multiplicity import judge
from deconfound.features import FeatureSpec
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.features.study_arrays import StudyArrays
from tests.support.results import load_demo, small_demo


def findings_of(study, seed=0):
    ordered = study.in_content_order()
    arrays = StudyArrays.from_study(ordered, FeatureSpec())
    return {each.check: each for each in judge(check_missing_outcomes(ordered, arrays, seed), 0.95)}


def simulated(scenario, seed):
    rng = np.random.default_rng(seed)
    rows = simulate_rows(rng)
    return make_study(rows, rng.random(len(rows.model)) < SCENARIOS[scenario](rows, rng), rng)


def with_lost_outcomes(table, losing):
    outcome = [None if losing(row) else row["outcome"] for row in table.to_pylist()]
    return table.set_column(table.column_names.index("outcome"), "outcome", pa.array(outcome, pa.float64()))


def lose_successes(demo, model, count):
    """The first outcomes above one half of one model are lost; all others stay."""
    lost = iter(range(count))
    return with_lost_outcomes(
        demo.experiment, lambda row: row["model"] == model and row["outcome"] > 0.5 and next(lost, None) is not None
    )


def test_a_study_with_every_outcome_has_no_findings():
    assert findings_of(load_demo(small_demo())) == {}


def test_successes_lost_for_one_model_only_fail_the_check_and_the_command(tmp_path, capsys):
    """The reproducer of a confident wrong answer: 18 successes of one model lost, none elsewhere."""
    from deconfound.cli import main
    from tests.support.commands import evaluate_command

    demo = small_demo()
    demo.write(tmp_path)
    experiment = lose_successes(demo, "cedar", 18)
    assert experiment["outcome"].null_count >= 10
    pa.parquet.write_table(experiment, tmp_path / "experiment.parquet")
    assert main(evaluate_command(tmp_path, "--family", "exp-only", "--refits", "2")) == 3
    text = capsys.readouterr().out
    assert text.startswith("Assumption check failed: A1 (randomization).")
    assert "Bounds hold with 95 % confidence whatever the missing outcomes are." in text
    assert "have no outcome, and models differ" in text


@pytest.mark.parametrize("missing", ["some", "nearly all"])
def test_bounds_over_the_whole_scale_are_explained(missing):
    demo = small_demo()
    rated = iter(range(2))
    lost = with_lost_outcomes(demo.experiment, lambda row: row["model"] == "cedar" and next(rated, None) is None)
    if missing == "some":
        lost = lose_successes(demo, "cedar", 10)
    text = " ".join(dc.evaluate(load_demo(demo, experiment=lost), family="exp-only").summary().split())
    assert "Bounds hold with" in text
    is_explained = "Bounds over nearly the whole scale say nothing about a model" in text
    assert is_explained == (missing == "nearly all")


@pytest.mark.parametrize("seed", range(3))
def test_outcomes_missing_by_output_are_found_with_the_statistic_and_its_direction(seed):
    finding = findings_of(simulated("by output", seed))[BY_OUTPUT]
    assert finding.verdict == "fail"
    assert (finding.details.statistic, finding.details.higher) == ("feature_output", True)


@pytest.mark.slow
def test_false_alarms_are_rare_where_models_and_outputs_do_not_matter():
    """At most 5 % of studies may warn; of 60, more than 9 do with a probability below 0.001 (binomial)."""
    warned = 0
    for seed in range(20):
        for scenario in INDEPENDENT:
            verdicts = {each.verdict for each in findings_of(simulated(scenario, 500 + seed), seed).values()}
            warned += bool(verdicts & {"warn", "fail"})
    assert warned <= 9


def test_the_randomization_is_tested_on_all_randomized_rows():
    """Otherwise lost outcomes would look like a wrong assignment."""
    demo = small_demo()
    study = load_demo(demo, experiment=lose_successes(demo, "cedar", 18))
    ratio = next(each for each in dc.check(study) if each.check == "sample ratio")
    assert sum(ratio.details.counts) == demo.experiment.num_rows
    assert ratio.verdict == "pass"


def test_few_missing_outcomes_are_counted_and_not_compared_by_output():
    demo = small_demo()
    found = findings_of(load_demo(demo, experiment=lose_successes(demo, "cedar", 2)))
    assert found[BY_MODEL].verdict == "pass"
    assert found[BY_OUTPUT].verdict == "cannot tell"
    assert "2 of" in found[BY_OUTPUT].message


def test_rating_rates_of_the_log_are_reported_by_model():
    demo = small_demo()
    rng = np.random.default_rng(0)
    even = findings_of(load_demo(demo, log=with_lost_outcomes(demo.log, lambda _row: rng.random() < 0.5)))
    assert even[LOG_RATES].verdict == "pass"
    rate = {name: 0.2 + 0.1 * k for k, name in enumerate(sorted(set(demo.log["model"].to_pylist())))}
    uneven = findings_of(
        load_demo(demo, log=with_lost_outcomes(demo.log, lambda row: rng.random() < rate[row["model"]]))
    )
    assert uneven[LOG_RATES].verdict == "warn"
    assert "rated at different rates" in uneven[LOG_RATES].message


def test_row_order_does_not_matter():
    study = simulated("by output", 1)
    shuffled = study.experiment.arrow.take(pa.array(np.random.default_rng(2).permutation(len(study.experiment))))
    both = pa.concat_tables([study.unrated_experiment.arrow, shuffled])
    again = dc.Study.from_tables(study.log, dc.Experiment(both, "experiment"), study.replay)
    one, other = findings_of(study), findings_of(again)
    assert [each.p_value for each in one.values()] == [each.p_value for each in other.values()]


def test_a_model_that_nobody_rated_is_counted():
    """It is not compared, and occurs only in rows without an outcome."""
    demo = small_demo()
    rows = demo.experiment.slice(0, 8)
    other = rows.set_column(rows.column_names.index("model"), "model", pa.array(["newcomer"] * 8))
    other = with_lost_outcomes(other, lambda _row: True)
    study = load_demo(demo, experiment=pa.concat_tables([demo.experiment, other]), models=study_models(demo))
    assert study.uncompared_models == ("newcomer",)
    details = findings_of(study)[BY_MODEL].details
    assert dict(zip(details.models, details.missing, strict=True))["newcomer"] == 8


def study_models(demo):
    return sorted(set(demo.replay["model"].to_pylist()))


def test_without_any_statistic_of_outputs_they_are_not_compared():
    demo = small_demo()
    study = load_demo(demo, experiment=with_lost_outcomes(demo.experiment, lambda row: row["outcome"] < 0.4))
    arrays = StudyArrays.from_study(study.in_content_order(), FeatureSpec(surface=False))
    found = {each.check: each for each in judge(check_missing_outcomes(study.in_content_order(), arrays, 0), 0.95)}
    assert found[BY_OUTPUT].verdict == "cannot tell"


def test_the_summary_says_what_bounds_are_about():
    demo = small_demo()
    study = load_demo(demo, experiment=with_lost_outcomes(demo.experiment, lambda row: row["outcome"] < 0.4))
    cost = dict.fromkeys(study_models(demo), 0.01)
    options = dc.EvaluationOptions(refits=2, cost=cost, target=demo.experiment.select(["context"]))
    text = " ".join(dc.evaluate(study, "exp-only", options=options).summary().split())
    assert "whatever the missing outcomes are, for the contexts of the experiment, before cost." in text


def test_users_who_never_rate_and_have_a_style_of_their_own_cause_no_alarm():
    """Rows of a user are no independent evidence: permuting rows finds a pattern in more than half of such studies.

    Of 40 studies at most 7 may have p < 0.05; at a rate of 5 %, more do with a probability of 0.001 (binomial).
    """
    small = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        user = np.repeat(np.arange(40), 6)
        style, unwilling = rng.standard_normal(40)[user], rng.random(40)[user] < 0.4
        model = rng.integers(3, size=240)
        outcome = np.where(unwilling, np.nan, 1.0)
        column = (style + 0.1 * rng.standard_normal(240))[:, None]
        rows = RandomizedRows(outcome, model, user, np.arange(240), np.full(240, 1 / 3), column, column, column)
        values = np.abs(_associations(column / np.linalg.norm(column), rows, rng)).max(axis=1)
        small += (values >= values[0]).mean() < 0.05
    assert small <= 7
