"""Constants, copies and leaks: facts about the tables that need no test."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose.sanity import sanity
from tests.support.checking import each, every, make_study


def found(study):
    return {finding.check: finding for finding in sanity(study)}


def test_a_sound_study_has_nothing_of_the_kind():
    assert {finding.verdict for finding in sanity(make_study())} == {"pass"}


def test_outcomes_that_never_vary_fail():
    assert found(make_study(experiment=every(outcome=0.5)))["constant outcomes"].verdict == "fail"
    log = found(make_study(log=every(outcome=0.5)))["constant outcomes"]
    assert (log.verdict, "teaches nothing" in log.message) == ("warn", True)


def test_a_model_whose_outcomes_never_vary_is_named():
    def flatten(_, row):
        row["outcome"] = 1.0 if row["model"] == "bee" else row["outcome"]

    finding = found(make_study(experiment=each(flatten)))["constant outcomes"]
    assert finding.verdict == "warn"
    assert "bee" in finding.message
    assert finding.number == pytest.approx(1 / 3)


def test_a_row_that_stands_twice_is_counted():
    finding = found(make_study(experiment=lambda rows: rows.extend(dict(row) for row in rows[:9])))["repeated rows"]
    assert finding.verdict == "warn"
    assert "9 rows" in finding.message
    assert finding.number == pytest.approx(9 / 99)


def test_one_text_under_two_names_straddles_the_folds():
    def rename(rows):
        for row in rows:
            if row["context_id"] == "case 1":
                row["context"] = "case 0: the very same"
            if row["context_id"] == "case 0":
                row["context"] = "case 0: the very same"

    finding = found(make_study(experiment=rename, replay=rename))["renamed contexts"]
    assert finding.verdict == "warn"
    assert "1 text (2 rows)" in finding.message
    assert finding.number == pytest.approx(2 / 90)


def leak(count, **cells):
    kept = []
    make_study(experiment=lambda rows: kept.extend({**row, **cells} for row in rows[:count]))
    return lambda rows: rows.extend({key: row[key] for key in rows[0]} for row in kept)


@pytest.mark.parametrize(("count", "verdict"), [(0, "pass"), (9, "fail"), (90, "fail")])
def test_rows_of_the_experiment_in_the_log_are_a_leak(count, verdict):
    finding = found(make_study(log=leak(count)))["experiment in the log"]
    assert finding.verdict == verdict
    assert finding.number == pytest.approx(count / 90)


def test_the_same_output_with_another_outcome_is_no_copy():
    assert found(make_study(log=leak(90, outcome=0.123)))["experiment in the log"].verdict == "pass"


def test_on_a_coarse_scale_equal_rows_may_be_coincidence():
    def coarse(rows):
        for row in rows:
            row["outcome"] = float(np.round(row["outcome"]))
            row.pop("time", None)

    def both(rows):
        leak(45)(rows)
        coarse(rows)

    assert found(make_study(log=both, experiment=coarse))["experiment in the log"].verdict == "pass"


def test_a_label_that_is_the_outcome_fails():
    def label(_, row):
        row["label_fine"] = 1.0 - row["outcome"]
        row["label_length"] = float(len(row["output"]))

    finding = found(make_study(log=each(label)))["labels"]
    assert finding.verdict == "fail"
    assert "label_fine" in finding.message
    assert "label_length" not in finding.message


def test_a_label_that_only_resembles_the_outcome_passes():
    def label(at, row):
        row["label_close"] = row["outcome"] + 0.02 * (at % 3)

    assert found(make_study(log=each(label)))["labels"].verdict == "pass"


def test_a_constant_label_is_no_leak():
    assert found(make_study(log=every(label_same=1.0)))["labels"].verdict == "pass"
