"""Records of LiteLLM's callbacks, and conversions of them as a user runs them."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq

from deconfound.cli import main

START = 1_790_000_000


def call(call_id, trace, session, model, question, answer, time, **fields):
    """One call that was answered; ``fields`` replace those of the record."""
    record = {
        "id": f"r-{call_id}",
        "litellm_call_id": call_id,
        "trace_id": trace,
        "session_id": session,
        "call_type": "acompletion",
        "model": model,
        "model_group": "chat",
        "custom_llm_provider": "openai",
        "startTime": time,
        "status": "success",
        "cache_hit": False,
        "messages": [{"role": "user", "content": question}],
        "response": {
            "id": f"r-{call_id}",
            "model": model,
            "choices": [{"message": {"role": "assistant", "content": answer}}],
        },
        "metadata": {},
        "hidden_params": {},
        "end_user": "",
    }
    return {**record, **fields}


def calls_of_two_models(count):
    """Calls in turn by oak and elm, each with a trace and a numbered session of its own."""
    return [
        call(f"c{n}", f"t{n}", str(n + 1), ("oak", "elm")[n % 2], f"q{n}", f"a{n}", START + n) for n in range(count)
    ]


def write_jsonl(path, records):
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def write_table(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    return path


def converted(folder, records, *options):
    """The exit code of `convert`, and the rows of each table by name."""
    traces = write_jsonl(folder / "traces.jsonl", records)
    code = main(["convert", str(traces), "-o", str(folder / "study"), "--overwrite", *map(str, options)])
    paths = (folder / "study").glob("*.parquet") if code == 0 else ()
    return code, {path.stem: pq.read_table(path).to_pylist() for path in paths}
