"""Scores of judges become labels, also where only a name says that a judge gave them; in doubt the user is asked."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import calls_of_two_models, converted, write_table
from tests.support.otlp_documents import event_of, logs_document, span_of, spans_document

COUNT = 4
ASKED = "Which score is the outcome?"


def with_feedback(folder, header, rows, *options):
    feedback = write_table(folder / "f.csv", header, rows)
    return converted(folder, calls_of_two_models(COUNT), "--outcomes", feedback, *options)


@pytest.mark.parametrize("source", ["AI_JUDGE", "LLM-as-judge", "gpt-4o", "llm", "claude-x", "AI"])
def test_a_source_that_is_a_model_gives_labels(tmp_path, source):
    rows = [(f"t{n}", 1, source) for n in range(COUNT)] + [(f"t{n}", 0, "human") for n in range(COUNT)]
    code, tables = with_feedback(tmp_path, "trace_id,rating,source", rows)
    assert code == 0
    assert [(row["outcome"], row["label_rating_judge"]) for row in tables["log"]] == [(0.0, 1.0)] * COUNT


@pytest.mark.parametrize("source", ["AI_JUDGE", "gpt-4o", "web"])
def test_scores_of_judges_or_of_nobody_alone_are_asked_about(tmp_path, capsys, source):
    rows = [(f"t{n}", 1, source) for n in range(COUNT)]
    assert with_feedback(tmp_path, "trace_id,rating,source", rows)[0] == 2
    assert f"{ASKED} Choose one with --outcome NAME: rating" in " ".join(capsys.readouterr().err.split())
    code, tables = with_feedback(tmp_path, "trace_id,rating,source", rows, "--outcome", "rating")
    assert code == 0
    assert [row["outcome"] for row in tables["log"]] == [1.0] * COUNT


def test_feedback_that_does_not_say_who_gave_it_is_what_the_user_declares(tmp_path):
    code, tables = with_feedback(tmp_path, "trace_id,rating", [(f"t{n}", 1) for n in range(COUNT)])
    assert code == 0
    assert [row["outcome"] for row in tables["log"]] == [1.0] * COUNT


def test_a_judge_among_the_raters_gives_labels(tmp_path):
    rows = [(f"t{n}", 1, "gpt-4o") for n in range(COUNT)] + [(f"t{n}", 0, "ana") for n in range(COUNT)]
    _, tables = with_feedback(tmp_path, "trace_id,rating,rater", rows)
    assert [(row["outcome"], row["label_rating_judge"]) for row in tables["log"]] == [(0.0, 1.0)] * COUNT


def evaluated(name):
    messages = '[{"role": "user", "parts": [{"type": "text", "content": "x"}]}]'
    call = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "oak", "gen_ai.input.messages": messages}
    call["gen_ai.output.messages"] = messages.replace("user", "assistant").replace('"x"', '"y"')
    result = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": 0.25}
    return [spans_document(span_of(call)), logs_document(event_of("gen_ai.evaluation.result", result))]


@pytest.mark.parametrize(
    ("name", "author"), [("Relevance (gpt-4o judge)", "judge"), ("thumbs", "unknown"), ("ragas_faithfulness", "judge")]
)
def test_evaluations_that_nobody_signed_are_no_outcomes_by_themselves(tmp_path, capsys, name, author):
    assert converted(tmp_path, evaluated(name))[0] == 2
    assert f"({author}, 1)" in capsys.readouterr().err
    _, tables = converted(tmp_path, evaluated(name), "--outcome", name)
    assert [row["outcome"] for row in tables["log"]] == [0.25]


@pytest.mark.parametrize("name", ["ragas_faithfulness", "user-feedback"])
def test_scores_over_the_interface_of_langfuse_are_asked_about(tmp_path, capsys, name):
    observation = {
        **{"id": "o1", "trace_id": "t1", "type": "GENERATION", "start_time": "2026-10-02 08:11:04.120000"},
        **{"provided_model_name": "oak", "user_id": "u", "session_id": "s", "input": "q", "output": "a"},
    }
    score = {"id": "s1", "name": name, "source": "API", "data_type": "NUMERIC", "value": 1, "trace_id": "t1"}
    assert converted(tmp_path, [observation, {**score, "timestamp": "2026-10-02 08:12:00"}])[0] == 2
    assert ASKED in capsys.readouterr().err
