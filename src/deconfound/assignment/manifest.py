"""The manifest of an experiment: what was drawn, from what, by whom. The service reads it, and so does the analysis."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self, get_args

from deconfound.assignment.assignment_rule import AssignmentRule, Draw
from deconfound.assignment.json_file import read_json
from deconfound.assignment.unit_hash import ALGORITHM, UnitId
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_json, readable_path
from deconfound.formatting import quote

KIND: Final = "deconfound assignment"
SCHEMA: Final = 1
FIX = "Name the manifest that `deconfound assign` has written."
CONTEXT_UNITS = ("context_id", "context")
"""Units that are contexts, by their id or by their text; any other unit is a column of the user's."""

DrawnBy = Literal["deconfound", "litellm", "growthbook", "tensorzero"]
"""Who draws: the hash of this package, or a gateway by its own means with the same propensities."""


@dataclass(frozen=True, slots=True)
class AssignmentManifest:
    """The rule of an experiment, the column whose values are drawn for, and who draws.

    ``group`` is the gateway's name for the models together. ``start`` is the time from which on models were drawn, in
    ISO format; empty if it is not known.
    """

    rule: AssignmentRule
    unit: str = CONTEXT_UNITS[0]
    drawn_by: DrawnBy = "deconfound"
    group: str = ""
    start: str = ""

    def __post_init__(self) -> None:
        if not self.unit.strip():
            raise UsageError("The unit (--unit) is empty; name a column.")
        if self.drawn_by not in get_args(DrawnBy):
            raise UsageError(f"drawn_by is {quote(self.drawn_by)}, not one of {', '.join(get_args(DrawnBy))}.")
        if self.start:
            _seconds(self.start)

    @property
    def is_reproducible(self) -> bool:
        """Whether the model of every unit can be computed again."""
        return self.drawn_by == "deconfound"

    @property
    def draws_contexts(self) -> bool:
        """Whether models are drawn for contexts, and not for users or sessions."""
        return self.unit in CONTEXT_UNITS

    @property
    def start_seconds(self) -> float | None:
        """The start in seconds since 1970; None if it is not known."""
        return _seconds(self.start) if self.start else None

    def assign(self, unit: UnitId) -> Draw | None:
        """The model of a unit; None if it takes no part in the experiment."""
        if not self.is_reproducible:
            raise UsageError(f"{self.drawn_by} draws the models of this experiment itself; ask it instead.")
        return self.rule.assign(unit)

    def to_document(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "experiment": self.rule.experiment,
            "unit": self.unit,
            "share": self.rule.share,
            "drawn_by": self.drawn_by,
            "algorithm": ALGORITHM if self.is_reproducible else None,
            "propensity": self.rule.propensities,
            "group": self.group or None,
            "start": self.start or None,
        }

    def to_json(self) -> str:
        """The manifest as a JSON document."""
        return escape_json(json.dumps(self.to_document(), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a manifest; anything that is none raises."""
        return cls.from_document(read_json(path, FIX), readable_path(path))

    @classmethod
    def from_document(cls, document: Any, source: str) -> Self:  # noqa: ANN401  (whatever JSON can hold)
        """The manifest in a JSON document; ``source`` names it in messages."""
        if not isinstance(document, dict) or document.get("kind") != KIND:
            raise DataError([Problem(source, "this is no manifest of an assignment", FIX)])
        if document.get("schema") != SCHEMA:
            what = f"the manifest has the schema {quote(document.get('schema'))}, and this version reads {SCHEMA}"
            raise DataError([Problem(source, what, "Use the version of deconfound that has written it.")])
        try:
            return cls(
                AssignmentRule.from_models(
                    _text(document, "experiment"), _propensity(document), _number(document, "share")
                ),
                _text(document, "unit"),
                _drawn_by(document),
                _text(document, "group", required=False),
                _text(document, "start", required=False),
            )
        except UsageError as error:
            raise DataError([Problem(source, str(error).removesuffix("."), "Restore the manifest.")]) from None


def _drawn_by(document: dict[str, Any]) -> Any:  # noqa: ANN401  (the manifest checks it)
    """Who draws; a hash of another kind would draw other models."""
    drawn_by = _text(document, "drawn_by")
    if drawn_by == "deconfound" and document.get("algorithm") != ALGORITHM:
        raise UsageError(f"The algorithm is {quote(document.get('algorithm'))}, and this version knows {ALGORITHM}.")
    return drawn_by


def _text(document: dict[str, Any], name: str, *, required: bool = True) -> str:
    value = document.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"{name} is missing or no text.")
    return value


def _number(document: dict[str, Any], name: str) -> float:
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name} is missing or no number.")
    if abs(value) > 1:  # also a whole number that no float can hold
        raise UsageError(f"{name} is not between 0 and 1.")
    return float(value)


def _propensity(document: dict[str, Any]) -> dict[str, float]:
    value = document.get("propensity")
    if not isinstance(value, dict):
        raise UsageError("propensity is missing or not an object with one number per model.")
    return value


def _seconds(start: str) -> float:
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        raise UsageError(f"The start (--start) {quote(start)} is no time such as 2026-05-01T13:00:00Z.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
