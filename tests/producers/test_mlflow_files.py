"""MLflow's autolog of the OpenAI client: every call once, with its user, its session and the last thumb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.producers.environments import Producer
from tests.producers.manifests import (
    assert_same,
    converted_rows,
    expected_calls,
    expected_rows,
    load_manifest,
    read_files,
)

pytestmark = pytest.mark.slow

MLFLOW = Producer(
    "mlflow",
    (
        "mlflow-skinny==3.17.2",
        "sqlalchemy==2.1.8",
        "alembic==1.20.1",
        "pandas==3.1.1",
        "openai==3.49.0",
        "httpx==0.28.1",
    ),
    variables={"MLFLOW_DISABLE_TELEMETRY": "true"},
)


@pytest.fixture(scope="module")
def output(installed, tmp_path_factory) -> Path:
    return installed(MLFLOW).run_script("mlflow_traces.py", tmp_path_factory.mktemp("mlflow"))


@pytest.mark.parametrize("name", ["traces.jsonl", "table.jsonl"])
def test_every_call_is_read_once(output, name):
    manifest = load_manifest(output)
    traces, calls = read_files([output / name])
    assert len(manifest) == 29
    assert_same(calls, expected_calls(manifest))
    assert list(traces.files) == ["MLflow"]
    assert traces.remarks.counts == {"spans are not calls of a model": 29}  # the functions around the calls
    assert all(("tag.arm", "test") in call.attributes for call in traces.table.calls)


@pytest.mark.parametrize("name", ["traces.jsonl", "table.jsonl"])
def test_the_thumb_of_a_person_is_the_outcome(output, tmp_path, name):
    """The grades of the judge are not, and of two thumbs of one person the last one counts."""
    assert_same(converted_rows([output / name], tmp_path), expected_rows(load_manifest(output)))


def test_traces_that_are_in_two_files_count_once(output):
    files = [output / "traces.jsonl", output / "table.jsonl"]
    traces, calls = read_files(files)
    assert_same(calls, expected_calls(load_manifest(output)))
    assert traces.remarks.counts["calls are in the files more than once"] == 29
