"""The scores of a result of promptfoo, and whether a program, a language model or a person gave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deconfound.chat.message_content import MAX_DEPTH
from deconfound.traces.call import Author, Score
from deconfound.traces.field_values import list_from, mapping_from, score_from, text_from
from deconfound.traces.reader import Remarks

JUDGED = (
    "agent-rubric",
    "answer-relevance",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "factuality",
    "g-eval",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "pi",
    "search-rubric",
    "select-best",
    "trajectory:goal-success",
)
"""Types of assertions that a language model decides; ``promptfoo:…`` of red teams are further ones."""

Assertion = tuple[str, Author]  # its metric, empty if it has none, and who decides it


def scores_of_result(
    value: Mapping[str, Any], call_id: str, origin: str, time: float | None, remarks: Remarks
) -> Iterator[Score]:
    """``score``, ``success`` and every named score; without assertions they say nothing and are left out."""
    grading = mapping_from(value.get("gradingResult"))
    assertions = list(_assertions(grading.get("componentResults"), MAX_DEPTH))
    named = mapping_from(value.get("namedScores"))
    if "gradingResult" in value and not assertions and not named:
        remarks.add("results have no assertions, so that their score says nothing", origin)
        return
    recorded: list[tuple[str, object, Author]] = [
        ("score", value.get("score"), _author(assertions)),
        ("success", value.get("success"), _author(assertions)),
    ]
    for name, one in named.items():
        recorded.append((str(name), one, _author([given for given in assertions if given[0] == name])))
    for name, one, author in recorded:
        number = score_from(one)
        if number is not None and name:
            yield Score(origin, name, number, author, "call", call_id, time=time)
        elif one is not None:
            remarks.add("scores have no name or no value", origin)


def _assertions(components: object, depth: int) -> Iterator[Assertion]:
    """The assertions that were checked; a set of assertions has its own components."""
    for component in list_from(components) if depth > 0 else []:
        inner = list_from(mapping_from(component).get("componentResults"))
        if inner:
            yield from _assertions(inner, depth - 1)
        elif isinstance(component, Mapping):
            assertion = mapping_from(component.get("assertion"))
            kind = text_from(assertion.get("type")).removeprefix("not-")
            yield text_from(assertion.get("metric")), _author_of(kind)


def _author_of(kind: str) -> Author:
    if kind == "human":
        return "human"
    if kind in JUDGED or kind.startswith("promptfoo:"):
        return "judge"
    return "code" if kind else "unknown"


def _author(assertions: list[Assertion]) -> Author:
    """The one author of all assertions; unknown where there are several or none."""
    authors = {author for _, author in assertions}
    return authors.pop() if len(authors) == 1 else "unknown"
