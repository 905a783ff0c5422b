"""Logs of Inspect: ``.json`` documents, and ``.eval`` archives with one member per sample."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.input_limit import require_size
from deconfound.traces.call import Call, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    list_from,
    mapping_from,
    number_from,
    objects_from,
    seconds_from,
    tags_from,
    text_from,
)
from deconfound.traces.inspect_attachments import Attachments
from deconfound.traces.inspect_scores import scores_of_sample
from deconfound.traces.reader import Record, Remarks, collect
from deconfound.traces.zip_members import DAMAGED, ZipMembers, open_members

HEADERS = ("header.json", "_journal/start.json", "start.json")
"""Where the header stands; the last two are those of a run that did not finish and of the first version."""
HEADER_KEYS = ("version", "status", "tags")
EVAL_KEYS = ("eval_id", "task", "model", "created")
SAMPLE_KEYS = (
    "id",
    "epoch",
    "uuid",
    "input",
    "messages",
    "output",
    "scores",
    "metadata",
    "started_at",
    "error",
    "limit",
    "invalidation",
    "attachments",
)
TOO_LONG = "model_length"  # a stop_reason of Inspect alone: the answer does not fit into the model's window
UNFINISHED = ("started", "cancelled", "error")


@dataclass(slots=True)
class _Seen:
    """What has been read so far: ids of samples, and the draws of each context and model."""

    samples: set[str] = field(default_factory=set)
    draws: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    attachments: Attachments = field(default_factory=Attachments)

    def add(self, call: Call, remarks: Remarks) -> Call:
        """The call; where its epoch occurs a second time, with the next number as its draw."""
        self.samples.add(call.call_id)
        taken = self.draws.setdefault((call.context_id, call.model), set())
        draw = call.draw
        if draw in taken:
            remarks.add("samples repeat the epoch of another run; they are further draws", call.origin)
        if draw is None or draw in taken:
            draw = max(taken, default=-1) + 1
        taken.add(draw)
        return replace(call, draw=draw)


class InspectLog:
    """Samples of evaluations: the input, the model's output in each epoch, and the values of the scorers."""

    name: ClassVar[str] = "Inspect"
    content_switch: ClassVar[str] = "Run the evaluation without --no-log-samples, so that its log has the samples."

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a document is the log of an evaluation."""
        evaluation = mapping_from(value.get("eval"))
        return {"task", "model"} <= evaluation.keys() and any(key in value for key in ("samples", "status"))

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and their scores; a sample of a log that stands in two files counts once."""
        seen = _Seen()
        for record in records:
            if not self.recognizes(record.value):
                remarks.add("documents are not logs of Inspect", record.origin)
                continue
            samples = list_from(record.value.get("samples"))
            if not samples:
                remarks.add("logs have no samples", record.origin)
            for number, sample in enumerate(samples, 1):
                origin = record.origin if len(samples) == 1 else f"{record.origin} sample {number}"
                placed = Record(record.value, origin, record.path)
                yield from collect(_read(placed, sample, seen, remarks), remarks, origin)


def eval_records(path: Path) -> Iterator[Record]:
    """One log per sample of an ``.eval`` archive, with what the reader needs of its header."""
    source = path.name
    try:
        if not path.is_file():
            raise DataError([Problem(source, "there is no such file", "Check the name and the folder.")])
        require_size(source, path.stat().st_size)
        with path.open("rb") as file:
            members = open_members(file, path)
            header = _header(members)
            names = [name for name in members.members if name.startswith("samples/") and name.endswith(".json")]
            for name in names:
                sample = _load(members, name)
                slim = {key: sample[key] for key in SAMPLE_KEYS if key in sample}
                yield Record({**header, "samples": [slim]}, f"{source} {name}", path)
            if not names:
                yield Record({**header, "samples": []}, source, path)
    except OSError as error:
        raise DataError([Problem(source, f"the file cannot be read: {quote(error)}", DAMAGED)]) from None


def _header(members: ZipMembers) -> dict[str, Any]:
    name = next((name for name in HEADERS if name in members.members), None)
    if name is None:
        what = "the archive has no header.json, so that it is not a log of Inspect"
        raise DataError([Problem(members.source, what, "Name an .eval file that Inspect wrote.")])
    header = _load(members, name)
    evaluation = mapping_from(header.get("eval"))
    return {
        **{key: header[key] for key in HEADER_KEYS if key in header},
        "eval": {key: evaluation[key] for key in EVAL_KEYS if key in evaluation},
    }


def _load(members: ZipMembers, name: str) -> dict[str, Any]:
    try:
        value = json.loads(members.read(name))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DataError([Problem(members.source, f"{quote(name)} is not an object in JSON", DAMAGED)])
    return value


def _read(record: Record, sample: object, seen: _Seen, remarks: Remarks) -> Iterator[Call | Score]:
    log, origin = record.value, record.origin
    if not isinstance(sample, Mapping) or "id" not in sample or "input" not in sample:
        remarks.add("samples are damaged", origin)
        return
    call = _call(record, sample, seen.attachments)
    if call.call_id in seen.samples:
        remarks.add("samples stand in the files twice", origin)
        return
    call = seen.add(call, remarks)
    if log.get("status") in UNFINISHED:
        remarks.add("samples are of a run that did not finish", origin)
    if _turns(sample.get("messages")) > 1 + _turns(sample["input"]):
        remarks.add("samples have several turns of the model; their context is the first input", origin)
    yield call
    if sample.get("invalidation"):
        remarks.add("samples were marked as invalid", origin)
    elif "error" not in call.flags:
        yield from scores_of_sample(sample.get("scores"), call, remarks)


def _turns(messages: object) -> int:
    """How often the model speaks; an input that is one question has no turns."""
    return sum(one.get("role") == "assistant" for one in objects_from(messages))


def _call(record: Record, sample: Mapping[str, Any], attachments: Attachments) -> Call:
    log = record.value
    evaluation, output = mapping_from(log.get("eval")), mapping_from(sample.get("output"))
    task, epoch = text_from(evaluation.get("task")), number_from(sample.get("epoch"))
    sample_id, model = text_from(sample["id"]), text_from(evaluation.get("model"))
    draw = int(epoch) if epoch is not None and epoch.is_integer() else None
    answers, messages = _answers(output), messages_from(sample["input"])
    failed = bool(sample.get("error") or sample.get("invalidation"))
    return Call(
        origin=record.origin,
        call_id=text_from(sample.get("uuid")) or f"{text_from(evaluation.get('eval_id'))}/{sample_id}/{draw}",
        model=text_from(output.get("model")) or model,
        messages=tuple(Message(one.role, attachments.fill(one.text, sample, record.path)) for one in messages),
        outputs=tuple(attachments.fill(answer.text, sample, record.path) for answer in answers),
        requested_model=model,
        time=seconds_from(sample.get("started_at") or evaluation.get("created")),
        context_id=f"{task}/{sample_id}",
        draw=draw,
        flags=flags_from(messages, answers, {"error": failed, "truncated": _reached_limit(sample, output)}),
        attributes={"task": task, **tags_from(log.get("tags")), **attributes_from(sample.get("metadata"), "metadata")},
    )


def _answers(output: Mapping[str, Any]) -> tuple[Answer, ...]:
    choices = list_from(output.get("choices"))
    if choices:
        return answers_from({"choices": choices})
    completion = text_from(output.get("completion"))
    return (Answer(completion),) if completion else ()


def _reached_limit(sample: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
    reasons = (choice.get("stop_reason") for choice in objects_from(output.get("choices")))
    return bool(sample.get("limit")) or TOO_LONG in reasons
