"""A whole replay in Python: cells, messages, templates, resumption, and a table that ``load`` reads without options."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deconfound as dc
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.runner import RunOptions
from deconfound.loading import load_replay
from deconfound.replaying.replay_plan import ReplayPlan
from deconfound.replaying.replay_run import run_plan, store_batches
from deconfound.replaying.replay_table import is_replay_table, write_table
from deconfound.replaying.served_models import is_same_model, unexpected_models
from tests.support.replay_files import FakeClock, model, write_contexts, write_settings
from tests.support.scripted_server import Answer, completion, echo, error, scripted_server

TEXTS = ["Where is it?", "{context} {0} %s {{context}}", "Über uns: 日本", "Two. Sentences."]
LEAD = '[models.lead1]\nbaseline = "lead"\nsentences = 1'
PROMPT = 'prompt = "Sum up: {context} / {context}"'
FAST = RunOptions(4, FakeClock())
ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where is it?"}]


def run(server, tmp_path, *models, texts=TEXTS, draws=1, endpoint="attempts = 2"):
    settings = write_settings(tmp_path, server.url, *models, endpoint=endpoint)
    contexts = (
        pa.table({"context": texts})
        if isinstance(texts[0], str)
        else pa.table({"messages": list(map(json.dumps, texts))})
    )
    with ReplyCache(tmp_path / "cache") as cache:
        return run_plan(ReplayPlan.load(contexts, settings, draws=draws), cache, FAST)


def test_every_model_answers_every_context_in_every_draw(tmp_path):
    with scripted_server() as server:
        found = run(server, tmp_path, model("a"), model("b", PROMPT), LEAD, draws=3)
    assert found.complete
    assert found.table.num_rows == 4 * (3 + 3 + 1)
    assert len(server.requests) == 4 * 6
    cells = {(row["context"], row["model"], row["draw"]) for row in found.table.to_pylist()}
    assert len(cells) == found.table.num_rows
    assert set(found.table["status"].to_pylist()) == {"ok"}


def test_a_template_is_filled_and_contexts_are_never_templates(tmp_path):
    with scripted_server(lambda one: completion(one.text)) as server:
        found = run(server, tmp_path, model("a"), model("b", PROMPT))
    outputs = {(row["model"], row["context"]): row["output"] for row in found.table.to_pylist()}
    for text in TEXTS:
        assert outputs["a", text] == text
        assert outputs["b", text] == f"Sum up: {text} / {text}"


def test_exact_messages_are_replayed_and_the_settings_system_prompt_wins(tmp_path):
    talk = [*ASKED, {"role": "assistant", "content": "In Graz."}, {"role": "user", "content": "Since when?"}]
    with scripted_server() as server:
        found = run(server, tmp_path, model("a"), model("b", 'system = "Be brief."'), model("c", PROMPT), texts=[talk])
    sent = [one.body["messages"] for one in server.requests]
    assert talk in sent
    assert [{"role": "system", "content": "Be brief."}, *talk[1:]] in sent
    text = found.table["context"][0].as_py()
    assert [{"role": "user", "content": f"Sum up: {text} / {text}"}] in sent
    assert (found.plan.message_models, found.plan.text_models) == (("a", "b"), ("c",))


def test_an_answer_at_the_end_is_left_out_of_each_row_that_has_one(tmp_path):
    question = [{"role": "user", "content": "Where is it?"}]
    answered = [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "On its way."}]
    contexts = pa.table(
        {"messages": list(map(json.dumps, [question, answered, [{"role": "user", "content": "Why?"}]]))}
    )
    with scripted_server() as server:
        plan = ReplayPlan.load(
            contexts, write_settings(tmp_path, server.url, model("a"), model("b", 'prompt = "{context}"'))
        )
        with ReplyCache(tmp_path / "cache") as cache:
            run_plan(plan, cache, RunOptions(4, FakeClock()))
    assert {one.body["messages"][-1]["role"] for one in server.requests} == {"user"}
    assert not [one for one in server.requests if "On its way" in json.dumps(one.body)]
    assert [row.text for row in plan.contexts.rows] == ["Where is it?", "And now?", "Why?"]
    assert any("ends with an answer in 1 row" in one.message for one in plan.findings)


def test_messages_that_cannot_be_sent_are_refused_before_the_first_call(tmp_path):
    image = [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AA=="}}]}]
    with (
        scripted_server() as server,
        pytest.raises(dc.DataError, match="a cannot be asked messages with images") as caught,
    ):
        run(server, tmp_path, model("a"), model("b", PROMPT), texts=[ASKED, image, image])
    assert "(1 context)" in str(caught.value)  # both images are one context
    assert server.requests == []


@pytest.mark.parametrize(
    "part", [{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "file", "file": {"file_id": "f"}}]
)
def test_images_that_a_prompt_would_lose_are_refused(tmp_path, part):
    image = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]
    with scripted_server() as server:
        with pytest.raises(dc.DataError, match="b cannot be asked messages with images or files by a prompt"):
            run(server, tmp_path, model("a"), model("b", PROMPT), texts=[ASKED, image])
        assert server.requests == []
        assert run(server, tmp_path, model("a"), texts=[ASKED, image]).complete


def test_tools_are_text_for_a_prompt(tmp_path):
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    talk = [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "In Graz."},
    ]
    with scripted_server() as server:
        assert run(server, tmp_path, model("b", PROMPT), texts=[talk]).complete
    assert "In Graz." in server.requests[0].text


def test_tokens_of_a_dry_run_are_those_of_the_texts(tmp_path):
    settings = write_settings(tmp_path, "http://127.0.0.1:9/v1", model("a", 'system = "Be kind."', "top_p = 0.5"))
    plain = ReplayPlan.load(pa.table({"context": ["x" * 392]}), settings)
    assert plain.estimate()[0].input_tokens == 100
    quoted = ReplayPlan.load(pa.table({"context": ['"\n' * 196]}), settings)
    assert quoted.estimate()[0].input_tokens == 100
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    talk = [{"role": "user", "content": [{"type": "text", "text": "x" * 392}, image]}]
    shown = ReplayPlan.load(pa.table({"messages": [json.dumps(talk)]}), settings)
    assert shown.estimate()[0].input_tokens == 100


def test_what_is_stored_is_not_asked_for_again(tmp_path):
    with scripted_server() as server:
        first = run(server, tmp_path, model("a"), draws=2)
        second = run(server, tmp_path, model("a"), draws=2)
        assert len(server.requests) == 8
        third = run(server, tmp_path, model("renamed"), model("b", "temperature = 1"), draws=3)
        assert len(server.requests) == 8 + 4 + 12
    assert first.table.equals(second.table)
    assert (first.reused, second.reused, third.reused) == (0, 8, 8)


def test_equal_requests_are_asked_for_once(tmp_path):
    with scripted_server() as server:
        found = run(server, tmp_path, model("a"), model("b"))
    assert len(server.requests) == 4
    assert found.table.num_rows == 8
    assert found.complete


def test_failed_outputs_have_no_row_and_are_counted_by_cause(tmp_path):
    def script(one):
        return error(400, "too long") if "Über" in one.text else error(500) if "Two" in one.text else echo(one)

    with scripted_server(script) as server:
        found = run(server, tmp_path, model("a"), LEAD, draws=2)
        server.script = echo
        again = run(server, tmp_path, model("a"), LEAD, draws=2)
    assert found.missing == {"a": 4}
    assert not found.complete
    assert found.table.num_rows == 4 + 4
    causes = {one.cause: one.calls for one in found.outcome.failures}
    assert causes == {"HTTP 400, the request is not accepted": 2, "HTTP 500, error of the server": 2}
    assert again.complete
    assert again.outcome.replies == 4


def test_the_status_of_each_output_is_in_the_table(tmp_path):
    answers = {
        TEXTS[0]: completion("", finish_reason="stop"),
        TEXTS[1]: completion("cut", finish_reason="length"),
        TEXTS[2]: completion("", finish_reason="content_filter"),
    }
    with scripted_server(lambda one: answers.get(one.text, echo(one))) as server:
        found = run(server, tmp_path, model("a", "price_input = 100000", "price_output = 200000"))
    rows = {row["context"]: row for row in found.table.to_pylist()}
    assert [rows[text]["status"] for text in TEXTS] == ["empty", "truncated", "refusal", "ok"]
    assert rows[TEXTS[1]]["finish_reason"] == "length"
    assert rows[TEXTS[0]]["cost"] == pytest.approx(1.1 + 2 * 0.5)
    assert rows[TEXTS[0]]["served_model"] == "small-1"
    assert rows[TEXTS[0]]["latency"] > 0


@pytest.mark.parametrize("name", ["replay.parquet", "replay.jsonl"])
def test_the_table_is_a_replay_without_options(tmp_path, name):
    with scripted_server() as server:
        found = run(server, tmp_path, model("a"), model("b", PROMPT), LEAD, draws=2)
    write_table(found.table, tmp_path / name)
    loaded = load_replay(tmp_path / name)
    assert loaded.findings == ()
    assert loaded.arrow.num_rows == found.table.num_rows
    assert loaded.unique_values("model") == {"a", "b", "lead1"}
    assert set(loaded.arrow["context"].to_pylist()) == set(TEXTS)
    assert is_replay_table(tmp_path / name) == name.endswith(".parquet")
    assert load_replay(found.table).arrow.num_rows == found.table.num_rows


def test_an_evaluation_accepts_the_replay_with_its_uneven_draws(tmp_path):
    """A baseline has one draw, a model several; outputs that are empty are outputs."""
    texts = [f"Question {at}: where is parcel {at % 7}?" for at in range(24)]
    with scripted_server(lambda one: completion("") if "parcel 3" in one.text else echo(one)) as server:
        found = run(server, tmp_path, model("a"), LEAD, texts=texts, draws=3)
    table = found.table.filter(pc.equal(found.table["draw"], 0))
    rows = [
        {"context": row["context"], "model": row["model"], "output": row["output"], "outcome": (at * 7 % 11) / 10}
        for at, row in enumerate(table.to_pylist() * 3)
    ]
    used = pa.Table.from_pylist(rows)
    study = dc.load(log=used, experiment=pa.Table.from_pylist(rows[::3]), replay=found.table)
    assert study.models == ("a", "lead1")
    assert len(study.replay) == 24 * 4
    assert set(dc.evaluate(study, family="exp-only").values.models) == {"a", "lead1"}


def test_a_gateway_that_answers_with_another_model_is_reported(tmp_path):
    def script(one):
        return completion("x", model="fallback-9" if "Two" in one.text else "small-1-2026")

    with scripted_server(script) as server:
        found = run(server, tmp_path, model("a"))
    assert [(one.served, one.outputs) for one in unexpected_models(found)] == [("fallback-9", 1)]
    assert is_same_model("openai/Small-1", "small-1-0901")
    assert is_same_model("small-1", "gateway/small-1")
    assert not is_same_model("small-1", "large-1")


def test_the_estimate_knows_what_is_stored(tmp_path):
    with scripted_server() as server:
        settings = [model("a", "max_tokens = 100", "price_input = 1", "price_output = 10"), model("b", PROMPT)]
        run(server, tmp_path, *settings[:1], texts=TEXTS[:1])
        path = write_settings(tmp_path, server.url, *settings)
        plan = ReplayPlan.load(pa.table({"context": TEXTS}), path, draws=2)
        before, _ = plan.estimate()
        with ReplyCache(tmp_path / "cache") as cache:
            first, second = plan.estimate(cache)
    assert (before.outputs, before.stored, before.calls, before.output_tokens, before.basis) == (
        8,
        0,
        8,
        800,
        "max_tokens",
    )
    assert before.cost == pytest.approx((before.input_tokens + 8000) / 1e6)
    assert (first.stored, first.calls, first.output_tokens, first.basis) == (1, 7, 35, "stored replies")
    assert (second.calls, second.output_tokens, second.cost) == (8, None, None)


def test_the_todo_list_has_what_neither_cache_nor_replay_have(tmp_path):
    with scripted_server() as server:
        done = run(server, tmp_path, model("a"), LEAD, texts=TEXTS[:2])
        path = write_settings(tmp_path, server.url, model("a"), LEAD)
        plan = ReplayPlan.load(pa.table({"context": TEXTS[:3]}), path, draws=2)
        with ReplyCache(tmp_path / "cache") as cache:
            missing = plan.todo(cache)
        left = plan.todo(replay=done.table)
    ids = [row.context_id for row in plan.contexts.rows]
    cells = [(ids.index(cell.context_id), cell.model, cell.draw) for cell in missing]
    assert cells == [(0, "a", 1), (1, "a", 1), (2, "a", 0), (2, "a", 1)]
    cells = [(ids.index(cell.context_id), cell.model, cell.draw) for cell in left]
    assert cells == [(0, "a", 1), (1, "a", 1), (2, "a", 0), (2, "a", 1), (2, "lead1", 0)]


def test_batches_and_calls_fill_the_same_cache(tmp_path):
    with scripted_server() as server:
        path = write_settings(tmp_path, server.url, model("a"), model("b", PROMPT))
        plan = ReplayPlan.load(pa.table({"context": TEXTS}), path, draws=2)
        files = plan.batch_files()
        assert [file.requests for file in files] == [8, 8]
        answer = {"status_code": 200, "body": json.loads(completion("from a batch").body)}
        ids = [json.loads(line)["custom_id"] for line in files[0].content.splitlines()]
        lines = [{"custom_id": name, "response": answer} for name in [*ids[:7], "dc-" + "00" * 20]]
        results = tmp_path / "results.jsonl"
        results.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with ReplyCache(tmp_path / "cache") as cache:
            report = store_batches(plan, [results], cache)
            assert (report.replies, report.others) == (7, 1)
            assert [file.requests for file in plan.batch_files(cache)] == [1, 8]
        found = dc.replay(pa.table({"context": TEXTS}), path, draws=2, cache=tmp_path / "cache", concurrency=3)
    assert len(server.requests) == 9
    assert found.table["output"].to_pylist().count("from a batch") == 7
    assert found.complete


def test_baselines_alone_need_no_endpoint_and_no_library(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "aiohttp", None)
    path = tmp_path / "models.toml"
    path.write_text(LEAD + '\n[models.r]\nbaseline = "random-sentences"\nsentences = 1\nseed = 3\n')
    found = dc.replay(write_contexts(tmp_path, TEXTS), path, draws=2, cache=tmp_path / "cache")
    assert found.table.num_rows == 4 * (1 + 2)


@pytest.mark.parametrize("draws", [0, -1, True, 100_000])
def test_draws_have_bounds(tmp_path, draws):
    with pytest.raises(dc.UsageError, match="--draws"):
        ReplayPlan.load(pa.table({"context": TEXTS}), tmp_path / "models.toml", draws=draws)


def test_problems_of_both_files_come_together(tmp_path):
    path = write_settings(tmp_path, "nowhere", model("a"))
    with pytest.raises(dc.DataError) as caught:
        ReplayPlan.load(pa.table({"model": ["x"]}), path)
    text = str(caught.value)
    assert "url is not an address" in text
    assert "there is no column for the context" in text


def test_a_slow_answer_is_not_lost_when_another_fails(tmp_path):
    def script(one):
        return Answer(echo(one).body, delay=0.1) if "Where" in one.text else error(400)

    with scripted_server(script) as server:
        found = run(server, tmp_path, model("a"))
    assert found.missing == {"a": 3}
