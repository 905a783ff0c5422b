"""The manifest: what is written is read back, and what is none is refused with a reason."""

from __future__ import annotations

import json

import pytest

from deconfound.assignment import AssignmentManifest, AssignmentRule
from deconfound.errors import DataError, UsageError

RULE = AssignmentRule.from_models("prices", {"cedar": 0.5, "oak\n": 0.3, "ü \u202e": 0.2}, 0.1)


@pytest.mark.parametrize(
    "manifest",
    [
        AssignmentManifest(RULE),
        AssignmentManifest(RULE, "user", start="2026-05-01T08:00:00+02:00"),
        AssignmentManifest(RULE, "call", "litellm", "chat"),
    ],
)
def test_what_is_written_is_read_back(manifest, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(manifest.to_json(), encoding="utf-8")
    assert AssignmentManifest.load(path) == manifest
    assert AssignmentManifest.load(str(path)) == manifest


def test_hostile_names_are_escapes_in_the_file():
    text = AssignmentManifest(RULE).to_json()
    assert "\u202e" not in text
    assert "oak\\n" in text


def test_a_start_without_a_zone_is_utc():
    assert AssignmentManifest(RULE, start="1970-01-02").start_seconds == 86_400
    assert AssignmentManifest(RULE, start="1970-01-01T01:00:00+01:00").start_seconds == 0
    assert AssignmentManifest(RULE).start_seconds is None


def test_a_gateways_draw_cannot_be_computed():
    with pytest.raises(UsageError, match="litellm draws"):
        AssignmentManifest(RULE, "call", "litellm", "chat").assign("u")


def changed(**changes: object) -> str:
    document = AssignmentManifest(RULE, "user").to_document() | changes
    return json.dumps({name: value for name, value in document.items() if value != "gone"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
        ('{"kind": "a", "kind": "b"}', "no valid JSON"),
        ("[]", "no manifest"),
        ("{}", "no manifest"),
        (changed(kind="other"), "no manifest"),
        (changed(schema=2), "schema"),
        (changed(algorithm="md5"), "algorithm"),
        (changed(algorithm="gone"), "algorithm"),
        (changed(drawn_by="dice"), "drawn_by"),
        (changed(propensity="gone"), "propensity is missing"),
        (changed(propensity=[1]), "propensity is missing"),
        (changed(propensity={"a": 0.5, "b": 0.6}), "sum to 1.1"),
        (changed(propensity={"a": "x", "b": 0.6}), "at least"),
        (changed(propensity={"a": None, "b": 0.6}), "at least"),
        (changed(share="gone"), "share is missing"),
        (changed(share=True), "share is missing"),
        (changed(share=7), "share"),
        (changed(share=10**400), "share is not between 0 and 1"),
        (changed(propensity={"a": 10**400, "b": 0.6}), "at least"),
        (changed(unit=""), "unit"),
        (changed(unit=3), "unit is missing"),
        (changed(experiment=" "), "name"),
        (changed(start="soon"), "start"),
        (changed(group=3), "group"),
        (changed(propensity={"a": float("nan"), "b": 1.0}), "at least"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_name(text, message, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        AssignmentManifest.load(path)
    assert "m.json" in str(caught.value)


@pytest.mark.parametrize("path", ["nowhere.json", "."])
def test_a_file_that_cannot_be_opened_is_named(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="cannot be opened"):
        AssignmentManifest.load(path)
