"""Small files of traces that would need much memory or time."""

from __future__ import annotations

import gzip
import json
import time
import zipfile

import pytest

from deconfound.cli import main
from deconfound.traces.exchange import Surroundings
from deconfound.traces.otlp_reader import Otlp
from deconfound.traces.reader import Record, Remarks
from tests.support.trace_runs import make_runs, write_lines

HASH = "a" * 32


def write_eval(path, references, size, samples=1):
    """A log of Inspect in which one long text is used many times."""
    header = {"version": 2, "status": "success", "eval": {"eval_id": "e", "task": "t", "model": "m", "created": ""}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number in range(samples):
            sample = {
                **{"id": number, "epoch": 1, "uuid": f"u{number}", "messages": []},
                "input": f"attachment://{HASH} " * references,
                "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "x"}}]},
                "attachments": {HASH: "y" * size},
            }
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return str(path)


def printed(capsys):
    text = capsys.readouterr()
    return " ".join((text.out + text.err).split())


def test_attachments_that_are_used_many_times_count_each_time(tmp_path, capsys):
    start = time.perf_counter()
    assert main(["doctor", write_eval(tmp_path / "bomb.eval", 20_000, 1_000_000)]) == 1
    assert "more than 4 GB" in printed(capsys)
    assert time.perf_counter() - start < 10.0


@pytest.mark.parametrize(("samples", "code"), [(4, 0), (16, 1)])
def test_attachments_of_all_samples_of_a_file_count_together(tmp_path, capsys, monkeypatch, samples, code):
    monkeypatch.setenv("DECONFOUND_MAX_INPUT_GB", "0.001")
    assert main(["doctor", write_eval(tmp_path / "a.eval", 100, 1_000, samples)]) == code
    assert ("more than 0.001 GB" in printed(capsys)) == bool(code)


def otlp_chain(depth, calls):
    def span(at, parent, operation):
        texts = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m"}
        if operation == "chat":
            texts["gen_ai.input.messages"] = '[{"role":"user","parts":[{"type":"text","content":"q"}]}]'
        attributes = [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()]
        return {"traceId": "a" * 32, "spanId": f"{at:016x}", "parentSpanId": parent, "attributes": attributes}

    spans = [span(at + 1, f"{at:016x}" if at else "", "invoke_agent") for at in range(depth)]
    spans += [span(10**9 + at, f"{depth:016x}", "chat") for at in range(calls)]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def test_calls_inside_of_many_spans_are_read_in_time_that_grows_with_their_number(tmp_path):
    def seconds(size):
        record = Record(otlp_chain(size, size), "o", tmp_path)
        start = time.process_time()
        assert len(list(Otlp().read([record], Remarks()))) == size
        return time.process_time() - start

    seconds(100)
    assert seconds(4_000) < 12 * max(seconds(1_000), 0.02)


PARENTS = {"b": "a", "c": "b", "d": "c", "x": "y", "y": "z", "z": "x", "w": "y", "s": "s"}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ({"a"}, {"a": "", "b": "a", "c": "a", "d": "a", "x": "", "s": ""}),
        ({"a", "c"}, {"d": "c", "c": "a", "b": "a"}),
        ({"x"}, {"x": "", "y": "x", "z": "x", "w": "x"}),
        ({"x", "z"}, {"x": "z", "z": "x", "y": "z", "w": "z"}),
        ({"s"}, {"s": ""}),
        (set(), dict.fromkeys("abcdxyzws", "")),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_the_nearest_span_around_another_one(spans, expected, order):
    around = Surroundings(PARENTS, spans)
    assert {one: around.nearest(one) for one in list(expected)[::order]} == expected


def write_gzip(path, rows):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)
    return str(path)


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.json.gz"])
def test_compressed_traces_have_the_limit_of_all_compressed_files(tmp_path, capsys, monkeypatch, name):
    path = write_gzip(tmp_path / name, make_runs(200, note="q" * 10_000))
    assert main(["doctor", path]) == 0
    capsys.readouterr()
    monkeypatch.setenv("DECONFOUND_MAX_INPUT_GB", "0.001")
    assert main(["doctor", path]) == 1
    assert "more than 0.001 GB" in printed(capsys)


def test_traces_that_are_not_compressed_are_streamed_at_any_size(tmp_path, monkeypatch):
    monkeypatch.setenv("DECONFOUND_MAX_INPUT_GB", "0.001")
    assert main(["doctor", str(write_lines(tmp_path / "t.jsonl", make_runs(200, note="q" * 10_000)))]) == 0


def test_long_attributes_are_cut_with_a_remark(tmp_path, capsys):
    from io import BytesIO

    from deconfound.traces.trace_import import read_traces

    runs = make_runs(3)
    runs[1]["extra"]["metadata"]["exp"] = "z" * 1_000_000
    path = write_lines(tmp_path / "t.jsonl", runs)
    traces = read_traces([path], BytesIO())
    values = [dict(call.attributes)["metadata.exp"] for call in traces.table.calls]
    assert list(map(len, values)) == [2, 1_000, 2]
    assert main(["doctor", str(path)]) == 0
    assert "attributes are longer than 1,000 characters and were cut: 1" in printed(capsys)
