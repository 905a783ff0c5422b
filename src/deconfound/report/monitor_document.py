"""A look at a running experiment as one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from deconfound import __version__
from deconfound.assignment.plan_allocation import MONITOR_KIND
from deconfound.formatting import to_jsonable
from deconfound.monitoring import MonitorResult
from deconfound.report.json_text import dump_json
from deconfound.report.monitor_text import verdict_text
from deconfound.report.scale import UNIT_RANGE, Scale
from deconfound.report.values_document import values_document

SCHEMA = 1


def monitor_document(look: MonitorResult) -> dict[str, Any]:
    """Every number of the look, on a scale from 0 to 1; sentences are on the user's scale."""
    settings, verdict, scale = look.settings, look.verdict, Scale.of(look.result)
    document: dict[str, Any] = to_jsonable(
        {
            "kind": MONITOR_KIND,
            "schema": SCHEMA,
            "version": __version__,
            "stop": verdict.stop,
            "reason": verdict.reason,
            "choice": look.choice,
            "verdict": verdict_text(look),
            "contenders": [look.models[i] for i in verdict.contenders],
            "good_enough": [look.models[i] for i in verdict.good_enough],
            "max_regret": verdict.max_regret,
            "settings": asdict(settings),
            "rows": look.rows,
            "models": look.models,
            "scale": UNIT_RANGE,
            "outcome_range": look.result.outcome_range,
            "outcome_unit": look.result.outcome_unit,
            "table": look.table(),
            "simultaneous_intervals": look.sequences.simultaneous_interval,
            "differences": look.differences(),
            "lead": look.sequences.lead,
            "values": values_document(look.result.values, settings.level),
            "next_batch": {
                "propensity": look.propensities(),
                "changed": look.next_batch.changed,
                "expected_rows": look.next_batch.expected_rows,
                "rows": rows_to_come(look),
            },
            "looks": [asdict(past) for past in look.looks],
        }
    )
    return {**document, "findings": [scale.finding_document(finding) for finding in look.findings]}


def rows_to_come(look: MonitorResult) -> int:
    """Further rows that are expected to be needed, at most those to the horizon."""
    left = max(look.settings.horizon - look.rows, 0)
    expected = look.next_batch.expected_rows
    return left if expected is None else min(expected, left)


def monitor_json(look: MonitorResult) -> str:
    """The document as text."""
    return dump_json(monitor_document(look))
