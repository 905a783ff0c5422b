"""The benchmark of missing outcomes: one scenario can run by itself, on the same studies as with the others."""

from __future__ import annotations

import pytest

from benchmarks import missing_outcomes


def test_one_scenario_runs_by_itself(capsys):
    missing_outcomes.main(["--studies", "2", "--only", "by model and outcome"])
    rows = capsys.readouterr().out.splitlines()[3:]
    assert [row[:20].strip() for row in rows] == ["by model and outcome"]


def test_an_unknown_scenario_is_refused(capsys):
    with pytest.raises(SystemExit):
        missing_outcomes.parse_arguments(["--only", "by moon"])
    assert "'by moon'" in capsys.readouterr().err
