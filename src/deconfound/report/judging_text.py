"""What judges did and would do, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from deconfound.endpoints.call_estimates import ModelEstimate
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import join_names, pluralize, text_table
from deconfound.judging.judge_plan import JudgePlan
from deconfound.judging.judge_run import JudgeRun
from deconfound.report.calls_text import call_messages, calls_text, cost_text, outcome_document, total_estimate
from deconfound.report.probing_text import probe_document, probe_text

MAX_LISTED_FAILURES = 10
MIN_SAME_SCORES = 5  # of fewer outputs, all may deserve the same
CONTINUE = "The same command asks again for what failed, and for nothing else."


def judging_text(run: JudgeRun) -> str:
    """What was judged, by whom, and how the scores look; then the probes."""
    headings = ("judge", "scored", "repaired", "failed")
    rows = [(escape_name(one.judge), f"{one.scored:,}", f"{one.repaired:,}", f"{one.failed:,}") for one in run.counts]
    parts = [
        _subject(run.plan),
        text_table([headings, *rows], left=(0,)),
        _score_table(run),
        _columns_line(run.plan),
        _total_line(run),
    ]
    if run.probes:
        parts.append(probe_text(run))
    return "\n\n".join(parts) + "\n"


def judging_messages(run: JudgeRun) -> list[str]:
    """What the user should know beside the tables: failures, and what they mean for `evaluate`."""
    failed = {one.judge for one in run.counts if one.failed}
    unfinished = {name: meter for name, meter in run.outcome.models.items() if name in failed}
    lines = call_messages(RunOutcome(unfinished, run.outcome.expected))
    lines += map(_refused_form, run.without_form)
    for one in run.counts:
        listed = sorted(one.failures.items(), key=lambda item: (-item[1], item[0]))
        for cause, count in listed[:MAX_LISTED_FAILURES]:
            lines.append(f"{escape_name(one.judge)}: no scores of {pluralize(count, 'output')}: {escape_line(cause)}")
        if len(listed) > MAX_LISTED_FAILURES:
            lines.append(f"{escape_name(one.judge)}: {len(listed) - MAX_LISTED_FAILURES:,} more causes.")
    if run.missing_probes:
        lines.append(f"{pluralize(run.missing_probes, 'verdict')} of the probes missing: less is compared. {CONTINUE}")
    lines += [_constant_line(name, count) for name, count in _constant_criteria(run)]
    if run.unscored:
        lines.append(_unscored_line(run))
    elif not run.complete:
        lines.append(
            f"Where a judge has no scores, the others' are averaged; the column judges counts them. {CONTINUE}"
        )
    return lines


def _constant_criteria(run: JudgeRun) -> list[tuple[str, int]]:
    """Criteria with the same score for every output, and how many outputs have it."""
    columns = (column[np.isfinite(column)] for column in run.scores.labels.T)
    named = zip(run.plan.rubric.names, columns, strict=True)
    return [(name, len(scores)) for name, scores in named if len(scores) >= MIN_SAME_SCORES and np.ptp(scores) == 0]


def _constant_line(criterion: str, outputs: int) -> str:
    return f"{criterion}: all {outputs:,} outputs have the same score, so it says nothing about any model."


def _refused_form(judge: str) -> str:
    return (
        f"{escape_name(judge)}: the server does not accept a request for an enforced form. It was asked without; "
        "structured = false in the settings saves the attempt."
    )


def _unscored_line(run: JudgeRun) -> str:
    column = run.plan.columns.names[0]
    if run.plan.columns.is_combined:
        effect = "`evaluate` sets such rows aside as rows without an outcome"
    elif column.startswith("label_"):
        effect = (
            f"`evaluate` leaves out label columns with gaps: complete them, or read only rows with scores, --where "
            f'"log.{column}!="'
        )
    else:
        effect = "`evaluate` refuses features with gaps: complete them"
    return f"{pluralize(run.unscored, 'output')} without any score: empty cells. {effect}. {CONTINUE}"


def judging_document(run: JudgeRun, paths: Sequence[str]) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "outputs": list(paths),
        "rubric": run.plan.rubric.name,
        "columns": list(run.plan.columns.names),
        "combination": run.plan.rubric.combination(),
        "rows": [len(table) for table in run.plan.tables],
        "distinct_outputs": len(run.plan.pairs.pairs),
        "complete": run.complete,
        "unscored_outputs": run.unscored,
        "judges": [{**asdict(one), "failed": one.failed} for one in run.counts],
        "mean_labels": dict(zip(run.plan.rubric.names, _means(run), strict=True)),
        "reused": run.reused,
        "missing_probes": run.missing_probes,
        "without_form": list(run.without_form),
        "asked": outcome_document(run.outcome),
        "messages": judging_messages(run),
        **({"probes": probe_document(run)} if run.plan.sample else {}),
    }


def judging_estimate_text(plan: JudgePlan, estimates: Sequence[ModelEstimate]) -> str:
    """What a run would ask for, and cost."""
    note = "Repairs of unusable replies are not included."
    return f"{calls_text(_subject(plan), estimates, ('judge', 'verdicts')).rstrip()} {note}\n"


def judging_estimate_document(plan: JudgePlan, estimates: Sequence[ModelEstimate]) -> Mapping[str, Any]:
    """The same as JSON."""
    return {
        "distinct_outputs": len(plan.pairs.pairs),
        "probed_outputs": len(plan.sample),
        "judges": [asdict(one) for one in estimates],
        "total": asdict(total_estimate(estimates)),
    }


def _score_table(run: JudgeRun) -> str:
    """How the labels look; not by model, since a log's rows are no fair comparison."""
    labels, criteria = run.scores.labels, run.plan.rubric.criteria
    rows = [("criterion", "mean", "sd", "lowest", "highest")]
    for at, criterion in enumerate(criteria):
        values = labels[np.isfinite(labels[:, at]), at]
        numbers = (values.mean(), values.std(), values.min(), values.max()) if len(values) else ()
        cells = [f"{number:.3f}" for number in numbers] or ["-"] * 4
        rows.append((criterion.name, *cells))  # type: ignore[arg-type]
    return text_table(rows, left=(0,))


def _means(run: JudgeRun) -> list[float | None]:
    labels = run.scores.labels
    return [float(column[np.isfinite(column)].mean()) if np.isfinite(column).any() else None for column in labels.T]


def _columns_line(plan: JudgePlan) -> str:
    names = join_names(plan.columns.names)
    if plan.columns.is_combined:
        return f"Column {names}, from 0 to 1: {plan.rubric.combination()}."
    counts = [one.name for one in plan.rubric.criteria if one.is_count]
    note = f", {join_names(counts)} as a count" if counts else ""
    return f"Columns {names}: the mean of the judges, scales from 0 (worst) to 1 (best){note}."


def _total_line(run: JudgeRun) -> str:
    cost = "" if run.outcome.cost is None else f" for {cost_text(run.outcome.cost)}"
    return f"{pluralize(run.outcome.replies, 'answer')} in this run{cost}, {run.reused:,} verdicts from the cache."


def _subject(plan: JudgePlan) -> str:
    rows, outputs = sum(map(len, plan.tables)), len(plan.pairs.pairs)
    probed = f", {len(plan.sample):,} of them probed" if plan.sample else ""
    return (
        f"{pluralize(rows, 'row')}, {pluralize(outputs, 'distinct output')}{probed}, "
        f"{pluralize(len(plan.judges), 'judge')}, rubric {escape_name(plan.rubric.name)}."
    )
