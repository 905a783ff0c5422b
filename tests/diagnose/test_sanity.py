"""Constants, duplicates and leaks in the tables."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose.sanity import ConstantOutcomes, DuplicateContexts, LabelLeakage, check_sanity
from tests.support.checking import each, every, make_study


def findings(study):
    return {finding.check: finding for finding in check_sanity(study)}


def test_a_clean_study_passes():
    assert {finding.verdict for finding in check_sanity(make_study())} == {"pass"}


def test_constant_outcomes_fail_in_the_experiment_and_warn_in_the_log():
    experiment = findings(make_study(experiment=every(outcome=0.5)))["constant outcomes"]
    assert experiment.verdict == "fail"
    assert experiment.details.in_experiment
    log = findings(make_study(log=every(outcome=0.5)))["constant outcomes"]
    assert log.verdict == "warn"
    assert not log.details.in_experiment
    assert log.details.models == ()


def test_a_model_with_constant_outcomes_is_named():
    def flatten(_, row):
        row["outcome"] = 1.0 if row["model"] == "bee" else row["outcome"]

    finding = findings(make_study(experiment=each(flatten)))["constant outcomes"]
    assert finding.verdict == "warn"
    assert isinstance(finding.details, ConstantOutcomes)
    assert finding.details.models == ("bee",)
    assert finding.statistic == pytest.approx(1 / 3)


def test_duplicate_rows_are_counted():
    finding = findings(make_study(experiment=lambda rows: rows.extend(dict(row) for row in rows[:9])))["duplicate rows"]
    assert finding.verdict == "warn"
    assert finding.details.rows == 9
    assert finding.details.certain
    assert finding.statistic == pytest.approx(9 / 99)


def test_retries_by_the_same_user_are_counted():
    """The same context, model and output with another outcome and time: only a user tells that it is a retry."""

    def retry(rows):
        rows.extend(dict(row, outcome=0.123, time=row["time"] + 0.5) for row in rows[:9])

    def by_user(rows):
        for at, row in enumerate(rows):
            row["cluster"] = f"user {at // 2}"
        retry(rows)

    assert findings(make_study(experiment=retry))["duplicate rows"].verdict == "pass"
    finding = findings(make_study(experiment=by_user))["duplicate rows"]
    assert finding.verdict == "warn"
    assert (finding.details.rows, finding.details.repeated_cells) == (0, 9)
    assert finding.statistic == pytest.approx(9 / 99)


def test_one_text_under_two_ids_warns():
    def rename(rows):
        for row in rows:
            if row["context_id"] in ("case 0", "case 1"):
                row["context"] = "case 0: the very same"

    finding = findings(make_study(experiment=rename, replay=rename))["duplicate contexts"]
    assert finding.verdict == "warn"
    assert finding.details == DuplicateContexts("experiment (Table)", texts=1, rows=2)
    assert finding.statistic == pytest.approx(2 / 90)


def copy_experiment_rows(count, **cells):
    experiment = []
    make_study(experiment=lambda rows: experiment.extend({**row, **cells} for row in rows[:count]))
    return lambda rows: rows.extend({key: row[key] for key in rows[0]} for row in experiment)


@pytest.mark.parametrize(("count", "verdict"), [(0, "pass"), (9, "fail"), (90, "fail")])
def test_experiment_rows_in_the_log_are_a_leak(count, verdict):
    finding = findings(make_study(log=copy_experiment_rows(count)))["experiment in the log"]
    assert finding.verdict == verdict
    assert finding.statistic == pytest.approx(count / 90)


def test_a_single_experiment_row_in_the_log_only_warns():
    study = make_study(rows=150)
    (row,) = study.experiment.arrow.slice(0, 1).to_pylist()
    leaked = make_study(rows=150, log=lambda rows: rows.append({key: row[key] for key in rows[0]}))
    assert findings(leaked)["experiment in the log"].verdict == "warn"


def test_the_same_output_with_another_outcome_is_no_duplicate():
    study = make_study(log=copy_experiment_rows(90, outcome=0.123))
    assert findings(study)["experiment in the log"].verdict == "pass"


def test_on_a_discrete_scale_equal_rows_may_be_coincidence():
    def discrete(rows):
        for row in rows:
            row["outcome"] = float(np.round(row["outcome"]))
            row.pop("time", None)

    def both(rows):
        copy_experiment_rows(45)(rows)
        discrete(rows)

    finding = findings(make_study(log=both, experiment=discrete))["experiment in the log"]
    assert finding.verdict == "pass"
    assert 0 < finding.statistic < 0.95


def test_a_label_that_is_the_outcome_fails():
    def label(_, row):
        row["label_fine"] = 1.0 - row["outcome"]
        row["label_length"] = float(len(row["output"]))

    finding = findings(make_study(log=each(label)))["label leakage"]
    assert finding.verdict == "fail"
    assert isinstance(finding.details, LabelLeakage)
    assert finding.details.leaking == ("label_fine",)


def test_a_label_that_only_resembles_the_outcome_passes():
    def label(at, row):
        row["label_close"] = row["outcome"] + 0.02 * (at % 3)

    finding = findings(make_study(log=each(label)))["label leakage"]
    assert finding.verdict == "pass"
    assert finding.statistic > 0.9


def test_a_constant_label_is_no_leak():
    assert findings(make_study(log=every(label_same=1.0)))["label leakage"].verdict == "pass"
