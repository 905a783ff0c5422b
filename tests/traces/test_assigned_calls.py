"""Traces of an experiment that `deconfound assign` has drawn: which calls are of it, and which got another model."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from deconfound.assignment import AssignmentManifest, AssignmentRule
from deconfound.cli import main
from deconfound.errors import UsageError
from deconfound.traces.call import Call, Message
from deconfound.traces.call_filter import parse_condition
from deconfound.traces.call_table import CallSummary
from deconfound.traces.experiment_rows import OTHER_MODEL, ExperimentRule, find_experiment
from tests.support.gateway import GOOD, POOR, write_gateway

RULE = AssignmentRule.from_models("prices", {"ant": 0.7, "bee": 0.3})


def call(unit, model, *, field="user", time=10.0, **fields):
    place = {"attributes": {field: unit}} if field not in ("user", "conversation") else {field: unit}
    return CallSummary.from_call(
        "r", Call("o", "c", model, (Message("user", "q"),), ("a",), time=time, **place, **fields)
    )


def calls_by(count, **fields):
    return [call(f"u{i}", RULE.draw(f"u{i}").model, **fields) for i in range(count)]


def experiment(calls, manifest, *where):
    return find_experiment(calls, ExperimentRule(assignment=manifest, where=tuple(map(parse_condition, where))))


@pytest.mark.parametrize(
    ("unit", "field"),
    [("user", "user"), ("user_id", "user"), ("session_id", "conversation"), ("metadata.tenant", "metadata.tenant")],
)
def test_units_are_users_conversations_or_attributes(unit, field):
    rows = experiment(calls_by(40, field=field), AssignmentManifest(RULE, unit))
    assert rows.randomized.all()
    assert rows.propensity.tolist() == [RULE.draw(f"u{i}").propensity for i in range(40)]


def test_calls_of_units_outside_the_share_are_ordinary_use():
    manifest = AssignmentManifest(AssignmentRule.from_models("prices", {"ant": 0.7, "bee": 0.3}, 0.4), "user")
    rows = experiment(calls_by(200), manifest)
    assert rows.randomized.tolist() == [manifest.assign(f"u{i}") is not None for i in range(200)]
    assert not rows.excluded.any()


def test_calls_before_the_start_or_without_a_user_are_ordinary_use():
    early = [call(f"u{i}", "ant", time=1.0) for i in range(20)]
    rows = experiment(
        [*early, call("", "ant"), call("u1", "ant", time=None), *calls_by(10)],
        AssignmentManifest(RULE, "user", start="1970-01-01T00:00:05Z"),
    )
    assert rows.randomized.tolist() == [False] * 22 + [True] * 10


def test_calls_that_another_model_answered_are_counted_and_in_no_table():
    calls = calls_by(40)
    other = "bee" if calls[3].model == "ant" else "ant"
    rows = experiment([*calls[:3], call("u3", other), *calls[4:]], AssignmentManifest(RULE, "user"))
    assert np.flatnonzero(rows.excluded).tolist() == [3]
    assert rows.reasons == {OTHER_MODEL: 1}


def test_calls_that_were_never_drawn_are_not_taken_for_an_experiment():
    """Every second call would agree by coincidence: to use these would select by the model."""
    rng = np.random.default_rng(0)
    chosen = [call(f"u{i}", str(rng.choice(["ant", "bee"]))) for i in range(200)]
    with pytest.raises(UsageError, match=r"\d+ % of 200 calls .*--start"):
        experiment(chosen, AssignmentManifest(RULE, "user"))


def test_contexts_need_the_user_to_say_which_calls():
    calls = calls_by(10, group="chat")
    with pytest.raises(UsageError, match="--experiment-where"):
        experiment(calls, AssignmentManifest(RULE))
    assert experiment(calls, AssignmentManifest(RULE), "group=chat").randomized.all()
    with pytest.raises(UsageError, match="which no call has"):
        experiment(calls, AssignmentManifest(RULE, "metadata.tenant"))


def test_a_gateways_calls_are_those_of_its_group():
    calls = [*calls_by(5, group="chat"), *calls_by(5, group="solo")]
    manifest = AssignmentManifest(RULE, "call", "litellm", "chat")
    assert experiment(calls, manifest).randomized.tolist() == [True] * 5 + [False] * 5
    with pytest.raises(UsageError, match='asked for "other"'):
        experiment(calls, AssignmentManifest(RULE, "call", "litellm", "other"))


def test_from_the_gateways_manifest_to_checked_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_gateway(tmp_path)
    given = ["--propensity", f"{GOOD}=0.3,{POOR}=0.7", "--to", "litellm", "--group", "chat"]
    assert main(["assign", "--experiment", "prices", *given, "-o", "config.json"]) == 0
    command = ["convert", "traces/", "batches/", "--outcomes", "feedback.csv", "-q"]
    assert main([*command, "--assignment", "config.manifest.json", "-o", "by_manifest"]) == 0
    assert main([*command, "--propensity-from", "config.json", "-o", "by_config"]) == 0
    tables = [pq.read_table(f"{folder}/experiment.parquet") for folder in ("by_manifest", "by_config")]
    assert tables[0].equals(tables[1])
    names = [f"--{role}=by_manifest/{role}.parquet" for role in ("log", "experiment", "replay")]
    assert main(["check", *names, "--assignment", "config.manifest.json", "-q"]) == 0
    assert "propensities are those of config.manifest.json" in capsys.readouterr().out


def test_from_a_services_manifest_to_an_exact_check(tmp_path, monkeypatch, capsys):
    """The converted experiment has the units under the manifest's name, so that draws can be checked again."""
    monkeypatch.chdir(tmp_path)
    write_gateway(tmp_path)
    options = ["--propensity", f"{GOOD}=0.3,{POOR}=0.7", "--unit", "user", "--start", "2026-01-01", "-q"]
    assert main(["assign", "--experiment", "prices", *options, "-o", "service.json"]) == 0
    manifest = AssignmentManifest.load("service.json")
    path = tmp_path / "traces" / "routed.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        model = manifest.assign(record["end_user"]).model
        record["response"]["model"], record["model"] = model, f"openai/{model}"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    command = ["convert", "traces/", "batches/", "--outcomes", "feedback.csv", "--assignment", "service.json", "-q"]
    assert main([*command, "--experiment-where", "group=chat", "-o", "study"]) == 0
    names = [f"--{role}=study/{role}.parquet" for role in ("log", "experiment", "replay")]
    main(["check", *names, "--assignment", "service.json", "-q"])
    assert "has the model that its assignment draws" in capsys.readouterr().out


def test_one_way_to_say_the_propensities(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_gateway(tmp_path, direct=5, routed=5)
    (tmp_path / "m.json").write_text(AssignmentManifest(RULE, "user").to_json())
    assert main(["convert", "traces/", "--assignment", "m.json", "--propensity", "a=0.5,b=0.5", "-o", "s"]) == 2
    assert "use one of them" in capsys.readouterr().err
