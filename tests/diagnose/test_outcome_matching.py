"""A3: log and experiment where both rated the same thing."""

from __future__ import annotations

import pytest

from deconfound.diagnose.outcome_matching import MatchingLevel, MatchingOutputs, check_matching, match_rows
from tests.support.checking import by_check, make_study


def rerated(change):
    """A log whose first rows are the experiment's outputs, rated again."""
    experiment = []
    make_study(experiment=lambda rows: experiment.extend(dict(row) for row in rows))

    def put(rows):
        for row, same in zip(rows, experiment, strict=False):
            row.update({name: same[name] for name in ("context_id", "context", "model", "output")})
            row["outcome"] = change(same["outcome"])

    return put


def matching(study):
    return by_check(check_matching(study, 0, 0.95))


def test_matching_outputs_show_inverted_outcomes():
    agreeing = matching(make_study(log=rerated(lambda y: 0.9 * y + 0.05)))
    assert agreeing["matching outputs"].verdict == "pass"
    finding = matching(make_study(log=rerated(lambda y: 1.0 - y)))["matching outputs"]
    assert finding.verdict == "warn"
    assert finding.details == MatchingOutputs(90, "context and output", pytest.approx(-1.0))


def test_another_level_of_matching_outputs_is_reported_but_never_warns():
    """Confounding moves the level too, and violates no assumption."""
    finding = matching(make_study(log=rerated(lambda y: 0.8 * y)))["matching level"]
    assert finding.verdict == "cannot tell"
    assert isinstance(finding.details, MatchingLevel)
    assert finding.statistic == finding.details.difference > 0.05
    assert finding.p_value < 0.001
    assert finding.adjusted_p_value is None
    assert matching(make_study(log=rerated(lambda y: y)))["matching level"].verdict == "pass"


def test_a_log_without_shared_contexts_cannot_be_compared():
    assert matching(make_study())["matching outputs"].verdict == "cannot tell"


def test_where_outputs_never_recur_context_and_model_are_matched():
    put = rerated(lambda y: y)

    def reworded(rows):
        put(rows)
        for row in rows:
            row["output"] += " indeed"

    pairs = match_rows(make_study(log=reworded))
    assert pairs is not None
    assert pairs.matched_on == "context and model"
    assert len(pairs.log) == 90
    assert pairs.log == pytest.approx(pairs.experiment)


def test_repeated_rows_of_the_log_are_averaged():
    def twice(rows):
        rerated(lambda y: 0.5 * y)(rows)
        rows.extend({**row, "outcome": row["outcome"] + 0.2} for row in rows[:90])

    pairs = match_rows(make_study(log=twice))
    assert pairs is not None
    assert pairs.log == pytest.approx(0.5 * pairs.experiment + 0.1)
