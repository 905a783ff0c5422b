"""The whole way: traces of a gateway, feedback in a CSV file and a replay by batch files give the right answer."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from tests.support.gateway import GOOD, POOR, write_gateway

PROPENSITY = f"{GOOD}=0.3,{POOR}=0.7"


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    folder = tmp_path_factory.mktemp("team")
    write_gateway(folder)
    return folder


def convert(team, *options):
    return ["convert", str(team / "traces"), str(team / "batches"), "--outcomes", str(team / "feedback.csv"), *options]


def test_doctor_names_what_is_there_and_the_next_command(team, capsys):
    assert main(["doctor", str(team / "traces"), str(team / "batches"), str(team / "feedback.csv")]) == 0
    text = capsys.readouterr().out
    unwrapped = " ".join(text.split())
    assert "Recognized: LiteLLM (2 files, 640 calls), batch files (4 files, 480 calls)." in text
    assert 'have the id of a call in column "request"' in unwrapped
    assert f"The group chat has {POOR}" in unwrapped
    assert f"--propensity {POOR}=SHARE,{GOOD}=SHARE -o study" in text.splitlines()[-1]


def test_convert_check_and_evaluate_find_the_better_model_that_the_log_underrates(team, tmp_path, capsys):
    study = tmp_path / "study"
    assert main(convert(team, "--propensity", PROPENSITY, "-o", str(study))) == 0
    printed = capsys.readouterr()
    assert "experiment: 240 rows" in printed.out
    tables = {name: study / f"{name}.parquet" for name in ("log", "experiment", "replay")}
    assert f"Next: deconfound check --log {tables['log']}" in printed.err
    experiment = pq.read_table(tables["experiment"])
    assert set(zip(experiment["model"].to_pylist(), experiment["propensity"].to_pylist(), strict=True)) == {
        (GOOD, 0.3),
        (POOR, 0.7),
    }
    result = dc.evaluate(dc.load(**tables))
    assert result.raw_log.ranking()[0] == POOR
    assert result.values.ranking()[0] == GOOD
    assert result.values.best_set() == (GOOD,)
    assert {finding.verdict for finding in result.findings} <= {"pass", "cannot tell"}


def test_every_call_and_every_thumb_is_accounted_for(team, tmp_path, capsys):
    assert main(convert(team, "--propensity", PROPENSITY, "-o", str(tmp_path / "study"))) == 0
    log, experiment, replay = (
        pq.read_table(tmp_path / "study" / f"{n}.parquet") for n in ("log", "experiment", "replay")
    )
    assert (log.num_rows, experiment.num_rows, replay.num_rows) == (400, 240, 480)
    thumbs = (team / "feedback.csv").read_text(encoding="utf-8").splitlines()[1:]
    rated = sum(table.num_rows - table["outcome"].null_count for table in (log, experiment))
    assert rated == len(thumbs)
    assert "Scores without a row" not in capsys.readouterr().out


def test_fallbacks_and_cached_answers_are_not_randomized(tmp_path, capsys):
    folder = tmp_path / "team"
    write_gateway(folder, direct=50, routed=60)
    path = folder / "traces" / "routed.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    records[0]["hidden_params"]["additional_headers"]["x-litellm-attempted-fallbacks"] = 1
    records[1]["cache_hit"] = True
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    assert main(convert(folder, "--propensity", PROPENSITY, "-o", str(tmp_path / "study"))) == 0
    text = capsys.readouterr().out
    assert "experiment: 58 rows" in text
    assert "Randomized calls that are not used: fallback 1, cached 1." in text
    assert "log: 50 rows" in text


def test_a_propensity_that_some_rows_lack_is_an_error(tmp_path, capsys):
    write_gateway(tmp_path / "team", direct=30, routed=40)
    lines = [f"u-r-{n},{GOOD},{0.5 if n % 2 else ''}" for n in range(40)]
    (tmp_path / "exposures.csv").write_text("\n".join(["user_id,variant,propensity", *lines]), encoding="utf-8")
    exposures = ("--exposures", str(tmp_path / "exposures.csv"))
    assert main(convert(tmp_path / "team", *exposures, "-o", str(tmp_path / "study"))) == 1
    assert "exposures.csv row 9: propensity has no value" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "study").exists()


def test_propensities_that_calls_record_are_found_and_used(tmp_path, capsys):
    write_gateway(tmp_path / "team", direct=30, routed=40)
    path = tmp_path / "team" / "traces" / "routed.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        record["metadata"] = {**record.get("metadata", {}), "requester_metadata": {"propensity": 0.5}}
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    assert main(["doctor", str(tmp_path / "team" / "traces")]) == 0
    name = capsys.readouterr().out.split("--propensity-attribute ")[1].split()[0]
    options = ("--propensity-attribute", name, "-o", str(tmp_path / "study"))
    assert main(convert(tmp_path / "team", *options)) == 0
    assert pq.read_table(tmp_path / "study" / "experiment.parquet")["propensity"].to_pylist() == [0.5] * 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--propensity", "a=0.5,b=0.2"), "sum to 1"),
        (("--propensity", f"{GOOD}=x,{POOR}=0.7"), "takes NAME=NUMBER"),
        (("--experiment-where", "tagg.exp=1"), "No call has an attribute"),
        (("--experiment-where", "group"), "NAME=VALUE"),
        (("--outcome", "stars"), "there is no score"),
        (("--outcomes-key", "nope"), "has no column"),
    ],
)
def test_impossible_requests_say_what_to_do(team, tmp_path, capsys, options, message):
    assert main(convert(team, *options, "-o", str(tmp_path / "study"))) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_existing_tables_are_not_replaced_without_being_told(team, tmp_path, capsys):
    (tmp_path / "log.parquet").write_text("mine")
    assert main(convert(team, "--propensity", PROPENSITY, "-o", str(tmp_path))) == 2
    assert (tmp_path / "log.parquet").read_text() == "mine"
    assert "--overwrite" in capsys.readouterr().err


def test_files_that_are_no_traces_are_refused_with_the_formats(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"model": "ant", "outcome": 1}\n')
    assert main(["doctor", str(tmp_path)]) == 1
    assert "no file is in a known trace format" in capsys.readouterr().err
