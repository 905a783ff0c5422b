"""Every check with its verdict, and the sizes of the tables: what a reader asks before the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.escaping import escape_line
from deconfound.findings import Verdict
from deconfound.formatting import pluralize
from deconfound.report.check_text import VERDICT_ORDER, is_note
from deconfound.report.scale import Scale
from deconfound.result import Result


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check: its name, verdict and sentences."""

    name: str
    verdict: Verdict
    message: str


def check_rows(result: Result) -> tuple[CheckRow, ...]:
    """Failures first; notes on the tables are no checks."""
    scale = Scale.of(result)
    found = [scale.finding(each) for each in result.findings if not is_note(each)]
    found.sort(key=lambda each: VERDICT_ORDER.index(each.verdict))
    return tuple(
        CheckRow(
            escape_line(f"{each.assumption} {each.check}".strip()),
            each.verdict,
            escape_line(f"{each.message} {each.remedy}".strip()),
        )
        for each in found
    )


def table_sizes(result: Result) -> str:
    """How much data the answer is about."""
    counts = result.counts
    rows = f"{pluralize(counts.experiment.rows, 'randomized row')}, {pluralize(counts.log.rows, 'logged row')}"
    contexts, models = pluralize(counts.replay.contexts, "replayed context"), pluralize(len(result.models), "model")
    return f"{models}, {rows}, {contexts}"
