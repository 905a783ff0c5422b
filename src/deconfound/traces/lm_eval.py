"""Samples of the lm-evaluation-harness: ``samples_{task}_{date}.jsonl``, whose model is in ``results_{date}.json``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from deconfound.chat.answers import Answer
from deconfound.chat.conversation import messages_from
from deconfound.traces.call import Call, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    list_from,
    mapping_from,
    score_from,
    text_from,
)
from deconfound.traces.lm_eval_results import Run, run_beside, run_from
from deconfound.traces.reader import Record, Remarks, collect

SAMPLES_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.json")
RESULTS_NAME = re.compile(r".+_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.json")


@dataclass(frozen=True, slots=True)
class _Source:
    """One file of samples: its task and its run, which come from its name and its neighbours, and its first filter."""

    task: str
    run: Run
    filter_name: str


@dataclass(slots=True)
class _Sources:
    """Files of samples and results that have been met so far."""

    runs: dict[tuple[Path, str], Run] = field(default_factory=dict)
    sources: dict[Path, _Source] = field(default_factory=dict)
    draws: Counter[tuple[str, str]] = field(default_factory=Counter)

    def next_draws(self, model: str, context_id: str, count: int) -> range:
        """Numbers for further draws: a document may stand in a task twice, and a task may have run twice."""
        first = self.draws[model, context_id]
        self.draws[model, context_id] += count
        return range(first, first + count)

    def add_results(self, record: Record) -> None:
        named = RESULTS_NAME.match(record.path.name)
        run = run_from(record.value)
        if named and run is not None:
            self.runs[record.path.parent, named["date"]] = run

    def source(self, record: Record, remarks: Remarks) -> _Source:
        path = record.path
        if path not in self.sources:
            named = SAMPLES_NAME.match(path.name)
            date = named["date"] if named else ""
            run = self.runs.get((path.parent, date)) or (run_beside(path, date) if date else None)
            if run is None:
                remarks.add(
                    "files of samples have no results file beside them; their model is the folder's name", path.name
                )
                run = Run(path.parent.name, time=None)
            filter_name = text_from(record.value.get("filter"))
            self.sources[path] = _Source(named["task"] if named else path.stem, run, filter_name)
        return self.sources[path]


class LmEval:
    """Generated answers with their metrics; rows of multiple choice have no text and are skipped."""

    name: ClassVar[str] = "lm-evaluation-harness"
    content_switch: ClassVar[str] = "Run lm_eval with --log_samples on a task that generates text."

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a sample, or the results of a run."""
        return _is_sample(value) or run_from(value) is not None

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """One call per repetition of a document, and the metrics of the one that they judge."""
        sources = _Sources()
        for record in records:
            if _is_sample(record.value):
                source = sources.source(record, remarks)
                yield from collect(_read(record, source, sources, remarks), remarks, record.origin)
            elif run_from(record.value) is not None:
                sources.add_results(record)
            else:
                remarks.add("records are not samples of lm-eval", record.origin)


def _is_sample(value: Mapping[str, Any]) -> bool:
    return {"doc_id", "filtered_resps"} <= value.keys() and "arguments" in value


def _read(record: Record, source: _Source, sources: _Sources, remarks: Remarks) -> Iterator[Call | Score]:
    value, origin = record.value, record.origin
    if text_from(value.get("filter")) != source.filter_name:
        remarks.add("rows repeat a document with another filter", origin)
        return
    request = _request(value.get("arguments"))
    if len(request) < 2 or not isinstance(request[1], Mapping):  # options of the generation
        remarks.add("rows have log-likelihoods and no text, such as those of multiple choice", origin)
        return
    outputs = _outputs(value)
    if not outputs:
        remarks.add("rows have no answers in text", origin)
        return
    calls = _calls(record, source, request[0], outputs, sources)
    yield from calls
    yield from _scores(value, calls, remarks)


def _request(arguments: object) -> list[Any]:
    """The arguments of the first request: prompt and options, as an object or, in older files, as a list."""
    if isinstance(arguments, Mapping):
        first = mapping_from(arguments.get("gen_args_0"))
        return [first[key] for key in ("arg_0", "arg_1") if key in first]
    return _first_list(arguments)


def _outputs(value: Mapping[str, Any]) -> tuple[str, ...]:
    """What the model said in each repetition; ``filtered_resps`` are extracts of it, not its words."""
    answers = _first_list(value.get("resps")) or list_from(value.get("filtered_resps"))[:1]
    return tuple(answers) if all(isinstance(answer, str) for answer in answers) else ()


def _first_list(value: object) -> list[Any]:
    """The list that a list begins with; a text in its place is a prompt or an answer, even where it is JSON."""
    first = next(iter(list_from(value)), None)
    return first if isinstance(first, list) else []


def _calls(record: Record, source: _Source, prompt: object, outputs: tuple[str, ...], sources: _Sources) -> list[Call]:
    value, model = record.value, source.run.model
    row = text_from(value.get("doc_id"))
    context_id = f"{source.task}/{text_from(value.get('doc_hash')) or row}"
    if isinstance(prompt, list) and len(prompt) == 1:  # messages in JSON, wrapped once more
        prompt = prompt[0]
    messages = messages_from(prompt)
    return [
        Call(
            origin=record.origin,
            call_id=f"{model}/{record.path.name}/{row}/{number}",
            model=model,
            messages=messages,
            outputs=(output,),
            time=source.run.time,
            context_id=context_id,
            draw=draw,
            flags=flags_from(messages, (Answer(output),)),
            attributes={"task": source.task},
        )
        for number, (output, draw) in enumerate(
            zip(outputs, sources.next_draws(model, context_id, len(outputs)), strict=True)
        )
    ]


def _scores(value: Mapping[str, Any], calls: list[Call], remarks: Remarks) -> Iterator[Score]:
    """The metrics of a row. With repetitions they judge the answer that the filter chose, if it is one of them."""
    chosen = next(iter(list_from(value.get("filtered_resps"))), None)
    judged = calls[0]
    if len(calls) > 1:
        found = next((call for call in calls if call.outputs == (chosen,)), None)
        if found is None:
            remarks.add("rows have metrics of several answers together", judged.origin)
            return
        judged = found
    for name in list_from(value.get("metrics")):
        metric = score_from(value.get(name)) if isinstance(name, str) and name else None
        if metric is None:
            remarks.add("metrics are not single values", judged.origin)
        else:
            yield Score(judged.origin, name, metric, "code", "call", judged.call_id, time=judged.time)
