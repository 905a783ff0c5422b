"""`deconfound route`: a policy file, what it says about it, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deconfound as dc
from deconfound.cli import main
from tests.policy_learning.test_learn_policy import tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("route")
    for name, table in tables().items():
        pq.write_table(table, place / f"{name}.parquet")
    names = "".join(f'{name} = "{name}.parquet"\n' for name in ("log", "experiment", "replay"))
    (place / "study.toml").write_text(f'{names}family = "exp-only"\n')
    return place


def test_a_policy_is_written_and_described(folder, tmp_path, capsys):
    output = tmp_path / "policy.json"
    assert main(["route", str(folder / "study.toml"), "-o", str(output), "-q"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Routing by the prompt pays.")
    assert "contexts  share  value" in printed.out
    assert "policy.json" in printed.err
    router = dc.Router.load(output)
    assert router.policy.kind == "context"
    assert router.choose("python loop") == "ant"
    assert main(["route", str(folder / "study.toml"), "-o", str(output), "-q"]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_json_has_the_numbers_and_no_weights(folder, capsys):
    assert main(["route", str(folder / "study.toml"), "--by", "topic", "--json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "segments"
    assert document["segments"]["column"] == "topic"
    assert document["segments"]["models"] == {"code": "ant", "verse": "bee"}
    assert document["evidence"]["gain_low"] > 0
    assert sum(document["contexts"].values()) == 160


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "topi"], 'there is no column "topi", which is to divide rows into segments'),
        (["--by", " "], "--by is empty"),
        (["--kind", "segments"], "name it with --by"),
        (["--kind", "context", "--by", "topic"], "give one of them"),
        (["--family", "all"], "one family"),
        (["-o", "policy.txt"], "ending in .json"),
        (["--cost", "ant=1"], "none is given for"),
    ],
)
def test_contradictory_options_are_refused(folder, options, message, capsys):
    assert main(["route", str(folder / "study.toml"), "-q", *options]) in (1, 2)
    assert message in capsys.readouterr().err
