"""A replay that was exported twice: copies are no draws, and do not make the checks of the replay fail."""

from __future__ import annotations

import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.loading import load
from tests.support.results import small_demo
from tests.support.studies import Good, tables


def demo_tables(copies: pa.Table | None = None) -> dict[str, pa.Table]:
    demo = small_demo()
    replay = demo.replay.drop_columns([name for name in demo.replay.column_names if name == "draw"])
    replay = replay if copies is None else pa.concat_tables([replay, copies])
    return {"log": demo.log, "experiment": demo.experiment, "replay": replay}


def verdicts(study: dc.Study) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in dc.check(study) if finding.assumption in ("A2", "A4")}


def doubled(**changes: object) -> dict[str, pa.Table]:
    good = Good()
    for row in good.replay:
        del row["draw"]
    good.replay += [{**row, **changes} for row in good.replay]
    return tables(good)


def test_a_replay_that_was_exported_twice_is_the_same_study():
    once = load(**demo_tables())
    twice = load(**demo_tables(demo_tables()["replay"]))
    assert twice.replay.arrow.equals(once.replay.arrow)
    assert verdicts(twice) == verdicts(once)
    (finding,) = [each for each in twice.findings if each.check == "replay copies"]
    assert finding.verdict == "warn"
    assert "every row occurs 2 times" in finding.message
    assert f"({len(once.replay):,} rows)" in finding.message


def test_numbered_draws_may_be_equal():
    good = Good()
    good.replay += [{**row, "draw": 1} for row in good.replay]
    study = load(**tables(good))
    assert len(study.replay) == 2 * len(Good().replay)
    assert not [each for each in study.findings if each.check == "replay copies"]


@pytest.mark.parametrize("changes", [{"output": "another"}, {}])
def test_draws_of_which_only_some_are_equal_all_count(changes):
    replay = doubled(**changes)["replay"]
    if not changes:
        replay = replay.slice(0, len(replay) - 1)
    study = load(**{**tables(Good()), "replay": replay})
    assert len(study.replay) == len(replay)
    assert set(study.replay.arrow["draw"].to_pylist()) == {0, 1}


def test_equal_draws_with_other_features_all_count():
    rows = {role: table.append_column("feature_x", pa.array([1.0] * len(table))) for role, table in doubled().items()}
    half = len(rows["replay"]) // 2
    rows["replay"] = rows["replay"].set_column(3, "feature_x", pa.array([1.0] * half + [2.0] * half))
    assert len(load(**rows).replay) == 2 * half


def test_a_failed_check_names_copies_as_a_likely_cause():
    replay = demo_tables()["replay"]
    study = load(**demo_tables(replay.slice(0, len(replay) - 1)))
    (finding,) = [each for each in dc.check(study) if each.check == "replay fidelity"]
    assert finding.verdict == "fail"
    assert f"Equal draws in the replay: {len(replay) - 1:,} rows" in finding.message
    assert "likely cause" in finding.message
    assert finding.remedy.startswith("Remove equal draws first if they are copies.")
