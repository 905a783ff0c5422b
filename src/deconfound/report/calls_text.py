"""What calls of models did, would do, or cost: the same words for every command that makes calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from deconfound.endpoints.batch_storing import BatchReport
from deconfound.endpoints.call_estimates import ModelEstimate
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.run_meter import ModelMeter, RunOutcome
from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import join_names, pluralize, text_table

MAX_LISTED_CAUSES = 20


def call_messages(outcome: RunOutcome) -> list[str]:
    """Models that were given up, and failed calls by model and cause."""
    stopped = outcome.stopped
    lines = [_given_up(outcome.models[name], failure) for name, failure in stopped.items()]
    failures = [one for one in outcome.failures if one.model not in stopped or one.cause != stopped[one.model].cause]
    for one in failures[:MAX_LISTED_CAUSES]:
        detail = f" (first: {escape_line(one.detail)})" if one.detail else ""
        lines.append(
            f"{escape_name(one.model)}: {pluralize(one.calls, 'failed call')}: {escape_line(one.cause)}{detail}"
        )
    if len(failures) > MAX_LISTED_CAUSES:
        lines.append(f"{len(failures) - MAX_LISTED_CAUSES:,} more causes.")
    return lines


def _given_up(meter: ModelMeter, failure: Failure) -> str:
    calls, _ = meter.causes.get(failure.cause, (0, ""))
    given_up = f"given up after failures in a row, {pluralize(meter.skipped, 'call')} not made. "
    cause = f"{pluralize(calls, 'failed call')}: {escape_line(str(failure))}"
    return f"{escape_name(meter.chat.name)}: {given_up if meter.skipped else ''}{cause}"


def outcome_document(outcome: RunOutcome) -> dict[str, Any]:
    """What the calls of one run did."""
    return {
        "replies": outcome.replies,
        "failed": outcome.failed,
        "cost": outcome.cost,
        "failures": [asdict(one) for one in outcome.failures],
    }


def calls_text(subject: str, estimates: Sequence[ModelEstimate], names: tuple[str, str] = ("model", "outputs")) -> str:
    """What a run would ask for, and cost."""
    headings = (*names, "stored", "calls", "input tokens", "output tokens", "cost")
    rows = [_estimate_row(one) for one in estimates]
    if len(rows) > 1:
        rows.append(_estimate_row(total_estimate(estimates)))
    notes = ["Input tokens are estimated by the length of the texts."]
    asked = [one for one in estimates if one.calls]
    if any(one.basis == "max_tokens" for one in asked):
        notes.append("Output tokens are the most that max_tokens allows.")
    if any(one.basis == "stored replies" for one in asked):
        notes.append("Output tokens of models with stored answers are by the mean of these.")
    unknown = [one.model for one in estimates if one.calls and one.output_tokens is None]
    if unknown:
        notes.append(f"Nothing limits the outputs of {join_names(unknown)}: set max_tokens to bound their cost.")
    unpriced = [one.model for one in estimates if one.calls and one.cost is None and one.output_tokens is not None]
    if unpriced:
        notes.append(f"No price is set for {join_names(unpriced)}.")
    table = text_table([headings, *rows], left=(0,)) if rows else "No model needs a call."
    return f"{subject} Nothing was asked.\n\n{table}\n\n{' '.join(notes) if rows else ''}".rstrip() + "\n"


def total_estimate(estimates: Sequence[ModelEstimate]) -> ModelEstimate:
    """All models together; what is unknown for one is unknown for all."""
    known = all(one.output_tokens is not None or not one.calls for one in estimates)
    priced = all(one.cost is not None or not one.calls for one in estimates)
    return ModelEstimate(
        model="total",
        outputs=sum(one.outputs for one in estimates),
        stored=sum(one.stored for one in estimates),
        calls=sum(one.calls for one in estimates),
        input_tokens=sum(one.input_tokens for one in estimates),
        output_tokens=sum(one.output_tokens or 0 for one in estimates) if known else None,
        basis="",
        cost=sum(one.cost or 0.0 for one in estimates) if priced else None,
    )


def _estimate_row(one: ModelEstimate) -> tuple[str, ...]:
    made = "unknown" if one.output_tokens is None else f"{one.output_tokens:,}"
    counts = (one.outputs, one.stored, one.calls, one.input_tokens)
    return (escape_name(one.model), *(f"{count:,}" for count in counts), made, cost_text(one.cost))


def batch_messages(report: BatchReport) -> list[str]:
    """What was read from result files."""
    lines = [f"{pluralize(report.replies, 'answer')} read from batches."]
    for what, count in report.failures.items():
        detail = report.details.get(what, "")
        first = f" (first: {escape_line(detail)})" if detail else ""
        lines.append(f"{what[:1].upper()}{what[1:]}: {count:,}{first}.")
    if report.others:
        lines.append(f"Lines for other requests, which are not used: {report.others:,}.")
    return lines


def cost_text(cost: float | None) -> str:
    """A cost in the currency of the prices."""
    if cost is None:
        return "-"
    return f"{cost:,.2f}" if cost >= 1 or cost == 0 else f"{cost:.4f}"
