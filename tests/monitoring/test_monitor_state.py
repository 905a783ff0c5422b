"""State files: written, read back, and refused where they are damaged; rows that changed or vanished."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deconfound.errors import DataError, UsageError
from deconfound.monitoring.monitor_settings import MonitorSettings, RequestedSettings, SettingsChange, settings_changes
from deconfound.monitoring.monitor_state import MonitorState, PastLook, read_state, write_state
from deconfound.monitoring.row_fingerprints import decode_fingerprints, encode_fingerprints, lost_rows, row_fingerprints
from tests.support.checking import make_study

SETTINGS = MonitorSettings(("ant", "bee"), 200, 0.9, 0.02, (1.0, 5.0))
ROWS = np.array([3, 3, 2**40 - 1], dtype=np.uint64)
LOOK = PastLook("2026-05-01T10:00:00+00:00", 3, "ant", "", ("ant", "bee"), {"ant": 0.5, "bee": 0.5})
STATE = MonitorState(SETTINGS, (LOOK,), (SettingsChange(0, "level", "0.95", "0.9"),), ROWS)


@pytest.fixture
def path(tmp_path):
    write_state(tmp_path / "state.json", STATE)
    return tmp_path / "state.json"


def test_a_state_is_read_as_it_was_written(path):
    state = read_state(path)
    assert (state.settings, state.looks, state.changes) == (STATE.settings, STATE.looks, STATE.changes)
    assert np.array_equal(state.rows, ROWS)
    assert read_state(path.with_name("none.json")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "deconfound assignment"),
        ("schema", 2),
        ("models", "ant"),
        ("models", ["ant"]),
        ("models", None),
        ("horizon", "many"),
        ("horizon", 3),
        ("horizon", True),
        ("level", 95),
        ("tolerance", -1),
        ("tolerance", None),
        ("outcome_range", [1]),
        ("outcome_range", [1, 1]),
        ("looks", 3),
        ("looks", [{}]),
        ("looks", [{"time": "t", "rows": -1, "choice": "a", "reason": "", "contenders": [], "propensity": {}}]),
        ("looks", [{"time": "t", "rows": 3, "choice": "a", "reason": "bored", "contenders": [], "propensity": {}}]),
        ("looks", [{"time": "t", "rows": 3, "choice": "a", "reason": "", "contenders": [], "propensity": {"a": "x"}}]),
        ("looks", [{"time": "t", "rows": 3, "choice": "a", "reason": "", "contenders": [], "propensity": 1}]),
        ("changes", [1]),
        ("rows", "AAAA"),
        ("rows", "?"),
        ("rows", ""),
        ("rows", 7),
    ],
)
def test_a_damaged_state_is_refused_and_stays_as_it_is(path, key, value):
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, key: value}))
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"state\.json"):
        read_state(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "key", ["models", "horizon", "level", "tolerance", "outcome_range", "looks", "changes", "rows"]
)
def test_a_state_that_lacks_an_entry_is_refused(path, key):
    document = json.loads(path.read_text())
    del document[key]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="an entry is missing"):
        read_state(path)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"kind": 1}', "\x00"])
def test_another_file_is_refused(path, content):
    path.write_text(content)
    with pytest.raises(DataError):
        read_state(path)


def test_the_same_rows_again_are_the_same_look():
    assert STATE.before(ROWS).looks == ()
    more = np.append(ROWS, ROWS[:1])
    later = STATE.before(more).with_look(PastLook("later", 4, "bee", "", ("bee",), {}), more)
    assert [look.rows for look in later.looks] == [3, 4]
    assert np.array_equal(later.rows, more)


def test_only_models_that_the_last_look_ruled_out_may_be_left_out():
    settings = MonitorSettings(("ant", "bee", "cat"), 200)
    new, later = MonitorState(settings), MonitorState(settings, (LOOK,), (), ROWS)
    assert new.may_drop(("ant", "bee", "cat"))
    assert not new.may_drop(("ant", "bee"))
    assert later.may_drop(("ant", "bee"))
    assert not later.may_drop(("ant", "cat"))
    assert not later.may_drop(("ant", "bee", "dog"))


def test_fingerprints_survive_their_text():
    assert np.array_equal(decode_fingerprints(encode_fingerprints(ROWS)), ROWS)
    assert len(decode_fingerprints("")) == 0


def test_lost_rows_are_counted_with_their_repetitions():
    before = np.array([1, 1, 2, 5], dtype=np.uint64)
    assert lost_rows(before, np.array([1, 1, 2, 5, 9], dtype=np.uint64)) == 0
    assert lost_rows(before, np.array([1, 2, 9], dtype=np.uint64)) == 2
    assert lost_rows(before, before[:0]) == 4
    assert lost_rows(before[:0], before) == 0


def test_a_changed_outcome_model_or_propensity_changes_one_fingerprint_and_order_none():
    def change(**cells):
        return lambda rows: rows[4].update(cells)

    def fingerprints(study, propensity):
        return row_fingerprints(study, study.models, propensity)

    study = make_study(seed=1)
    equal = np.full(90, 1 / 3)
    first = fingerprints(study, equal)
    assert len(first) == 90
    assert len(row_fingerprints(study, ("ant",), equal)) < 90
    assert np.array_equal(first, fingerprints(study.in_content_order(), equal))
    changed = make_study(seed=1, experiment=change(outcome=0.123))
    assert lost_rows(first, fingerprints(changed, equal)) == 1
    assert lost_rows(first, fingerprints(study, np.where(np.arange(90) == 4, 0.5, 1 / 3))) == 1
    assert lost_rows(first, fingerprints(study, np.round(equal, 7))) == 0
    shorter = make_study(seed=1, experiment=lambda rows: rows.pop())
    assert lost_rows(first, fingerprints(shorter, equal[:89])) == 1


def test_the_first_settings_need_a_horizon_that_fits_the_models():
    with pytest.raises(UsageError, match="horizon"):
        RequestedSettings().first(("ant", "bee"), (0.0, 1.0))
    for wrong in (39, 2.5, 10**10, True):
        with pytest.raises(UsageError, match="horizon"):
            RequestedSettings(horizon=wrong).first(("ant", "bee"), (0.0, 1.0))
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(UsageError, match="tolerance"):
            RequestedSettings(horizon=200, tolerance=wrong).first(("ant", "bee"), (0.0, 1.0))


def test_every_changed_setting_is_named_on_the_users_scale():
    later = RequestedSettings(horizon=300, tolerance=0.05).later(SETTINGS, ("ant", "cat"), (1.0, 5.0))
    changes = {change.setting: (change.before, change.after) for change in settings_changes(SETTINGS, later, 2)}
    assert changes == {"models": ("ant, bee", "ant, cat"), "horizon": ("200", "300"), "tolerance": ("0.08", "0.2")}
    assert settings_changes(SETTINGS, RequestedSettings().later(SETTINGS, ("ant", "bee"), (1.0, 5.0)), 2) == ()
