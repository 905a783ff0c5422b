"""`deconfound replay`: modes, files, exit codes, and no key in anything that is printed or written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from deconfound.cli import main
from deconfound.endpoints import reply_cache
from deconfound.endpoints.endpoint import Endpoint
from deconfound.loading import load_replay
from tests.support.replay_files import KEY, model, write_contexts, write_settings
from tests.support.scripted_server import Answer, completion, echo, error, scripted_server

TEXTS = [f"Where is parcel {at}?" for at in range(6)]
LEAD = '[models.lead1]\nbaseline = "lead"\nsentences = 1'
PRICES = "price_input = 1\nprice_output = 2\nmax_tokens = 50"


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", KEY)


@pytest.fixture
def server():
    with scripted_server() as running:
        yield running


def prepare(server, tmp_path, *models, endpoint='key_env = "MY_KEY"\nattempts = 1'):
    write_contexts(tmp_path, TEXTS)
    write_settings(
        tmp_path,
        server.url,
        *(models or (model("a", PRICES), model("b", 'prompt = "<{context}>"'), LEAD)),
        endpoint=endpoint,
    )


def replay(*options):
    return main(["replay", "--contexts", "contexts.jsonl", "--models", "models.toml", *options])


def test_one_cache_serves_all_outputs_of_a_folder(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("-o", "first.parquet") == 0
    calls = len(server.requests)
    assert replay("-o", "second.jsonl") == 0
    assert len(server.requests) == calls
    assert "0 answers in this run, 12 from the cache." in capsys.readouterr().out
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["replay.cache.sqlite"]


def test_a_run_writes_a_replay_and_says_what_is_in_it(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("--draws", "2") == 0
    out, err = capsys.readouterr()
    assert out.startswith("3 models on 6 contexts, 2 draws.\n")
    assert "24 answers in this run for 0.0003, 0 from the cache." in out
    assert "Written to replay.parquet." in err
    assert load_replay("replay.parquet").arrow.num_rows == 30
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "contexts.jsonl",
        "models.toml",
        "replay.cache.sqlite",
        "replay.parquet",
    ]


def test_the_same_command_asks_for_nothing_and_replaces_its_own_table(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay() == replay() == 0
    assert len(server.requests) == 12
    assert "0 answers in this run for" not in capsys.readouterr().err
    (tmp_path / "replay.parquet").write_bytes(b"a file of the user")
    assert replay() == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (tmp_path / "replay.parquet").read_bytes() == b"a file of the user"
    assert replay("--overwrite") == 0


@pytest.mark.parametrize("name", ["contexts.jsonl", "models.toml", "replay.cache.sqlite"])
def test_no_input_is_ever_replaced(server, tmp_path, name):
    prepare(server, tmp_path)
    assert replay() == 0
    target = tmp_path / "link.jsonl"
    target.symlink_to(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    assert replay("-o", "link.jsonl", "--overwrite", "--cache", "replay.cache.sqlite") == 2
    assert (tmp_path / name).read_bytes() == before


def test_json(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("--json", "-q") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"] is True
    assert [(one["model"], one["outputs"], one["cost"]) for one in found["models"]] == [
        ("a", 6, pytest.approx(6 * 21e-6)),
        ("b", 6, None),
        ("lead1", 6, 0.0),
    ]


def test_a_dry_run_asks_nothing_and_makes_no_file(server, tmp_path, capsys):
    prepare(server, tmp_path)
    files = sorted(tmp_path.iterdir())
    assert replay("--dry-run") == 0
    assert "Nothing limits the outputs of b" in capsys.readouterr().out
    assert replay("--dry-run", "--json", "--draws", "3") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["calls"] for one in found["models"]] == [18, 18]
    assert found["total"]["calls"] == 36
    assert server.requests == []
    assert sorted(tmp_path.iterdir()) == files
    assert replay("-q") == 0
    capsys.readouterr()
    assert replay("--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["total"]["stored"] == 12


def test_the_todo_list(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("-q") == 0
    capsys.readouterr()
    assert replay("--todo") == 0
    assert "Nothing is missing." in capsys.readouterr().out
    assert replay("--todo", "--json", "--draws", "2") == 0
    cells = json.loads(capsys.readouterr().out)
    assert len(cells) == 12
    assert set(cells[0]) == {"context_id", "model", "draw"}
    assert replay("--todo", "--draws", "2", "--replay", "replay.parquet", "--cache", "none.sqlite") == 0
    assert "12 outputs missing." in capsys.readouterr().out
    assert not (tmp_path / "none.sqlite").exists()


def test_init_writes_a_file_once(capsys):
    assert main(["replay", "--init"]) == 0
    assert "deconfound replay --contexts FILE --models models.toml --dry-run" in capsys.readouterr().err
    assert main(["replay", "--init"]) == 2
    assert main(["replay", "--init", "--models", "other.toml"]) == 0


def test_batches_there_and_back(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("--batch", "batches") == 0
    assert "6 requests for openai" in capsys.readouterr().out
    assert replay("--batch", "batches") == 2
    names = sorted(path.name for path in (tmp_path / "batches").iterdir())
    assert names == ["openai-a-001.jsonl", "openai-b-001.jsonl"]
    body = json.loads(completion("batched").body)
    results = [
        {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200, "body": body}}
        for name in names
        for line in (tmp_path / "batches" / name).read_text().splitlines()
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in results[:-1]))
    assert replay("--batch-results", "results.jsonl") == 4
    err = capsys.readouterr().err
    assert "11 answers read from batches." in err
    assert "Outputs are missing (b 1)." in err
    failed = {"custom_id": results[-1]["custom_id"], "response": {"status_code": 500, "body": {}}}
    other = {"custom_id": "another", "response": {"status_code": 200, "body": body}}
    (tmp_path / "results.jsonl").write_text(f"{json.dumps(failed)}\n{json.dumps(other)}\n")
    assert replay("--batch-results", "results.jsonl") == 4
    err = capsys.readouterr().err
    assert "Requests failed: 1" in err
    assert "Lines for other requests, which are not used: 1." in err
    (tmp_path / "results.jsonl").write_text(json.dumps(results[-1]))
    assert replay("--batch-results", "results.jsonl") == 0
    assert server.requests == []
    assert load_replay("replay.parquet").arrow.num_rows == 18


def test_failures_are_listed_by_model_and_cause_with_exit_code_4(server, tmp_path, capsys):
    prepare(server, tmp_path)
    server.script = lambda one: error(400, "ctx\x1b[31m too long") if one.text.startswith("<") else echo(one)
    assert replay() == 4
    err = capsys.readouterr().err
    assert "b: 6 failed calls: HTTP 400, the request is not accepted (first: ctx\\x1b[31m too long)" in err
    assert "Outputs are missing (b 6). They have no row." in err
    assert load_replay("replay.parquet").unique_values("model") == {"a", "lead1"}


def test_a_model_that_failed_at_its_last_calls_is_not_said_to_be_given_up(server, tmp_path, capsys):
    prepare(server, tmp_path, model("a"), model("b", 'prompt = "<{context}>"'))
    server.script = lambda one: error(401) if one.text.startswith("<") else echo(one)
    assert replay("--concurrency", "12") == 4  # all of them at once
    err = capsys.readouterr().err
    assert "b: 6 failed calls: HTTP 401" in err
    assert "given up" not in err


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("Gone.", "messages ends with an answer in 1 row; these answers are left out."),
        ("Lost.", "conversations in messages end with an answer that is not the output. It is part of the context."),
    ],
)
def test_it_is_said_what_happens_to_an_answer_at_the_end_of_messages(server, tmp_path, capsys, output, said):
    prepare(server, tmp_path)
    messages = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "Gone."}]
    (tmp_path / "contexts.jsonl").write_text(json.dumps({"messages": messages, "output": output}))
    assert replay() == 0
    assert said in capsys.readouterr().err
    assert any(len(one.body["messages"]) == 1 + (output == "Lost.") for one in server.requests)


def test_a_key_without_encryption_is_named(server, tmp_path, capsys, monkeypatch):
    prepare(server, tmp_path)
    monkeypatch.setattr(Endpoint, "sends_key_readable", property(lambda _: True))
    assert replay() == 0
    assert capsys.readouterr().err.count("gets its key without encryption (http)") == 1


def test_nothing_at_all_is_exit_code_2_and_no_file(server, tmp_path, capsys):
    prepare(server, tmp_path, model("a"))
    server.script = lambda _: error(401, f"Incorrect API key provided: {KEY}")
    assert replay("--concurrency", "1") == 2
    err = capsys.readouterr().err
    assert err.count("HTTP 401, the key is not accepted (key: environment variable MY_KEY)") == 1
    assert "a: given up after failures in a row, 3 calls not made. 3 failed calls: HTTP 401" in err
    assert KEY not in err
    assert not (tmp_path / "replay.parquet").exists()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--dry-run", "--todo"], "exclude each other"),
        (["--replay", "x.parquet"], "for --todo"),
        (["-o", "replay.csv"], ".parquet or .jsonl"),
        (["--draws", "0"], "--draws"),
        (["--concurrency", "0"], "--concurrency"),
        (["--cache", " "], "--cache is empty"),
        (["--cache", "contexts.jsonl"], "is not a cache of deconfound"),
        (["--where", "country=DE"], "there is no column"),
        (["--batch-results", "absent.jsonl"], "cannot be opened"),
    ],
)
def test_wrong_usage(server, tmp_path, capsys, options, what):
    prepare(server, tmp_path)
    assert replay(*options) in (1, 2)
    assert what in capsys.readouterr().err
    assert server.requests == []


def test_missing_options(capsys):
    assert main(["replay", "--models", "m.toml"]) == 2
    assert "--contexts is missing" in capsys.readouterr().err


def test_another_run_on_the_same_cache_waits_its_turn(server, tmp_path, capsys):
    prepare(server, tmp_path)
    assert replay("-q") == 0
    with reply_cache.ReplyCache(tmp_path / "replay.cache.sqlite") as cache, cache.locked("replay"):
        assert replay("--draws", "2") == 2
        assert "is in use by another replay" in capsys.readouterr().err
        assert replay("--dry-run") == 0


MISBEHAVIOURS = {
    "echo": lambda one: completion(f"key {one.headers['authorization']}", model=KEY),
    "unauthorized": lambda one: error(401, f"Incorrect key {one.headers['authorization']}"),
    "long error": lambda one: error(400, "x" * 180 + one.headers["authorization"] + "y" * 500),
    "plain error": lambda one: Answer(f"no {one.headers['authorization']}".encode(), 500),
    "redirect": lambda _: Answer(status=307, headers={"Location": f"http://127.0.0.1:9/?key={KEY}"}),
    "not json": lambda one: Answer(f"<b>{one.headers['authorization']}</b>".encode()),
    "no choices": lambda _: Answer(json.dumps({"choices": [], "error": {"message": KEY}}).encode()),
    "escaped": lambda _: Answer(completion("HERE").body.replace(b"HERE", b"\\u0073" + KEY[1:].encode())),
    "retry": lambda _: error(429, KEY, KEY, Retry_After=KEY),
    "cut": lambda _: Answer(completion(KEY).body, cut_after=200),
    "drop": lambda _: Answer(drop=True),
    "filter": lambda _: error(400, KEY, "content_filter"),
}


@pytest.mark.parametrize("script", MISBEHAVIOURS.values(), ids=MISBEHAVIOURS)
def test_the_key_of_an_endpoint_is_nowhere(server, tmp_path, capsys, script):
    prepare(server, tmp_path, model("a"), LEAD)
    server.script = script
    replay()
    replay("--json", "--draws", "2")
    replay("--dry-run", "--json")
    replay("--todo", "--json", "--draws", "3")
    replay("--batch", "batches", "--draws", "3")
    out, err = capsys.readouterr()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for part in (KEY, KEY[5:25]):
        assert part not in out + err
        assert part.encode() not in written
        assert not (tmp_path / "replay.parquet").exists() or part not in repr(
            load_replay("replay.parquet").arrow.to_pylist()
        )


def test_texts_of_others_are_never_printed_raw(server, tmp_path, capsys):
    evil = "\x1b]0;title\x07\u202e"
    write_contexts(tmp_path, [f"{evil} {at}" for at in range(3)])
    write_settings(
        tmp_path, server.url, '[models."m\\u001b[31m"]\nendpoint = "local"\nmodel = "small-1"', endpoint="attempts = 1"
    )
    server.script = lambda one: error(400, evil) if one.text.endswith("1") else completion(evil, model=f"x{evil}")
    assert replay() == 4
    replay("--todo", "--draws", "2")
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\u202e") & set(out + err)
    assert "m\\x1b[31m" in out


START = "import sys; from deconfound.cli import main; sys.exit(main())"


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_ctrl_c_ends_with_what_is_done_stored(server, tmp_path):
    prepare(server, tmp_path, model("a"))
    server.script = lambda one: Answer(echo(one).body, hang=one.text.endswith(("4?", "5?")))
    command = [sys.executable, "-c", START, "replay", "--contexts", "contexts.jsonl", "--models", "models.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=_listen) as process:  # noqa: PLW1509
        deadline = time.monotonic() + 30
        while len(server.requests) < 6 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "4 answers of this run are stored in replay.cache.sqlite. The same command continues." in err
    assert err.endswith("deconfound: interrupted.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["contexts.jsonl", "models.toml", "replay.cache.sqlite"]
    server.script = echo
    assert replay("-q") == 0
    assert len(server.requests) == 6 + 2


def _listen():
    signal.signal(signal.SIGINT, signal.default_int_handler)
