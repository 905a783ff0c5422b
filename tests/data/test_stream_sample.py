"""The sample of a long log in memory: a simple random one, by contents only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deconfound.data import Log, log_stream, stream_rows

SIZE = 2_000


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(log_stream, "SAMPLE_ROWS", SIZE)


def log_of(contexts: list[str], models: list[str]) -> Log:
    rows = len(contexts)
    columns = {"context_id": contexts, "context": contexts, "model": models, "output": ["ok"] * rows}
    return Log(pa.table({**columns, "outcome": np.ones(rows)}), "log").in_content_order()


def sample_of(contexts: list[str], models: list[str]) -> pa.Table:
    return stream_rows(log_of(contexts, models), [], 1_000)[1].arrow


@pytest.mark.parametrize("word", ["thanks", "hello", "hi there", "ok", "continue", "ping"])
@pytest.mark.parametrize("models", [("a", "a"), ("a", "b")])
def test_contents_that_recur_have_their_share(word, models):
    """A share of 0.4 in 2,000 of 4,000 rows has a standard deviation of 0.008; four of them are allowed."""
    contexts = [word] * 1_600 + [f"context {number}" for number in range(2_400)]
    sample = sample_of(contexts, [models[number % 2] for number in range(4_000)])
    assert sample.num_rows == SIZE
    share = np.mean(np.array(sample["context"].to_pylist()) == word)
    assert share == pytest.approx(0.4, abs=0.032)
    assert np.mean(np.array(sample["model"].to_pylist()) == models[0]) == pytest.approx(
        1.0 if models[0] == models[1] else 0.5, abs=0.045
    )


def test_the_order_of_rows_does_not_matter():
    contexts = ["thanks"] * 1_600 + [f"context {number}" for number in range(2_400)]
    models = ["a", "b", "c", "d"] * 1_000
    order = np.random.default_rng(0).permutation(4_000)
    shuffled = sample_of([contexts[at] for at in order], [models[at] for at in order])
    assert shuffled.equals(sample_of(contexts, models))


def test_without_recurring_rows_it_is_the_beginning_of_the_content_order():
    log = log_of([f"context {number}" for number in range(4_000)], ["a", "b"] * 2_000)
    assert stream_rows(log, [], 1_000)[1].arrow.equals(log.arrow.slice(0, SIZE))
