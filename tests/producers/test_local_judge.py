"""A real language model as a judge behind a real server: answers in an enforced form, and nothing is paid twice.

Its scores are worth nothing, so only the plumbing is tested.
"""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.scripted_judge import judge_table, outputs_table, write_judges

pytestmark = pytest.mark.slow

RUBRIC = """
instruction = "Score the answer."
[[criteria]]
name = "clarity"
question = "Is it easy to read?"
scale = [0, 5]
[[criteria]]
name = "errors"
question = "How many errors are in it?"
count = 9
"""
SETTINGS = ("temperature = 0", "max_tokens = 40", "seed = 1")


def judge(*options: str) -> int:
    return main(
        ["judge", "--outputs", "log.parquet", "--judges", "judges.toml", "--rubric", "own.toml", "-q", *options]
    )


def test_a_small_model_judges_in_an_enforced_form(local_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pq.write_table(outputs_table(3), "log.parquet")
    (tmp_path / "own.toml").write_text(RUBRIC)
    structured, plain = (
        judge_table(name, *SETTINGS, more, at="smollm2-135m") for name, more in (("a", ""), ("b", "structured = false"))
    )
    write_judges(tmp_path, local_model, structured, endpoint="concurrency = 1")
    assert judge() == 0
    assert "6 answers in this run" in capsys.readouterr().out
    assert judge("--probe", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judges"][0]["scored"] == 6
    assert found["asked"]["replies"] >= 12
    rows = pq.read_table("judged.parquet").to_pylist()
    assert all(0 <= row["label_clarity"] <= 1 and row["label_errors"] in range(10) for row in rows)
    write_judges(tmp_path, local_model, plain, endpoint="concurrency = 1")
    assert judge("-o", "plain.parquet") in (0, 2, 4)  # without the form it may never answer in JSON
    capsys.readouterr()
    write_judges(tmp_path, local_model, structured, endpoint="concurrency = 1")
    assert judge() == 0
    assert "0 answers in this run" in capsys.readouterr().out
