"""What `check` and `evaluate` print about a long log: how it was used, and the same numbers in both."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.data import Study
from deconfound.design.outcome_sums import MAX_CLUSTERS
from deconfound.features import FeatureSpec, summed_study
from deconfound.loading import load
from deconfound.report.text import comparison
from deconfound.reward import FAMILIES, Auto
from deconfound.study_summary import count_table, with_all_rows
from tests.loading.test_long_log import in_batches
from tests.support.auto import SOME_VARIANCES
from tests.support.commands import evaluate_command
from tests.support.streams import demo_study, streamed

OPTIONS = dc.EvaluationOptions(features=FeatureSpec(buckets=256), refits=2)
QUICK = ("--family", "exp-only", "--refits", "2")
NOTE = "Values use all 467 log rows, whose words are hashed into 256 columns."


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def few_rows_in_memory(monkeypatch) -> None:
    """The log of the small study is in memory, and summed."""
    monkeypatch.setattr(summed_study, "MAX_ROWS_IN_MEMORY", 100)


def read_in_batches(monkeypatch) -> None:
    """The log of the small study is a stream."""
    monkeypatch.setitem(load.__kwdefaults__, "long_log", in_batches(50, head_rows=60))


LONG = pytest.mark.parametrize("make_long", [pytest.param(few_rows_in_memory, marks=pytest.mark.slow), read_in_batches])


@LONG
def test_check_and_evaluate_have_the_same_findings(make_long, study_folder, monkeypatch, capsys):
    """Also those whose numbers depend on the columns into which words are hashed."""
    make_long(monkeypatch)
    command = evaluate_command(study_folder, "--json")
    main([*command, *QUICK])
    evaluated = json.loads(capsys.readouterr().out)["findings"]
    main(["check", *command[1:]])
    checked = json.loads(capsys.readouterr().out)["findings"]
    assert [one for one in checked if one not in evaluated] == []
    assert {one["check"] for one in evaluated} - {one["check"] for one in checked} <= {"long log", "labels"}
    assert sum("AUC" in one["message"] for one in checked) >= 2


@LONG
def test_the_default_summary_says_how_the_log_was_used(make_long, study_folder, monkeypatch, capsys):
    make_long(monkeypatch)
    main(evaluate_command(study_folder, *QUICK, "--engine", "processes", "--workers", "1"))
    printed = capsys.readouterr()
    assert "Values use all 120 log rows, whose words are hashed into 2,048 columns." in in_one_line(printed.out)
    assert "was not needed" not in printed.err


@pytest.mark.slow
def test_every_family_says_so():
    prepared = dc.prepare(streamed(demo_study("text")), options=OPTIONS)
    for family in (Auto(SOME_VARIANCES), *(family() for family in FAMILIES)):
        assert NOTE in in_one_line(prepared.evaluate(family).summary())


def test_a_log_that_is_used_by_its_rows_has_no_such_note():
    result = dc.evaluate(demo_study("text"), "exp-only", options=OPTIONS)
    assert "Values use all" not in result.summary()
    assert "Values use all" not in comparison([result, result])


def long_log_of(study: Study):
    return dc.prepare(study, options=OPTIONS).arrays.long_log


def test_a_log_has_at_most_as_many_contexts_as_rows():
    """Many contexts are counted approximately, and may seem to be more than there are rows."""
    study = streamed(demo_study("text"))
    long_log = long_log_of(study)
    lowest = np.arange(MAX_CLUSTERS, dtype=np.uint64)
    outcomes = replace(long_log.statistics.outcomes, lowest=lowest)
    assert outcomes.contexts > long_log.statistics.rows
    counts = with_all_rows(
        count_table(study.log, study), replace(long_log, statistics=replace(long_log.statistics, outcomes=outcomes))
    )
    assert counts.contexts == counts.rows == len(study.log)


def test_few_contexts_of_a_long_log_are_counted_exactly():
    study = streamed(demo_study("text"))
    counts = count_table(study.log, study)
    assert with_all_rows(counts, long_log_of(study)).contexts == counts.contexts < len(study.log)
