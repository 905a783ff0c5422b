"""Conditions on calls, such as "tag.exp=true" or "group!=chat": which calls belong to an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.errors import UsageError
from deconfound.formatting import did_you_mean, quote
from deconfound.traces.call_table import CallSummary

FIELDS = ("model", "requested_model", "group", "user", "conversation", "trace_id", "call_id")


@dataclass(frozen=True, slots=True)
class Condition:
    """A field or attribute that must have a value, or must not have it."""

    name: str
    value: str
    negated: bool = False

    def holds(self, call: CallSummary) -> bool:
        """Whether a call fulfills the condition; a call without the attribute has the value ""."""
        return (_value(call, self.name) == self.value) != self.negated


def parse_condition(text: str) -> Condition:
    """A condition as it is written on the command line."""
    name, equals, value = text.partition("=")
    negated = name.endswith("!")
    if not (name.removesuffix("!").strip() and equals):
        raise UsageError(f"A condition is NAME=VALUE or NAME!=VALUE, such as tag.exp=true, not {quote(text)}.")
    return Condition(name.removesuffix("!").strip(), value.strip(), negated)


def require_known_names(conditions: Sequence[Condition], calls: Sequence[CallSummary]) -> None:
    """Refuse a condition on something that no call has."""
    known = {name for call in calls for name, _ in call.attributes} | set(FIELDS)
    for condition in conditions:
        if condition.name not in known:
            suggestion = did_you_mean(condition.name, sorted(known)) or "."
            raise UsageError(
                f"No call has an attribute {quote(condition.name)}{suggestion} `deconfound doctor` lists them."
            )


def _value(call: CallSummary, name: str) -> str:
    return str(getattr(call, name)) if name in FIELDS else dict(call.attributes).get(name, "")
