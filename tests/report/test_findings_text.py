"""The wording of every kind of finding, in one snapshot; and every kind survives a round trip through JSON.

After a deliberate change of wording: UPDATE_SNAPSHOTS=1 python -m pytest tests/report/test_findings_text.py
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deconfound.diagnose import compliance, outcome_drift, outcome_matching, randomization, sanity
from deconfound.diagnose import context_shift as contexts
from deconfound.diagnose import missing_outcomes as missing
from deconfound.diagnose import outcome_consistency as outcomes
from deconfound.diagnose import replay_fidelity as replay
from deconfound.diagnose.exclusion import VERDICTS, Exclusion
from deconfound.diagnose.output_mechanism import TooFewReplayedLogContexts
from deconfound.findings import Finding, Notice, finding_from_document, finding_to_document
from deconfound.report.findings_text import describe, details_types

SNAPSHOT = Path(__file__).parent / "snapshots" / "findings.txt"
P, SMALL_P, TINY_P = (0.42, 1.0), (0.0312, 0.374), (0.0005, 0.006)  # raw and adjusted


def with_p_values(check, verdict, details, assumption, statistic, p_values):
    return Finding(check, verdict, details, assumption, statistic, *p_values)


def open_question(check, details, assumption):
    return Finding(check, "cannot tell", details, assumption)


def compliance_findings():
    rows = compliance.Compliance("experiment.csv", 400, 0, 0)
    some = replace(rows, other_model=3, drawn="ant", answered="bee", pair_rows=2, examples=("4", "17", "90"))
    for verdict, details in (
        ("pass", rows),
        ("warn", some),
        ("fail", replace(some, other_model=60, outside=5, pair_rows=50)),
        ("fail", replace(some, other_model=190, pair_rows=120, unrelated=True)),
    ):
        yield Finding(compliance.COMPLIANCE, verdict, details, "A1")


def randomization_findings():
    ratio = randomization.SampleRatio(("ant", "bee"), (12, 48), (30.0, 30.0), by_cluster=False)
    drift = randomization.AssignmentDrift("cat", 0.31, 0.58, 0.33, 0.33)
    for verdict, p in (("pass", P), ("pass", SMALL_P), ("fail", TINY_P)):
        yield with_p_values("sample ratio", verdict, ratio, "A1", 21.6, p)
        yield with_p_values("assignment over time", verdict, drift, "A1", 4.4, p)
        yield with_p_values("assignment by context", verdict, randomization.AssignmentByContext(60), "A1", 3.2, p)
    for verdict, p in (("pass", P), ("warn", TINY_P)):
        by_language = randomization.AssignmentBySegment("language", 60)
        yield with_p_values("assignment by segment", verdict, by_language, "A1", 3.2, p)
    declared = replace(drift, declared_second_half=0.4)
    yield with_p_values("assignment over time", "fail", declared, "A1", 4.4, TINY_P)
    yield open_question("sample ratio", randomization.TooFewDraws(1, by_cluster=False), "A1")
    yield open_question("sample ratio", randomization.TooFewDraws(7, by_cluster=True), "A1")
    unknown, certain = randomization.UnknownPropensities, randomization.NotRandomized
    yield open_question("sample ratio", unknown("experiment.csv", ("ant", "bee", "cat")), "A1")
    contradictory = randomization.ContradictoryPropensities("experiment.csv", ("ant", "bee", "cat"), 2.7)
    yield Finding("sample ratio", "warn", contradictory, "A1")
    yield open_question("assignment over time", contradictory, "A1")
    yield Finding("sample ratio", "fail", certain("experiment.csv"), "A1")
    yield open_question("assignment over time", certain("experiment.csv"), "A1")
    yield open_question("assignment over time", randomization.MissingTime("experiment.csv"), "A1")
    yield open_question("assignment by context", randomization.IdenticalContexts(60), "A1")


def output_findings():
    experiment = replay.OutputDifference("experiment", 0.58, 240, ("bee", "cat"), (0.81, 0.66), 0)
    log = replay.OutputDifference("log", 0.63, 1, (), (), 0, 12)
    support = replay.OutsideSupport(0.31, ("cat",), (0.31,), ("dog",), 8)
    draws = replay.ReplayDraws(91, 1, 271, 6, 2, 2)
    for verdict, p in (("pass", P), ("warn", TINY_P)):
        yield with_p_values("replay fidelity", verdict, experiment, "A2", 0.58, p)
        yield with_p_values("replay support", verdict, support, "A2", 0.31, p)
        yield with_p_values("output mechanism", verdict, log, "A4", 0.63, p)
    copied = replace(experiment, repeated_rows=12)
    yield with_p_values("replay fidelity", "fail", copied, "A2", 0.58, TINY_P)
    yield Finding("replay draws", "pass", replace(draws, incomplete_contexts=0, short_cells=0), "A2", 0.0)
    yield Finding("replay draws", "warn", draws, "A2", 0.03)
    yield open_question("replay fidelity", replay.TooFewCells(8), "A2")
    yield open_question("replay support", replay.SupportUntested(8), "A2")
    yield open_question("output mechanism", TooFewReplayedLogContexts(3, 8), "A4")


def outcome_findings():
    values = outcomes.OutcomeValues(5, (0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0), 2, (0.0, 1.0), (0.0, 1.0))
    confirmed = outcomes.OutcomeDirection(0.52, 0.0005, confirmed=True)
    matching = outcome_matching.MatchingOutputs(90, "context and output", -0.41)
    level = outcome_matching.MatchingLevel(90, "context and model", 0.082)
    drift = outcome_drift.OutcomeDrift("log", -0.12)
    for verdict, p in (("pass", P), ("warn", TINY_P)):
        yield with_p_values("outcome values", verdict, values, "A3", 0.6, p)
        yield with_p_values("matching outputs", verdict, matching, "A3", -0.41, p)
        yield with_p_values("outcome over time (log)", verdict, drift, "A3", 3.1, p)
    continuous = replace(values, log_values=3600, log_range=(0.0229, 0.986), log_scale=())
    yield with_p_values("outcome values", "pass", continuous, "A3", 0.0, P)
    yield with_p_values("outcome direction", "pass", confirmed, "A3", 0.52, (1.0, 1.0))
    yield with_p_values(
        "outcome direction", "cannot tell", outcomes.OutcomeDirection(0.02, 0.36, confirmed=False), "A3", 0.02, P
    )
    yield with_p_values(
        "outcome direction", "warn", outcomes.OutcomeDirection(-0.5, 1.0, confirmed=False), "A3", -0.5, TINY_P
    )
    yield Finding("matching level", "pass", level, "A3", 0.082, 0.31)
    yield Finding("matching level", "cannot tell", level, "A3", 0.082, 0.0005)
    yield open_question("outcome direction", outcomes.DirectionUntested(4, 10), "A3")
    yield open_question("matching outputs", outcome_matching.TooFewMatches(0, 10), "A3")
    yield open_question("outcome over time (log)", outcome_drift.DriftUntested("log.csv", has_time=True), "A3")
    yield open_question("outcome over time (log)", outcome_drift.DriftUntested("log.csv", has_time=False), "A3")


def context_findings():
    for source in ("log", "replay", "target"):
        check, difference = f"contexts of the {source}", contexts.ContextDifference(source, 0.56, 455)
        yield with_p_values(check, "pass", difference, "A5", 0.56, P)
        worst = "pass" if source == "target" else "warn"
        yield with_p_values(check, worst, difference, "A5", 0.56, TINY_P)
        yield Finding(check, "pass", contexts.SameContexts(source), "A5")
        yield open_question(check, contexts.TooFewContexts(source, 8), "A5")
        yield open_question(check, contexts.UndescribedContexts(source), "A5")
    overlap = contexts.TargetOverlap(360, 141.7, 0.12, 0.9, 0.0)
    too_little = contexts.TargetOverlap(360, 20.4, 0.12, 0.9, 0.0)
    different = replace(overlap, imbalance=0.2)
    for verdict, details in (("pass", overlap), ("warn", overlap), ("warn", different), ("fail", too_little)):
        yield Finding("overlap with the target", verdict, details, "A5", details.effective_rows / details.rows)


def sanity_findings():
    constant = sanity.ConstantOutcomes
    yield Finding("constant outcomes", "pass", constant(), statistic=0.0)
    yield Finding("constant outcomes", "fail", constant(("experiment.csv",), in_experiment=True), statistic=1.0)
    yield Finding("constant outcomes", "warn", constant(("experiment.csv",), models=("bee",)), statistic=0.3)
    yield Finding("constant outcomes", "warn", constant(("log.csv",)), statistic=1.0)
    duplicates = sanity.DuplicateRows("experiment.csv", 0, 0, 99, certain=True)
    yield Finding("duplicate rows", "pass", duplicates, statistic=0.0)
    yield Finding("duplicate rows", "warn", replace(duplicates, rows=9, certain=False), statistic=0.091)
    yield Finding("duplicate rows", "warn", replace(duplicates, repeated_cells=9), statistic=0.091)
    yield Finding("duplicate contexts", "pass", sanity.DuplicateContexts("experiment.csv", 0, 0), statistic=0.0)
    yield Finding("duplicate contexts", "warn", sanity.DuplicateContexts("experiment.csv", 1, 2), statistic=0.02)
    yield Finding("duplicate contexts", "cannot tell", sanity.NoText("experiment.csv"))
    for verdict, share in (("pass", 0.0), ("pass", 0.12), ("fail", 0.12)):
        yield Finding("experiment in the log", verdict, sanity.SharedRows(share), statistic=share)
    yield Finding("label leakage", "pass", sanity.LabelLeakage((), (), 0.0), statistic=0.0)
    yield Finding("label leakage", "pass", sanity.LabelLeakage(("label_a",), (), 0.48), statistic=0.48)
    yield Finding("label leakage", "fail", sanity.LabelLeakage(("label_a",), ("label_a",), 1.0), statistic=1.0)
    for verdict, share in (("pass", 0.12), ("warn", 0.97)):
        yield Finding("segment leakage", verdict, sanity.SegmentLeakage("language", share), statistic=share)
    yield Finding(
        "columns", "pass", Notice("log.csv: outcome is read from column rating.", "Say otherwise with --map.")
    )


def missing_outcome_findings():
    by_model = missing.MissingByModel(("ant", "bee"), (61, 60), (18, 0))
    yield with_p_values(missing.BY_MODEL, "fail", by_model, "A1", 8.1, TINY_P)
    yield with_p_values(missing.BY_MODEL, "pass", replace(by_model, missing=(9, 8)), "A1", 0.2, P)
    yield open_question(missing.BY_MODEL, by_model, "A1")
    by_output = missing.MissingByOutput(121, 18, "length_log_words", higher=True)
    yield with_p_values(missing.BY_OUTPUT, "fail", by_output, "A1", 4.4, TINY_P)
    yield with_p_values(
        missing.BY_OUTPUT, "warn", replace(by_output, statistic="feature_x", higher=False), "A1", 3, TINY_P
    )
    yield with_p_values(missing.BY_OUTPUT, "pass", by_output, "A1", 1.2, P)
    yield open_question(missing.BY_OUTPUT, missing.TooFewMissing(121, 2), "A1")
    rates = missing.LogRates(("ant", "bee"), (4000, 6000), (400, 120))
    yield with_p_values(missing.LOG_RATES, "warn", rates, "", 12.0, TINY_P)
    yield with_p_values(missing.LOG_RATES, "pass", rates, "", 0.4, P)


def exclusion_findings():
    for obstacle, verdict in VERDICTS.items():
        tested = obstacle in (None, "no gain", "exclusion rejected")
        details = Exclusion(obstacle, 0.05, 3 if tested else 0, 396 if tested else 0)
        p_value = 0.004 if obstacle == "exclusion rejected" else 0.42
        yield Finding("exclusion", verdict, details, "", 1.2 if tested else None, p_value if tested else None)


FINDINGS = [
    *compliance_findings(),
    *randomization_findings(),
    *missing_outcome_findings(),
    *output_findings(),
    *outcome_findings(),
    *context_findings(),
    *sanity_findings(),
    *exclusion_findings(),
]


def rendered():
    blocks = []
    for finding in FINDINGS:
        head = f"{finding.assumption or '--'} {finding.check} [{finding.verdict}] {type(finding.details).__name__}"
        lines = [head, f"  {finding.message}", *([f"  -> {finding.remedy}"] if finding.remedy else [])]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def test_the_wording_is_that_of_the_snapshot():
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(rendered(), encoding="utf-8")
    assert rendered() == SNAPSHOT.read_text(encoding="utf-8")


def test_the_snapshot_has_every_kind_of_finding():
    assert {type(finding.details) for finding in FINDINGS} == set(details_types())


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: f"{type(finding.details).__name__}-{finding.verdict}")
def test_a_finding_survives_a_round_trip_through_json(finding):
    document = json.loads(json.dumps(finding_to_document(finding), allow_nan=False))
    assert finding_from_document(document, details_types()) == finding
    assert document["message"] == finding.message
    assert document["details"]["type"] == type(finding.details).__name__


def test_findings_that_need_attention_say_what_to_do():
    for finding in FINDINGS:
        if finding.verdict in ("warn", "fail"):
            assert finding.remedy.endswith(".")
        assert finding.message.endswith(".")


def test_details_without_wording_are_refused():
    @dataclass(frozen=True)
    class Unknown:
        x: int = 1

    with pytest.raises(TypeError, match="Unknown"):
        describe(Unknown(), Finding("new check", "pass", Unknown()))
    with pytest.raises(KeyError):
        finding_from_document({**finding_to_document(FINDINGS[0])})  # without its type, only notices are read
