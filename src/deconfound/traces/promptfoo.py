"""Results of promptfoo: the JSON document of versions 1 to 3, and JSONL with one result per line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import messages_from
from deconfound.chat.message_content import canonical_json
from deconfound.traces.call import Call, Flag, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    list_from,
    mapping_from,
    seconds_from,
    text_from,
)
from deconfound.traces.promptfoo_scores import scores_of_result
from deconfound.traces.reader import Record, Remarks, collect

CALL_FAILED = 2  # a failureReason; 1 is a failed assertion, whose reason also stands under "error"
RUNTIME_VARIABLES = ("_conversation", "sessionId")  # they differ between runs of the same test
DIGEST_BYTES = 8


@dataclass(slots=True)
class _Seen:
    """What has been read so far: ids of results, and how often each model answered each context."""

    results: set[str] = field(default_factory=set)
    draws: Counter[tuple[str, str]] = field(default_factory=Counter)

    def draw(self, context_id: str, model: str) -> int:
        self.draws[context_id, model] += 1
        return self.draws[context_id, model] - 1


class Promptfoo:
    """Outputs of ``promptfoo eval -o``: every prompt and test by every provider, and the scores of the assertions."""

    name: ClassVar[str] = "promptfoo"
    content_switch: ClassVar[str] = ""

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a document with results, or a result."""
        results = _results(value)
        return _is_result(value) or (bool(results) and any(_is_result(result) for result in results))

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and their scores; a result that a JSON and a JSONL file both have counts once."""
        seen = _Seen()
        for record in records:
            if _is_result(record.value):
                yield from collect(_read(record.value, record.origin, None, seen, remarks), remarks, record.origin)
                continue
            results = _results(record.value)
            time = seconds_from(mapping_from(record.value.get("results")).get("timestamp"))
            if not results:
                remarks.add("documents have no results of promptfoo", record.origin)
            for number, result in enumerate(results, 1):
                origin = f"{record.origin} result {number}"
                yield from collect(_read(result, origin, time, seen, remarks), remarks, origin)


def _results(value: Mapping[str, Any]) -> list[Any]:
    """The results of a document: one level deeper since version 2."""
    results = value.get("results")
    return list_from(results.get("results") if isinstance(results, Mapping) else results)


def _is_result(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("prompt"), Mapping):
        return False
    return "raw" in value["prompt"] and "vars" in value and any(key in value for key in ("response", "success"))


def _read(value: object, origin: str, time: float | None, seen: _Seen, remarks: Remarks) -> Iterator[Call | Score]:
    if not isinstance(value, Mapping) or not _is_result(value):
        remarks.add("results are damaged", origin)
        return
    call_id = text_from(value.get("id")) or origin
    if call_id in seen.results:
        remarks.add("results stand in the files twice", origin)
        return
    seen.results.add(call_id)
    call = _call(value, call_id, origin, time, seen)
    if not call.model:
        remarks.add("results do not name their provider", origin)
    yield call
    if "error" not in call.flags:
        yield from scores_of_result(value, call_id, origin, time, remarks)


def _call(value: Mapping[str, Any], call_id: str, origin: str, time: float | None, seen: _Seen) -> Call:
    prompt, provider = value["prompt"], value.get("provider")
    provider_id = text_from(mapping_from(provider).get("id")) or text_from(provider)
    model = text_from(mapping_from(provider).get("label")) or provider_id
    label = text_from(prompt.get("label")) or text_from(prompt.get("display"))
    context_id = _context_id(value, label)
    answers = _answers(mapping_from(value.get("response")).get("output"))
    messages = messages_from(prompt["raw"])
    return Call(
        origin=origin,
        call_id=call_id,
        model=model,
        messages=messages,
        outputs=tuple(answer.text for answer in answers),
        requested_model=provider_id,
        time=time,
        context_id=context_id,
        draw=seen.draw(context_id, model),
        flags=flags_from(messages, answers, _stated_flags(value, answers)),
        attributes={
            **({"prompt.label": label} if label else {}),
            **attributes_from(mapping_from(value.get("testCase")).get("metadata"), "metadata"),
        },
    )


def _context_id(value: Mapping[str, Any], label: str) -> str:
    """The same for all models and repetitions of a test with a prompt.

    It comes from the variables: ``--repeat`` makes further tests with a ``testIdx`` of their own, and every file counts
    its tests from 0.
    """
    variables = value.get("vars")
    if isinstance(variables, Mapping):
        variables = {name: one for name, one in variables.items() if name not in RUNTIME_VARIABLES}
    test = variables if variables is not None else text_from(value.get("testIdx"))
    data = canonical_json([test, label]).encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _answers(output: object) -> tuple[Answer, ...]:
    """The answer of a response: text, an object, or the list of the tools that are called."""
    if not isinstance(output, list):
        return answers_from(output)
    if output and all(isinstance(one, Mapping) and isinstance(one.get("function"), Mapping) for one in output):
        return answers_from({"role": "assistant", "content": None, "tool_calls": output})
    return (Answer(canonical_json(output)),)


def _stated_flags(value: Mapping[str, Any], answers: tuple[Answer, ...]) -> dict[Flag, bool]:
    response = mapping_from(value.get("response"))
    failed = value.get("failureReason") == CALL_FAILED or bool(response.get("error"))
    return {"error": failed or (not answers and bool(value.get("error"))), "cached": response.get("cached") is True}
