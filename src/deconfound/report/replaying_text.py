"""What a replay did, would do, or still misses: for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow.compute as pc

from deconfound.endpoints.call_estimates import ModelEstimate
from deconfound.escaping import escape_name
from deconfound.formatting import pluralize, text_table
from deconfound.replaying.replay_plan import MissingCell, ReplayPlan
from deconfound.replaying.replay_run import ReplayRun
from deconfound.replaying.replay_table import count_by
from deconfound.replaying.served_models import unexpected_models
from deconfound.report.calls_text import call_messages, calls_text, cost_text, outcome_document, total_estimate

STATUSES = ("ok", "refusal", "empty", "truncated")
MAX_LISTED_CELLS = 20
CONTINUE = "The same command asks for these again, and for nothing else."
CALL = "The same command without --batch-results asks for them."


def run_text(run: ReplayRun) -> str:
    """Outputs by model and status, tokens and cost."""
    headings = ("model", "outputs", *STATUSES, "missing", "input tokens", "output tokens", "cost")
    rows = [_run_row(one) for one in run_rows(run)]
    return f"{_subject(run.plan)}\n\n{text_table([headings, *rows], left=(0,))}\n\n{_total_line(run)}\n"


def run_rows(run: ReplayRun) -> list[dict[str, Any]]:
    """One row per model: how many outputs of each kind, and what they cost."""
    statuses = count_by(run.table, "status")
    sums = {row["model"]: row for row in _sums(run)}
    rows = []
    for model in run.plan.models.models:
        counts = statuses.get(model.name, {})
        found = sums.get(model.name, {})
        rows.append(
            {
                "model": model.name,
                "outputs": sum(counts.values()),
                **{status: counts.get(status, 0) for status in STATUSES},
                "missing": run.missing.get(model.name, 0),
                "input_tokens": found.get("input_tokens_sum") or 0,
                "output_tokens": found.get("output_tokens_sum") or 0,
                "tokens_estimated": found.get("tokens_estimated_sum") or 0,
                "cost": found.get("cost_sum"),
            }
        )
    return rows


def _sums(run: ReplayRun) -> list[dict[str, Any]]:
    table = run.table.append_column("estimated", pc.cast(run.table["tokens_estimated"], "int64"))
    columns = ("input_tokens", "output_tokens", "estimated", "cost")
    found: list[dict[str, Any]] = table.group_by("model").aggregate([(name, "sum") for name in columns]).to_pylist()
    return [{**row, "tokens_estimated_sum": row["estimated_sum"]} for row in found]


def _run_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"{row[name]:,}" for name in ("outputs", *STATUSES, "missing", "input_tokens", "output_tokens"))
    return (escape_name(row["model"]), *numbers, cost_text(row["cost"]))


def _total_line(run: ReplayRun) -> str:
    """What was asked in this run, what was there before, and what is an estimate."""
    outcome = run.outcome
    parts = [f"{pluralize(outcome.replies, 'answer')} in this run"]
    if outcome.cost is not None:
        parts[0] += f" for {cost_text(outcome.cost)}"
    parts.append(f"{run.reused:,} from the cache")
    estimated = sum(row["tokens_estimated"] for row in run_rows(run))
    note = f" Tokens of {pluralize(estimated, 'output')} are estimates." if estimated else ""
    return f"{', '.join(parts)}.{note}"


def run_messages(run: ReplayRun) -> list[str]:
    """What the user should know beside the table: models given up, failures, other models' answers."""
    lines = call_messages(run.outcome)
    if run.missing:
        missing = ", ".join(f"{escape_name(name)} {count:,}" for name, count in run.missing.items())
        lines.append(f"Outputs are missing ({missing}). They have no row. {CONTINUE if run.outcome.expected else CALL}")
    for other in unexpected_models(run):
        lines.append(
            f"{escape_name(other.model)}: {pluralize(other.outputs, 'answer')} name the model "
            f"{escape_name(other.served)}, not {escape_name(other.asked)}. If a gateway answered with another model, "
            "these are not its outputs."
        )
    return lines


def run_document(run: ReplayRun, path: str) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "output": path,
        "contexts": len(run.plan.contexts.rows),
        "draws": run.plan.draws,
        "complete": run.complete,
        "models": run_rows(run),
        "reused": run.reused,
        "asked": outcome_document(run.outcome),
        "messages": run_messages(run),
    }


def estimate_text(plan: ReplayPlan, estimates: Sequence[ModelEstimate]) -> str:
    """What a run would ask for, and cost."""
    return calls_text(_subject(plan), estimates)


def estimate_document(plan: ReplayPlan, estimates: Sequence[ModelEstimate]) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "contexts": len(plan.contexts.rows),
        "draws": plan.draws,
        "models": [asdict(one) for one in estimates],
        "total": asdict(total_estimate(estimates)),
    }


def todo_text(plan: ReplayPlan, cells: Sequence[MissingCell]) -> str:
    """How many outputs are missing, and the first of them."""
    if not cells:
        return f"{_subject(plan)} Nothing is missing.\n"
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell.model] = counts.get(cell.model, 0) + 1
    summary = text_table([("model", "missing"), *((escape_name(n), f"{c:,}") for n, c in counts.items())], left=(0,))
    rows = [
        (escape_name(cell.context_id), escape_name(cell.model), str(cell.draw)) for cell in cells[:MAX_LISTED_CELLS]
    ]
    listed = text_table([("context_id", "model", "draw"), *rows], left=(0, 1))
    rest = len(cells) - MAX_LISTED_CELLS
    more = f"\nand {rest:,} more; --json lists all" if rest > 0 else ""
    subject = f"{_subject(plan)} {pluralize(len(cells), 'output')} missing."
    return f"{subject}\n\n{summary}\n\n{listed}{more}\n"


def _subject(plan: ReplayPlan) -> str:
    models = pluralize(len(plan.models.models), "model")
    contexts = pluralize(len(plan.contexts.rows), "context")
    return f"{models} on {contexts}, {pluralize(plan.draws, 'draw')}."
