"""`deconfound assign`: files, manifests, gateways, and what it refuses."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.traces.router_config import read_router_config

SHARES = "--propensity=cedar=0.5,oak=0.3,elm=0.2"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {
        "prompt_id": [f"q{i}" for i in range(300)],
        "prompt": [f"question {i}" for i in range(300)],
        "user": [f"u{i % 40}" for i in range(300)],
    }
    pq.write_table(pa.table(rows), "contexts.parquet")
    return tmp_path


def assign(*options):
    return main(["assign", "--experiment", "prices", *options])


def test_rows_and_manifest_agree_with_the_function(capsys):
    assert assign("--contexts", "contexts.parquet", SHARES, "-o", "a.parquet") == 0
    out, err = capsys.readouterr()
    rows = pq.read_table("a.parquet").to_pylist()
    manifest = dc.AssignmentManifest.load("a.manifest.json")
    assert len(rows) == 300
    for row in rows:
        drawn = manifest.assign(row["context_id"])
        assert (row["model"], row["propensity"]) == (drawn.model, drawn.propensity)
    assert f"{sum(row['model'] == 'cedar' for row in rows)}" in out
    assert "each context gets one of 3 models, drawn by the hash of its id" in out
    assert "--assignment a.manifest.json" in err


def test_running_it_again_gives_the_same_bytes(folder):
    for name in ("a", "b"):
        assert assign("--contexts", "contexts.parquet", SHARES, "-q", "-o", f"{name}.parquet") == 0
    assert (folder / "a.parquet").read_bytes() == (folder / "b.parquet").read_bytes()
    assert (folder / "a.manifest.json").read_bytes() == (folder / "b.manifest.json").read_bytes()


def test_a_share_without_any_row_says_so(capsys):
    assert assign("--contexts", "contexts.parquet", SHARES, "--share", "0.000001", "-o", "a.csv") == 0
    out, err = capsys.readouterr()
    assert "No row takes part: nothing can be asked. Give more contexts, or a larger --share." in err
    assert "Next:" not in err
    assert "By chance" not in out


def test_too_few_units_ask_for_more_units(capsys):
    pq.write_table(pa.table({"prompt": ["a", "b"], "country": ["DE", "DE"]}), "few.parquet")
    assert assign("--contexts", "few.parquet", SHARES, "--unit", "country", "-o", "a.csv") == 0
    assert "Give more units (values of country)." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("stop", [True, False])
def test_a_look_that_said_stop_is_named(folder, capsys, stop):
    batch = {"propensity": {"cedar": 0.5, "oak": 0.5}, "rows": 10}
    (folder / "look.json").write_text(json.dumps({"kind": "deconfound monitor", "stop": stop, "next_batch": batch}))
    assert assign("--from-plan", "look.json", "-o", "a.json") == 0
    assert ("The look in look.json says stop" in capsys.readouterr().err) == stop


def test_users_are_clusters_and_a_share_leaves_the_others_out(capsys):
    options = ("--contexts", "contexts.parquet", "--models", "cedar,oak", "--unit", "user", "--share", "0.5")
    assert assign(*options, "-o", "a.csv") == 0
    out = capsys.readouterr().out
    assert "the user is the cluster of the evaluation" in out
    assert "50 % of all take part" in " ".join(out.split())
    assert dc.AssignmentManifest.load("a.manifest.json").unit == "user"


def test_json_has_the_manifest_and_the_counts(capsys):
    assert assign("--contexts", "contexts.parquet", SHARES, "--json", "-q", "-o", "a.jsonl") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["manifest"]["propensity"] == {"cedar": 0.5, "elm": 0.2, "oak": 0.3}
    assert sum(document["drawn"]["rows_by_model"].values()) == document["drawn"]["rows"] == 300


def test_a_manifest_alone_is_for_a_service(capsys):
    assert assign("--models", "cedar,oak", "--unit", "user", "--start", "2026-05-01", "-o", "service.json") == 0
    manifest = dc.AssignmentManifest.load("service.json")
    assert (manifest.unit, manifest.start) == ("user", "2026-05-01")
    assert "AssignmentManifest.load(PATH).assign(user)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gateway", "name"), [("litellm", "c.yaml"), ("tensorzero", "c.toml"), ("growthbook", "c.json")]
)
def test_a_gateway_gets_its_file_and_a_manifest(gateway, name, folder, capsys):
    options = ("--to", gateway, "--group", "chat", "--deployment", "cedar=openai/cedar")
    assert assign(SHARES, *options, "-o", name) == 0
    (group,) = read_router_config(folder / name).groups
    manifest = dc.AssignmentManifest.load("c.manifest.json")
    assert group.shares({"cedar", "oak", "elm"}) == pytest.approx(manifest.rule.propensities)
    assert (manifest.drawn_by, manifest.group) == (gateway, "chat")
    assert "deconfound convert" in capsys.readouterr().err


def test_a_plan_gives_the_propensities_and_the_rows_that_it_asks_for(folder, capsys):
    answer = {"propensity": [0.7, 0.3], "expected": {"total_rows": 5_000}}
    plan = {"models": ["oak", "cedar"], "inputs": {"source": "pilot"}, "answers": [answer]}
    (folder / "plan.json").write_text(json.dumps(plan))
    assert assign("--contexts", "contexts.parquet", "--from-plan", "plan.json", "-o", "a.parquet") == 0
    assert dc.AssignmentManifest.load("a.manifest.json").rule.propensities == {"cedar": 0.3, "oak": 0.7}
    assert "The plan asks for 5,000 randomized rows; these are 300." in capsys.readouterr().out


def test_nothing_is_overwritten_without_being_asked(folder, capsys):
    (folder / "a.manifest.json").write_text("mine")
    command = ("--contexts", "contexts.parquet", SHARES, "-q", "-o", "a.parquet")
    assert assign(*command) == 2
    assert "a.manifest.json exists" in capsys.readouterr().err
    assert not (folder / "a.parquet").exists()
    assert assign(*command, "--overwrite") == 0
    assert assign("--contexts", "contexts.parquet", SHARES, "-o", "contexts.parquet", "--overwrite") == 2
    assert "would replace the input" in capsys.readouterr().err


def test_the_plan_is_never_replaced_by_the_manifest(folder):
    (folder / "plan.manifest.json").write_text(json.dumps({"models": ["a", "b"]}))
    assert assign("--models", "a,b", "--from-plan", "x", "-o", "a.json") == 2
    options = (
        "--from-plan",
        "plan.manifest.json",
        "--contexts",
        "contexts.parquet",
        "-o",
        "plan.parquet",
        "--overwrite",
    )
    assert assign(*options) in (1, 2)
    assert (folder / "plan.manifest.json").read_text() == json.dumps({"models": ["a", "b"]})


def test_a_rare_model_without_a_row_is_reported(capsys):
    pq.write_table(pa.table({"context_id": ["a", "b"]}), "few.parquet")
    assert assign("--contexts", "few.parquet", "--models", "a,b,c,d", "-o", "a.parquet") == 0
    assert "no row has" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--models", "a", "-o", "x.json"], "2 to 1,000 models", 2),
        (["--models", "a,a", "-o", "x.json"], "twice", 2),
        (["--propensity", "a=0.5,b=0.4", "-o", "x.json"], "sum to 0.9", 2),
        (["--propensity", "a=0.5,a=0.5", "-o", "x.json"], "more than once", 2),
        (["--propensity", "a=1,b=0", "-o", "x.json"], "below 1", 2),
        (["--propensity", "a=1.5,b=-0.5", "-o", "x.json"], "below 1", 2),
        (["--propensity", "a=x,b=1", "-o", "x.json"], "NAME=NUMBER", 2),
        (["-o", "x.json"], "No models are given", 2),
        (["--models", "a,b", "--propensity", "a=0.5,b=0.5", "-o", "x.json"], "same thing", 2),
        (["--models", "a,b"], "-o", 2),
        (["--models", "a,b", "-o", "x.parquet"], "only a manifest", 2),
        (["--models", "a,b", "-o", "x.xlsx", "--contexts", "contexts.parquet"], "ending in .parquet", 2),
        (["--models", "a,b", "-o", "nowhere/x.json"], "no folder", 2),
        (["--models", "a,b", "-o", "x.json", "--share", "0"], "share", 2),
        (["--models", "a,b", "-o", "x.json", "--start", "soon"], "start", 2),
        (["--models", "a,b", "-o", "x.json", "--group", "chat"], "--to", 2),
        (["--models", "a,b", "-o", "x.json", "--map", "context=x"], "--contexts", 2),
        (["--models", "a,b", "-o", "x.yaml", "--to", "litellm", "--contexts", "contexts.parquet"], "exclude", 2),
        (["--models", "a,b", "-o", "x.yaml", "--to", "litellm", "--deployment", "a"], "MODEL=NAME", 2),
        (["--models", "a,b", "-o", "x.csv", "--contexts", "none.csv"], "no such file", 1),
        (["--models", "a,b", "-o", "x.csv", "--contexts", "contexts.parquet", "--unit", "usr"], "did you mean", 1),
        (["--from-plan", "none.json", "-o", "x.json"], "cannot be opened", 1),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_written(options, message, code, folder, capsys):
    before = sorted(folder.iterdir())
    assert assign(*options) == code
    assert message in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_hostile_names_cannot_control_the_terminal(capsys):
    assert assign("--models", "a\x1b[31m,b\u202e", "-o", "x.json") == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
