"""A1: clean and violated assignments of whole studies."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose.randomization import (
    AssignmentDrift,
    NotRandomized,
    SampleRatio,
    UnknownPropensities,
    check_randomization,
)
from tests.support.checking import MODELS, by_check, each, every, make_study


def findings(study, level=0.95):
    return by_check(check_randomization(study, 0), level)


def test_a_randomized_experiment_passes_all_three_tests():
    checks = findings(make_study(seed=4))
    assert [finding.verdict for finding in checks.values()] == ["pass"] * 3
    for finding in checks.values():
        assert finding.assumption == "A1"
        assert 0 < finding.p_value <= finding.adjusted_p_value <= 1
        assert np.isfinite(finding.statistic)


def test_lost_rows_of_one_model_fail_the_sample_ratio():
    def lose(rows):
        rows[:] = [row for at, row in enumerate(rows) if row["model"] != "ant" or at % 8 == 0]

    finding = findings(make_study(experiment=lose))["sample ratio"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, SampleRatio)
    assert finding.details.models == MODELS
    assert finding.details.counts[0] < finding.details.expected[0] / 3
    assert sum(finding.details.expected) == pytest.approx(sum(finding.details.counts))


def test_shares_that_change_during_the_experiment_fail_over_time():
    checks = findings(make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 60 else None)))
    finding = checks["assignment over time"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, AssignmentDrift)
    assert finding.details.model == "cat"
    assert finding.details.second_half > finding.details.first_half + 0.3


def test_contexts_that_decide_the_model_fail():
    def route(_, row):
        row["model"] = "ant" if len(str(row["context"])) > 60 else row["model"]

    assert findings(make_study(experiment=each(route)))["assignment by context"].verdict == "fail"


def routed(seed, *columns):
    """Long contexts go to ant with probability 0.8; only these propensity columns are declared."""
    rng = np.random.default_rng(seed)

    def route(_, row):
        shares = (0.8, 0.1, 0.1) if len(str(row["context"])) > 60 else (0.2, 0.4, 0.4)
        at = int(rng.choice(3, p=shares))
        declared = {"propensity": shares[at]} | {f"propensity_{MODELS[i]}": shares[i] for i in range(3)}
        row.update(model=MODELS[at], **{name: declared[name] for name in columns})

    return make_study(rows=240, experiment=each(route))


ALL_MODELS = tuple(f"propensity_{name}" for name in MODELS)


def test_a_declared_rule_is_no_violation():
    declared = findings(routed(3, *ALL_MODELS))
    assert [finding.verdict for finding in declared.values()] == ["pass"] * 3
    assert findings(routed(3))["assignment by context"].verdict == "fail"


def test_varying_propensities_of_the_assigned_model_alone_leave_the_assignment_open():
    for finding in findings(routed(3, "propensity")).values():
        assert finding.verdict == "cannot tell"
        assert finding.p_value is None
        assert finding.details == UnknownPropensities("experiment (Table)", MODELS)
        assert "propensity_ant, propensity_bee, propensity_cat" in finding.remedy


def test_with_all_propensities_lost_rows_are_detected():
    study = routed(3, "propensity", *ALL_MODELS)
    lost = (np.arange(240) % 4 > 0) & (np.array(study.experiment.arrow["model"].to_pylist()) == "ant")
    finding = findings(type(study).from_tables(study.log, study.experiment.filter(~lost), study.replay))["sample ratio"]
    assert finding.verdict == "fail"
    assert finding.details.counts[0] < finding.details.expected[0] / 2
    assert sum(finding.details.expected) == pytest.approx(sum(finding.details.counts))


def test_without_time_a_change_cannot_be_detected():
    checks = findings(make_study(experiment=each(lambda _, row: row.pop("time"))))
    assert checks["assignment over time"].verdict == "cannot tell"
    assert checks["assignment over time"].p_value is None


@pytest.mark.parametrize("rows", [2, 3, 9])
def test_a_handful_of_rows_is_too_few(rows):
    assert {finding.verdict for finding in findings(make_study(rows=rows)).values()} == {"cannot tell"}


def test_one_context_for_all_rows_cannot_be_tested():
    def same(rows):
        for at, row in enumerate(rows):
            row.update(context_id="one", context="the same", draw=at)

    study = make_study(
        experiment=lambda rows: [row.update(context_id="one", context="the same") for row in rows], replay=same
    )
    assert findings(study)["assignment by context"].verdict == "cannot tell"


def test_features_that_describe_the_output_do_not_count_as_context():
    effect = {"ant": 0.0, "bee": 5.0, "cat": 9.0}

    def strip(rows):
        for row in rows:
            row.pop("context")
            row.pop("output")
            row["feature_output"] = effect[row["model"]]
            row["feature_context"] = float(len(row["context_id"]))

    study = make_study(seed=4, log=strip, experiment=strip, replay=strip)
    assert findings(study)["assignment by context"].verdict == "pass"


def test_the_same_seed_gives_the_same_findings_and_the_level_moves_the_threshold():
    study = make_study(seed=4)
    assert check_randomization(study, 3) == check_randomization(study, 3)
    checks = findings(study, level=1e-6)
    assert checks["sample ratio"].adjusted_p_value < 1 - 1e-6
    assert checks["sample ratio"].verdict == "warn"


def test_a_propensity_of_one_in_every_row_is_no_randomization():
    checks = findings(make_study(experiment=every(propensity=1.0)))
    assert [finding.verdict for finding in checks.values()] == ["fail", "cannot tell", "cannot tell"]
    assert checks["sample ratio"].details == NotRandomized("experiment (Table)")
    assert checks["sample ratio"].p_value is None
