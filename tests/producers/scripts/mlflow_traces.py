"""MLflow: traces of its autolog of the OpenAI client, with thumbs of people and grades of a judge.

    python mlflow_traces.py FOLDER

Writes the traces as JSON, and the table of ``search_traces`` as JSON Lines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mlflow
import openai
from invented_calls import SERVED, TOOL, Manifest, PlannedCall, planned_calls
from mlflow.entities import AssessmentSource
from mock_server import MockServer


def main(folder: str) -> None:
    """Make every call in a trace of its own, judge some of them, and write all traces."""
    server, manifest, traced = MockServer(), Manifest(), []
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("parcels")
    mlflow.openai.autolog()
    client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0)
    for call in planned_calls():
        server.next = call
        try:
            turn(client, call)
        except openai.BadRequestError:
            if call.kind != "error":
                raise
        manifest.add(call, model=call.model + ("" if call.kind == "error" else SERVED))
        traced.append((mlflow.get_last_active_trace_id(), call))
    mlflow.flush_trace_async_logging()
    for trace_id, call in traced:
        judge(trace_id, call)
    traces = mlflow.search_traces(return_type="list", max_results=100)
    lines = [trace.to_json() for trace in traces]
    Path(folder, "traces.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = mlflow.search_traces(return_type="pandas", max_results=100)
    table.to_json(Path(folder, "table.jsonl"), orient="records", lines=True)
    manifest.write(folder)


@mlflow.trace(span_type="CHAIN")
def turn(client: openai.OpenAI, call: PlannedCall) -> str:
    """What the application does for one question."""
    names = {"mlflow.trace.user": call.user, "mlflow.trace.session": call.conversation}
    mlflow.update_current_trace(metadata=names, tags={"arm": "test"})
    tools = {"tools": [TOOL]} if call.conversation == "conversation-tool" else {}
    response = client.chat.completions.create(model=call.model, messages=list(call.messages), **tools)
    return response.choices[0].message.content or ""


def judge(trace_id: str, call: PlannedCall) -> None:
    """A thumb of the user, who thinks again, and a grade of a model."""
    if call.thumb is None:
        return
    user = AssessmentSource(source_type="HUMAN", source_id=call.user)
    for value in (not call.thumb, bool(call.thumb)):
        mlflow.log_feedback(trace_id=trace_id, name="thumbs", value=value, source=user)
    model = AssessmentSource(source_type="LLM_JUDGE", source_id="judge")
    mlflow.log_feedback(trace_id=trace_id, name="grade", value=0.25, source=model)


if __name__ == "__main__":
    main(sys.argv[1])
