"""Of several versions of a Langfuse record the newest counts, and scores of spans judge their trace."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import converted

OBSERVATION = {
    **{"id": "o1", "trace_id": "t1", "type": "GENERATION", "start_time": "2026-10-02 08:11:04.120000"},
    **{"provided_model_name": "oak", "input": "q", "output": "old", "updated_at": "2026-10-02 08:11:05"},
    **{"user_id": "u", "session_id": "s"},
}
NEWER = OBSERVATION | {"output": "new", "updated_at": "2026-10-02 09:00:00"}
SCORE = {"id": "s1", "name": "thumb", "source": "ANNOTATION", "data_type": "NUMERIC", "value": 1, "trace_id": "t1"}
SPAN = OBSERVATION | {"id": "p1", "type": "SPAN"}


def legacy(record):
    return {key: value for key, value in record.items() if key not in ("user_id", "session_id")}


@pytest.mark.parametrize("form", [dict, legacy])
@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_version_of_an_observation_counts(tmp_path, form, order):
    records = [form(OBSERVATION), form(NEWER)][::order]
    _, tables = converted(tmp_path, [*records, SCORE])
    assert [(row["output"], row["outcome"]) for row in tables["log"]] == [("new", 1.0)]


@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_version_of_a_trace_counts(tmp_path, order):
    trace = {"id": "t1", "timestamp": "2026-10-02 08:11:03", "user_id": "old", "session_id": "s", "input": "q"}
    traces = [
        trace | {"updated_at": "2026-10-02 08:11:05"},
        trace | {"updated_at": "2026-10-02 09:00:00", "user_id": "new"},
    ]
    _, tables = converted(tmp_path, [*traces[::order], legacy(OBSERVATION)])
    assert [row["cluster"] for row in tables["log"]] == ["new"]


@pytest.mark.parametrize(("kind", "outcome"), [("SPAN", 1.0), ("AGENT", 1.0), ("TOOL", None)])
def test_the_score_of_a_span_judges_its_trace(tmp_path, kind, outcome):
    records = [OBSERVATION, SPAN | {"type": kind}, SCORE | {"observation_id": "p1"}]
    _, tables = converted(tmp_path, records)
    assert [row["outcome"] for row in tables["log"]] == [outcome]
