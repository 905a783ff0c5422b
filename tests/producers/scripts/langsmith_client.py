"""LangSmith: runs of its wrapper of the OpenAI client, and feedback, as its client posts them to a server.

    python langsmith_client.py FOLDER

Writes one run per line with the fields that an export has, and the rows of feedback.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import langsmith
import openai
from invented_calls import SERVED, TOOL, Manifest, PlannedCall, planned_calls
from langsmith.wrappers import wrap_openai
from mock_server import MockServer


def main(folder: str) -> None:
    """Make every call in a trace of its own, judge some of them, and join what was posted about each run."""
    server, manifest = MockServer(), Manifest()
    client = langsmith.Client(api_url=server.address, api_key="none", auto_batch_tracing=False)
    wrapped = wrap_openai(
        openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0), tracing_extra={"client": client}
    )
    for call in planned_calls():
        server.next = call
        metadata = {"thread_id": call.conversation, "user_id": call.user, "arm": "test"}
        with langsmith.trace("turn", "chain", client=client, metadata=metadata, tags=["exp"]) as run:
            ask(wrapped, call)
        manifest.add(call, model=call.model + ("" if call.kind == "error" else SERVED))
        if call.thumb is not None:
            client.create_feedback(run_id=run.id, trace_id=run.trace_id, key="thumbs", score=call.thumb)
    client.flush()
    posted = [
        (path, json.loads(body)) for method, path, body in server.requests if method in ("POST", "PATCH") and body
    ]
    write(Path(folder, "runs.jsonl"), runs_of(posted))
    write(Path(folder, "feedback.jsonl"), [body for path, body in posted if path.startswith("/feedback")])
    manifest.write(folder)


def ask(client: openai.OpenAI, call: PlannedCall) -> None:
    """One call of the model through the wrapper."""
    tools: dict[str, Any] = {"tools": [TOOL]} if call.conversation == "conversation-tool" else {}
    try:
        client.chat.completions.create(model=call.model, messages=list(call.messages), **tools)
    except openai.BadRequestError:
        if call.kind != "error":
            raise


def runs_of(posted: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """A run is created by one request and completed by another."""
    runs: dict[str, dict[str, Any]] = {}
    for path, body in posted:
        if path.startswith("/runs"):
            run_id = body.get("id") or path.rpartition("/")[2]
            told = {key: value for key, value in body.items() if value is not None}
            runs.setdefault(run_id, {}).update({"id": run_id, **told})
    return list(runs.values())


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
