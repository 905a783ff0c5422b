"""The form of an answer as a JSON schema, for servers that can enforce one."""

from __future__ import annotations

from typing import Any

from deconfound.judging.rubric import Criterion, Rubric


def response_format(rubric: Rubric) -> dict[str, Any]:
    """The parameter of the interface of OpenAI by which a server lets a model write nothing but the scores."""
    schema = {
        "type": "object",
        "properties": {criterion.name: _number(criterion) for criterion in rubric.criteria},
        "required": list(rubric.names),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "scores", "strict": True, "schema": schema}}


def _number(criterion: Criterion) -> dict[str, Any]:
    if criterion.asks_whole_numbers:
        return {"type": "integer", "minimum": int(criterion.low), "maximum": int(criterion.high)}
    return {"type": "number", "minimum": criterion.low, "maximum": criterion.high}
