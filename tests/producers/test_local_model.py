"""A real language model behind a real server: two prompts replayed, interrupted and resumed, and read by `load`.

Its answers are worth little, so only the plumbing is tested: what is sent, counted, stored and not asked for twice.
"""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.loading import load_replay
from tests.support.replay_files import model, write_contexts, write_settings

pytestmark = pytest.mark.slow

TEXTS = [
    "The parcel was due on Monday. It has not arrived. The customer wants her money back.",
    "The invoice was paid twice in May. Please send 20 euros back to the same account.",
    "Braces {context} and {0} must survive.",
]
SETTINGS = ("max_tokens = 24", "seed = 1")
SHORT = model(
    "short", *SETTINGS, "temperature = 0", 'prompt = "Summarize in one sentence: {context}"', at="smollm2-135m"
)
PRICES = ("price_input = 1", "price_output = 2")
LONG = model("kind", *SETTINGS, *PRICES, "temperature = 0.8", 'system = "You are a kind assistant."', at="smollm2-135m")


def replay(*options: str) -> int:
    return main(["replay", "--contexts", "contexts.jsonl", "--models", "models.toml", "-q", *options])


def test_two_prompts_are_replayed_and_resumed(local_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_contexts(tmp_path, TEXTS)
    write_settings(tmp_path, local_model, SHORT, LONG, endpoint="concurrency = 1")
    assert replay("--where", "context=" + TEXTS[0]) == 0
    assert "2 answers in this run" in capsys.readouterr().out
    assert replay("--draws", "2") == 0
    assert "10 answers in this run" in capsys.readouterr().out
    assert replay("--draws", "2") == 0
    out, err = capsys.readouterr()
    assert "0 answers in this run, 12 from the cache" in out
    assert "name the model" not in err
    rows = pq.read_table("replay.parquet").to_pylist()
    assert len(rows) == 12
    assert all(row["output"].strip() and 0 < row["output_tokens"] <= 24 for row in rows)
    assert {row["status"] for row in rows} <= {"ok", "truncated"}
    assert not any(row["tokens_estimated"] for row in rows)
    assert all((row["cost"] is not None) == (row["model"] == "kind") for row in rows)
    assert load_replay("replay.parquet").findings == ()


def test_the_same_seed_gives_the_same_output_and_draws_differ(local_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_contexts(tmp_path, TEXTS[:1])
    write_settings(tmp_path, local_model, LONG)
    assert replay("--draws", "3") == 0
    first = pq.read_table("replay.parquet")["output"].to_pylist()
    (tmp_path / "replay.cache.sqlite").unlink()
    assert replay("--draws", "3") == 0
    assert pq.read_table("replay.parquet")["output"].to_pylist() == first
    assert len(set(first)) > 1
