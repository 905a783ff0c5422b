"""All checks on one study."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deconfound.diagnose import check, run_checks
from deconfound.diagnose.multiplicity import holm
from deconfound.errors import UsageError
from deconfound.loading import load
from tests.support.checking import MODELS, make_study, study_arrays


def test_check_runs_on_a_study_in_memory_and_repeats_itself():
    study = make_study(seed=4)
    stages = []
    findings = check(study, seed=1, progress=lambda stage, _: stages.append(stage))
    assert findings == check(study, seed=1)
    assert len(stages) == len(set(stages)) == 7
    assert not set(study.findings) & set(findings)


def test_a_level_outside_zero_to_one_is_refused():
    with pytest.raises(UsageError, match="level"):
        check(make_study(), level=95)


def test_all_p_values_of_a_study_are_adjusted_together():
    findings = check(make_study(seed=4))
    tested = [finding for finding in findings if finding.adjusted_p_value is not None]
    assert len(tested) >= 8
    assert [finding.adjusted_p_value for finding in tested] == holm([finding.p_value for finding in tested])
    assert {finding.assumption for finding in tested} == {"A1", "A2", "A3", "A5"}


def test_run_checks_also_returns_the_weights():
    study = make_study(seed=4).in_content_order()
    report = run_checks(study, study_arrays(study))
    assert report.findings == check(study)
    assert report.transport_weights is None
    target = study.experiment.arrow.select(["context"])
    weighted = run_checks(study, study_arrays(study), target=target)
    assert len(weighted.transport_weights.weight) == 90
    assert weighted.findings[-1].check == "overlap with the target"
    assert weighted.findings[-1].statistic == weighted.transport_weights.effective_rows / 90


def test_at_the_lowest_level_verdicts_follow_the_adjusted_p_values():
    """With 1 - level = 0.5 every adjusted p-value below that warns; each assumption has a test."""
    study = make_study(seed=4)
    replayed, log = study.replay.arrow, study.log.arrow
    shuffled = replayed["output"].take(np.roll(np.arange(len(replayed)), len(MODELS)))
    again = replayed.drop_columns(["output"]).append_column("output", shuffled)
    again = again.append_column("outcome", pa.array(np.linspace(0, 1, len(replayed)))).select(log.column_names)
    study = load(log=pa.concat_tables([log, again]), experiment=study.experiment.arrow, replay=replayed)
    findings = [finding for finding in check(study, level=0.5) if finding.adjusted_p_value is not None]
    for finding in findings:
        significant = finding.adjusted_p_value < 0.5
        assert (finding.verdict in ("warn", "fail")) == significant
    assert {finding.assumption for finding in findings} == {"A1", "A2", "A3", "A4", "A5"}
