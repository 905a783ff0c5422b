"""Inspect: one task with three epochs by two mocked models, one log in each of its two formats.

python inspect_tasks.py FOLDER
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, includes, match, mean, scorer
from inspect_ai.solver import generate
from inspect_ai.tool import ToolCall
from invented_calls import MODELS, Manifest, PlannedCall, planned_calls

EPOCHS = 3
PIXEL = "data:image/png;base64,iVBORw0KGgo="  # an address would be fetched
LONG = " A long text about parcels." * 40  # Inspect moves long texts out of the messages


@scorer(metrics={"kind": [mean()], "brief": [mean()]})
def rubric() -> Scorer:
    """Two values at once."""

    async def score(state: Any, _: Any) -> Score:
        return Score(value={"kind": 0.75, "brief": float(len(state.output.completion) < 20)})

    return score


def main(folder: str) -> None:
    """Evaluate both models; the mocked models write the manifest when they are asked."""
    manifest, calls = Manifest(), planned_calls()
    samples = [Sample(id=f"q{number}", input=asked(call), target="parcel") for number, call in enumerate(calls)]
    for model, log_format in zip(MODELS[:2], ("eval", "json"), strict=True):
        mocked = get_model(f"mockllm/{model}", custom_outputs=answerer(model, calls, manifest), memoize=False)
        scorers, solver = [match(), includes(), rubric()], generate(tool_calls="none")
        task = Task(name="parcels", dataset=samples, solver=solver, scorer=scorers, epochs=EPOCHS)
        options = {"log_dir": folder, "log_format": log_format, "display": "none", "fail_on_error": False}
        evaluate(task, model=mocked, max_retries=0, retry_on_error=0, **options)
    manifest.write(folder)


def asked(call: PlannedCall) -> str | list[ChatMessage]:
    """The input of a sample: a text where a conversation is one question."""
    if len(call.messages) == 1 and isinstance(call.messages[0]["content"], str):
        return call.messages[0]["content"] + (LONG if call.kind == "truncated" else "")
    return [message_of(message) for message in call.messages]


def message_of(message: dict[str, Any]) -> ChatMessage:
    """A message of the plan as one of Inspect."""
    role, content = message["role"], message.get("content") or ""
    if role == "system":
        return ChatMessageSystem(content=content)
    if role == "assistant":
        return ChatMessageAssistant(content=content, tool_calls=tool_calls(message) or None)
    if role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message["tool_call_id"], function="find_parcel")
    if isinstance(content, list):
        return ChatMessageUser(content=[ContentText(text=content[0]["text"]), ContentImage(image=PIXEL)])
    return ChatMessageUser(content=content)


def tool_calls(message: dict[str, Any]) -> list[ToolCall]:
    """Calls of tools as Inspect has them."""
    return [
        ToolCall(id=one["id"], function=one["function"]["name"], arguments=json.loads(one["function"]["arguments"]))
        for one in message.get("tool_calls") or []
    ]


def answerer(model: str, calls: list[PlannedCall], manifest: Manifest) -> Callable[..., ModelOutput]:
    """A model that knows the answer to each question, and answers differently in each epoch."""
    plan = {key_of(asked(call)): call for call in calls}
    draws: Counter[str] = Counter()

    def answer(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        key = key_of(messages)
        call = plan[key]
        draws[key] += 1
        text = f"{call.reply['content']} ({draws[key]})" if call.reply["content"] else ""
        add(manifest, call, model, text)
        if call.kind == "error":
            raise RuntimeError("refused")
        reply = ChatMessageAssistant(content=text, tool_calls=tool_calls(call.reply) or None)
        reason = {"tool": "tool_calls", "truncated": "max_tokens"}.get(call.kind, "stop")
        usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # without it Inspect counts with a download
        return ModelOutput(model=model, choices=[ChatCompletionChoice(message=reply, stop_reason=reason)], usage=usage)

    return answer


def key_of(messages: str | list[ChatMessage]) -> str:
    """The texts of the messages."""
    if isinstance(messages, str):
        messages = [ChatMessageUser(content=messages)]
    return "\n".join(f"{message.role}: {message.text}" for message in messages)


def add(manifest: Manifest, call: PlannedCall, model: str, text: str) -> None:
    """One draw; a call that failed has no name of a model but the one that was asked for."""
    changed: dict[str, Any] = {"conversation": "", "user": "", "model": model, "score": None}
    if call.kind == "error":
        changed["model"] = f"mockllm/{model}"
    else:
        graded = {"match": 0.0, "includes": float("parcel" in text.lower()), "rubric_kind": 0.75}
        changed["score"] = {**graded, "rubric_brief": float(len(text) < 20)}
    if call.kind not in ("error", "tool"):
        changed["outputs"] = [text]
    if call.kind == "truncated":
        changed["messages"] = [["user", call.messages[0]["content"] + LONG]]
    manifest.add(call, **changed)


if __name__ == "__main__":
    main(sys.argv[1])
