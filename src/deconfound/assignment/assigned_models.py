"""The models of many units at once."""

from __future__ import annotations

import pyarrow as pa

from deconfound.assignment.assignment_rule import AssignmentRule
from deconfound.data.encode import encode_by_appearance
from deconfound.progress import Progress, no_progress

OUTSIDE = ""  # in place of a model, for units that take no part
UNITS_AT_ONCE = 20_000  # between two reports of progress


def assigned_models(units: pa.ChunkedArray, rule: AssignmentRule, progress: Progress = no_progress) -> pa.Array:
    """The model of each row's unit, ``OUTSIDE`` for units that take no part; every unit is drawn for once."""
    distinct, code = encode_by_appearance(units)
    models: list[str] = []
    for start in range(0, len(distinct), UNITS_AT_ONCE):
        progress("drawing models", start / len(distinct))
        drawn = map(rule.assign, distinct.slice(start, UNITS_AT_ONCE).to_pylist())
        models += [OUTSIDE if one is None else one.model for one in drawn]
    return pa.array(models, pa.string()).take(pa.array(code))
