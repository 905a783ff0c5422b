"""`deconfound judge` as a user runs it: files, messages, exit codes, resumption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.judging.rubric_file import read_rubric
from tests.support.replay_files import KEY
from tests.support.scripted_judge import ScriptedJudge, judge_table, outputs_table, write_judges
from tests.support.scripted_server import Answer, completion, error, scripted_server

EXACT = ScriptedJudge(noise=0.0)
PRICES = ("max_tokens = 50", "price_input = 1", "price_output = 2")


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", KEY)
    with scripted_server(EXACT) as running:
        write_judges(tmp_path, running.url, judge_table("a", *PRICES), endpoint='attempts = 1\nkey_env = "MY_KEY"')
        log = outputs_table(5).append_column("outcome", pa.array([0.5, 0.75] * 5))
        pq.write_table(log, "log.parquet")
        pq.write_table(outputs_table(3), "replay.parquet")
        yield running


def judge(*options: str) -> int:
    return main(["judge", "--outputs", "log.parquet", "--judges", "judges.toml", *options])


@pytest.mark.usefixtures("server")
def test_one_table_gets_its_labels(tmp_path, capsys):
    assert judge() == 0
    out, err = capsys.readouterr()
    assert out.startswith("10 rows, 10 distinct outputs, 1 judge, rubric summarization.\n")
    assert "10 answers in this run for 0.0002, 0 verdicts from the cache." in out
    assert "Written to judged.parquet." in err
    table = pq.read_table("judged.parquet")
    assert table.column_names[:4] == ["context", "model", "output", "outcome"]
    assert table.drop_columns(table.column_names[4:]).equals(pq.read_table("log.parquet"))
    names = ["judge.cache.sqlite", "judged.parquet", "judges.toml", "log.parquet", "replay.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.usefixtures("server")
def test_a_criterion_with_one_score_for_all_outputs_is_named(capsys):
    """This judge counts two claims everywhere, and varies the other scores."""
    assert judge() == 0
    err = capsys.readouterr().err
    assert "all 10 outputs have the same score, so it says nothing about any model." in err
    assert err.count("same score") == 1


def test_several_tables_go_into_a_folder_and_share_their_answers(server, tmp_path, capsys):
    assert main(["judge", "--outputs", "log.parquet", "replay.parquet", "--judges", "judges.toml"]) == 0
    assert len(server.requests) == 10
    assert sorted(path.name for path in (tmp_path / "judged").iterdir()) == ["log.parquet", "replay.parquet"]
    assert judge("-q") == 0
    assert len(server.requests) == 10
    capsys.readouterr()
    study = dc.load(
        log="judged/log.parquet", experiment="log.parquet", replay="judged/replay.parquet", incomplete="drop"
    )
    assert "label_clarity" in study.label_names


@pytest.mark.usefixtures("server")
def test_files_in_a_folder_are_called_as_their_tables(tmp_path, capsys):
    rows = outputs_table(1).to_pylist()
    (tmp_path / "parts").mkdir()
    for name in ("log.v1.jsonl", "log.v2.jsonl", "parts/one.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables = ["log.v1.jsonl", "log.v2.jsonl", "parts/*.jsonl"]
    assert main(["judge", "--judges", "judges.toml", "-q", "--outputs", *tables]) == 0
    names = ["log.v1.parquet", "log.v2.parquet", "parts.parquet"]
    assert sorted(path.name for path in (tmp_path / "judged").iterdir()) == names
    assert (
        main(["judge", "--judges", "judges.toml", "-q", "--outputs", "parts", "parts/one.jsonl", "parts/*.jsonl"]) == 2
    )
    assert "Two tables would be written to parts.parquet" in capsys.readouterr().err


def test_the_same_command_replaces_its_own_table_and_no_other(server, tmp_path, capsys):
    assert judge() == judge() == 0
    assert len(server.requests) == 10
    (tmp_path / "judged.parquet").write_bytes(b"a file of the user")
    assert judge() == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (tmp_path / "judged.parquet").read_bytes() == b"a file of the user"
    assert judge("-o", "log.parquet", "--overwrite") == 2
    assert pq.read_table("log.parquet").num_columns == 4


@pytest.mark.usefixtures("server")
def test_scores_as_one_outcome_with_a_stated_combination(capsys):
    assert judge("--as", "outcome") == 1
    assert 'there is a column "outcome" already' in capsys.readouterr().err
    assert judge("--as", "judged", "--weights", "clarity=3,unsupported_claims=1", "-o", "out.jsonl") == 0
    assert "0.75 × clarity + 0.25 × (1 - unsupported_claims / 20)" in capsys.readouterr().out
    with open("out.jsonl", encoding="utf-8") as lines:  # noqa: PTH123
        rows = [json.loads(line) for line in lines]
    assert all(0 <= row["judged"] <= 1 for row in rows)
    assert "label_clarity" not in rows[0]


def test_a_dry_run_asks_nothing_and_makes_no_file(server, tmp_path, capsys):
    files = sorted(tmp_path.iterdir())
    assert judge("--dry-run") == 0
    assert "Repairs of unusable replies are not included." in capsys.readouterr().out
    assert judge("--dry-run", "--json", "--probe", "4") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["total"]["calls"], found["probed_outputs"]) == (10 + 4 * 6, 4)
    assert server.requests == []
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.usefixtures("server")
def test_json_has_the_probes(capsys):
    assert judge("--json", "-q", "--probe", "6", "--human", "outcome") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"] is True
    assert found["judges"][0]["scored"] == 10
    probes = {one["probe"] for one in found["probes"]["estimates"]}
    assert {"length", "orders in the output", "repeatability"} <= probes
    assert judge("-q", "--probe", "6") == 0
    assert "no sign that an order in the output changes scores" in capsys.readouterr().out


def test_failures_are_told_with_what_they_mean_for_evaluate(server, capsys):
    server.script = lambda one: error(400, "too\x1b[31m long") if "Parcel 1," in one.text else EXACT(one)
    assert judge() == 4
    err = capsys.readouterr().err
    assert "a: no scores of 2 outputs: HTTP 400, the request is not accepted" in err
    assert "\x1b" not in err
    assert "`evaluate` leaves out label columns with gaps: complete them" in err
    assert pq.read_table("judged.parquet")["label_clarity"].null_count == 2
    server.script = EXACT
    assert judge() == 0
    assert pq.read_table("judged.parquet")["label_clarity"].null_count == 0


def test_a_server_without_an_enforced_form_is_named_once(server, capsys):
    server.script = lambda one: error(400) if "response_format" in one.body else EXACT(one)
    assert judge() == 0
    err = capsys.readouterr().err
    assert "a: the server does not accept a request for an enforced form." in err
    assert "failed call" not in err


def test_missing_verdicts_of_probes_are_told(server, capsys):
    server.script = lambda one: error(500) if "full marks" in one.text else EXACT(one)
    assert judge("--probe", "5") == 0
    out, err = capsys.readouterr()
    assert "5 verdicts of the probes missing" in err
    assert "orders in the output: not possible" in out


def test_nothing_at_all_is_exit_code_2_and_no_file(server, tmp_path, capsys):
    server.script = lambda one: error(401, f"no {one.headers['authorization']}")
    assert judge() == 2
    err = capsys.readouterr().err
    assert "No output has a score" in err
    assert KEY not in err
    assert not (tmp_path / "judged.parquet").exists()


def test_init_and_print_rubric_give_files_to_start_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "--init"]) == 0
    assert main(["judge", "--init"]) == 2
    capsys.readouterr()
    assert main(["judge", "--print-rubric", "summarization"]) == 0
    (tmp_path / "rubric.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert read_rubric(tmp_path / "rubric.toml") == read_rubric("summarization")
    pq.write_table(outputs_table(1), "log.parquet")
    assert judge("--dry-run", "--rubric", "rubric.toml") == 0


def test_batches_there_and_back(server, tmp_path, capsys):
    assert judge("--batch", "batches") == 0
    assert "openai-a-001.jsonl: 10 requests for openai" in capsys.readouterr().out
    lines = (tmp_path / "batches" / "openai-a-001.jsonl").read_text().splitlines()
    body = json.loads(completion(json.dumps(dict.fromkeys(read_rubric("summarization").names, 1))).body)
    rows = [
        {"custom_id": json.loads(one)["custom_id"], "response": {"status_code": 200, "body": body}} for one in lines
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert judge("--batch-results", "results.jsonl") == 0
    assert server.requests == []
    assert pq.read_table("judged.parquet")["label_clarity"].to_pylist() == pytest.approx([0.2] * 10)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--dry-run", "--init"], "exclude each other"),
        (["-o", "labels.csv"], ".parquet or .jsonl"),
        (["--probe", "-1"], "--probe"),
        (["--human", "outcome"], "pass --probe"),
        (["--probe", "--human", "stars"], 'no column "stars"'),
        (["--as", "output"], "--as takes"),
        (["--weights", "coverage"], "--weights takes NAME=NUMBER"),
        (["--weights", "tone=1"], "is no criterion"),
        (["--rubric", "absent"], "there is no rubric"),
        (["--rubric", "absent.toml"], "cannot be opened"),
        (["--print-rubric", "absent"], "there is no rubric"),
        (["--cache", "log.parquet"], "is not a cache of deconfound"),
        (["--where", "country=DE"], "there is no column"),
        (["--map", "output=answer"], 'no column "answer"'),
        (["--concurrency", "0"], "--concurrency"),
    ],
)
def test_wrong_usage(server, capsys, options, what):
    assert judge(*options) in (1, 2)
    assert what in capsys.readouterr().err
    assert server.requests == []


def test_missing_options(capsys):
    assert main(["judge", "--judges", "m.toml"]) == 2
    assert "--outputs is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("", "there are no judges"),
        ('[models.a]\nendpoint = "local"\nmodel = "x"', "there are no judges"),
        ('[judges.a]\nendpoint = "local"\nmodel = "x"\nprompt = "{context}"', "a judge has no prompt"),
        ('[judges.a]\nendpoint = "local"\nmodel = "x"\nstructured = 1', "neither true nor false"),
        ('[judges.a]\nendpoint = "local"\nmodel = "x"\ntemprature = 1', 'Did you mean "temperature"'),
        ('[judge.a]\nendpoint = "local"\nmodel = "x"', 'no table "judge"'),
        ('[judges.a]\nendpoint = "lokal"\nmodel = "x"', 'no endpoint "lokal"'),
        (judge_table("a") + judge_table("b"), "have the same model and settings"),
    ],
)
def test_faults_of_the_settings(server, tmp_path, capsys, settings, what):
    write_judges(tmp_path, server.url, settings)
    assert judge() == 1
    assert what in capsys.readouterr().err


START = "import sys; from deconfound.cli import main; sys.exit(main())"


@pytest.mark.skipif(sys.platform == "win32", reason="kills processes")
def test_a_killed_run_continues_and_nothing_is_paid_for_twice(server):
    """The answers of two outputs never come; the others are in the cache when the process is killed."""
    server.script = lambda one: Answer(EXACT(one).body, hang="Parcel 4," in one.text)
    command = [sys.executable, "-c", START, "judge", "--outputs", "log.parquet", "--judges", "judges.toml"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(server.requests) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
    server.script = EXACT
    assert judge("-q") == 0
    assert len(server.requests) == 10 + 2
    assert set(server.answered.values()) == {1}
