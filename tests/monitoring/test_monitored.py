"""`dc.monitor` on whole studies: verdict, table, state, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import deconfound as dc
from deconfound.monitoring.boundary import two_sided_z
from deconfound.monitoring.monitor_state import read_state
from tests.support.checking import make_study

FAST = {"family": "exp-only", "options": dc.EvaluationOptions(refits=2)}


def first(rows: int):
    """The experiment when it had this number of rows."""

    def cut(table):
        del table[rows:]

    return make_study(seed=3, rows=110, experiment=cut)


def look(state, rows: int, **options):
    return dc.monitor(first(rows), state, **{**FAST, **options})


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    """Two looks at one experiment, and its state file."""
    state = tmp_path_factory.mktemp("monitor") / "state.json"
    return look(state, 80, horizon=2_000), look(state, 110), state


def test_clearly_different_models_end_the_experiment_and_the_state_remembers(looks):
    _, last, state = looks
    assert (last.stop, last.verdict.reason, last.choice) == (True, "best model", "cat")
    assert [past.rows for past in last.looks] == [80, 110]
    assert read_state(state).looks == last.looks
    assert last.rows == 110


def test_the_table_has_wider_intervals_than_one_look(looks):
    _, last, _ = looks
    for always, once in zip(last.table(), last.result.values.table(0.95), strict=True):
        assert always["model"] == once["model"]
        assert always["estimate"] == once["estimate"]
        assert always["low"] < once["low"] < once["high"] < always["high"]
    pairs = last.differences()
    assert [(row["model"], row["reference"]) for row in pairs] == [("cat", "bee"), ("cat", "ant"), ("bee", "ant")]
    assert all(row["low"] < row["difference"] < row["high"] for row in pairs)


def test_the_summary_starts_with_the_verdict(looks):
    _, last, _ = looks
    text = last.summary()
    assert text.startswith("Stop: cat is the best model, at 95 % confidence.\n")
    assert "This is look 2; earlier ones were at 80 rows." in text
    assert "next batch" not in text


def test_the_document_has_every_number_and_is_json(looks, tmp_path):
    _, last, _ = looks
    last.to_json(tmp_path / "look.json")
    document = json.loads((tmp_path / "look.json").read_text())
    assert document == json.loads(json.dumps(last.document()))
    assert document["stop"] is True
    assert document["settings"]["horizon"] == 2_000
    assert document["next_batch"]["propensity"] == last.propensities()
    assert len(document["looks"]) == 2
    assert document["verdict"] in last.summary().replace("\n", " ")


def test_an_unclear_look_goes_on_and_says_for_how_long(tmp_path):
    """Outcomes that are noise."""
    rng = np.random.default_rng(0)
    study = make_study(
        seed=3, rows=110, experiment=lambda rows: [row.update(outcome=float(rng.random())) for row in rows]
    )
    found = dc.monitor(study, tmp_path / "state.json", horizon=500, **FAST)
    text = " ".join(found.summary().split())
    assert not found.stop
    assert text.startswith(f"Go on: after 110 of at most 500 rows, {found.choice} leads. At 95 % confidence")
    assert "decision is" in text
    assert "next batch" in text.lower()
    assert sum(found.propensities().values()) == pytest.approx(1.0)
    assert repr(found) == f"MonitorResult({found.choice!r}, reason='go on', rows=110, looks=1)"


def test_settings_are_fixed_by_the_first_look(looks):
    _, _, state = looks
    before = state.read_bytes()
    for change in ({"horizon": 3_000}, {"level": 0.9}, {"tolerance": 0.1}):
        with pytest.raises(dc.UsageError, match="fixed before the first look"):
            look(state, 110, **change)
    assert state.read_bytes() == before
    look(state, 110, horizon=2_000, level=0.95, tolerance=0.0)


def test_changed_settings_and_rows_are_said_from_then_on(tmp_path):
    state = tmp_path / "state.json"
    look(state, 80, horizon=2_000)
    changed = look(state, 75, tolerance=0.2, change_settings=True)
    messages = {finding.check: finding.message for finding in changed.findings}
    assert "tolerance was changed after 1 look, from 0 to 0.2" in messages["changed settings"]
    assert "5 of the 80 rows of the last look have changed or vanished" in messages["changed rows"]
    assert [change.setting for change in read_state(state).changes] == ["tolerance", "set of rows"]
    again = look(state, 75)
    assert sum(finding.check == "changed settings" for finding in again.findings) == 2


def test_family_and_seed_are_settings_too(looks):
    _, _, state = looks
    for change in ({"seed": 1}, {"family": "obs-only"}):
        with pytest.raises(dc.UsageError, match="analysis exp-only, seed 0"):
            look(state, 110, **change)


def test_a_refused_drop_was_a_look(tmp_path):
    """It says who may be best; settings that are changed afterwards were changed after a look."""
    state = tmp_path / "state.json"
    with pytest.raises(dc.UsageError, match="cat may still be the best"):
        look(state, 80, horizon=100_000, drop=["cat"])
    assert [past.rows for past in read_state(state).looks] == [80]
    changed = look(state, 80, horizon=240, change_settings=True)
    assert any(finding.check == "changed settings" for finding in changed.findings)


def test_settings_may_be_changed_before_anything_was_seen(tmp_path):
    state = tmp_path / "state.json"
    for horizon in (2_000, 3_000):
        with pytest.raises(dc.EvidenceError, match="Looks start at 20 randomized rows per model"):
            look(state, 20, horizon=horizon, change_settings=True)
    assert read_state(state).settings.horizon == 3_000
    assert read_state(state).looks == ()
    assert not [f for f in look(state, 80).findings if f.check == "changed settings"]


def test_an_experiment_of_one_model_only_is_too_early(tmp_path):
    def only_ant(rows):
        rows[:] = [row for row in rows if row["model"] == "ant"]

    study = make_study(seed=3, rows=150, experiment=only_ant)
    with pytest.raises(dc.EvidenceError, match=r"fewer of bee \(0\), cat \(0\)"):
        dc.monitor(study, tmp_path / "state.json", horizon=500, **FAST)


def test_only_models_that_are_not_best_can_be_dropped(tmp_path):
    state = tmp_path / "state.json"
    dropped = look(state, 80, horizon=2_000, drop=["ant"])
    assert 0 not in dropped.verdict.contenders
    assert set(dropped.propensities()) == {"bee", "cat"}
    with pytest.raises(dc.UsageError, match="cat may still be the best"):
        look(state, 80, drop=["cat"])
    with pytest.raises(dc.UsageError, match='no model "dog"'):
        look(state, 80, drop=["dog"])


def test_a_later_study_may_leave_out_what_was_ruled_out(looks, tmp_path):
    """Rows of the model that is left out still count, and the error rate is divided as before."""
    _, last, state = looks
    (tmp_path / "state.json").write_bytes(state.read_bytes())
    study = first(110)
    fewer = replace(
        study, models=("bee", "cat"), uncompared_models=("ant",), replay=study.replay.for_models(["bee", "cat"])
    )
    assert last.verdict.contenders == (2,)
    found = dc.monitor(fewer, tmp_path / "state.json", **FAST)
    assert found.models == ("bee", "cat")
    assert (found.rows, found.settings) == (110, last.settings)
    assert not [f for f in found.findings if f.check in ("changed settings", "changed rows")]
    assert found.sequences.interval == pytest.approx(found.result.values.interval_at_z(two_sided_z(0.05, 110 / 2_000)))
    assert found.sequences.simultaneous_interval == pytest.approx(
        found.result.values.interval_at_z(two_sided_z(0.05 / 3, 110 / 2_000))
    )


def test_an_experiment_that_is_over_retains_its_propensities(tmp_path):
    def declared(rows):
        for row in rows:
            row |= {"propensity_ant": 0.2, "propensity_bee": 0.3, "propensity_cat": 0.5}

    found = dc.monitor(
        make_study(seed=3, rows=110, experiment=declared), tmp_path / "state.json", horizon=2_000, **FAST
    )
    assert found.stop
    assert found.next_batch.propensity == pytest.approx([0.2, 0.3, 0.5])


def test_a_study_is_needed(tmp_path):
    with pytest.raises(dc.UsageError, match="study must be a Study"):
        dc.monitor("log.csv", tmp_path / "state.json", horizon=100)
