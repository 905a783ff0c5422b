"""A plan in words, and as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deconfound import __version__
from deconfound.findings import finding_to_document
from deconfound.formatting import escape_control_characters, format_percent, pluralize
from deconfound.plan.allocation import MOST_ROWS
from deconfound.plan.forecast import Step
from deconfound.plan.plan import Plan, PlanRow, RequiredRows

SCHEMA = 1
BAR = 40  # characters of the longest bar
SOURCES = {
    "pilot": "the pilot's {rows} randomized rows",
    "log": "the log and the replay, without any randomized row",
    "numbers": "the numbers given, without any data",
}


def text(plan: Plan, answers: Sequence[RequiredRows], lines: Sequence[PlanRow], *, curve: bool) -> str:
    """The answer first, then the table, then what it rests on."""
    parts = [_sentence(plan, answer) for answer in answers] or [_overview(plan, lines)]
    parts += ["", _table(lines), "", _rests_on(plan)]
    if curve:
        parts += ["", _curve(lines)]
    noted = [f"  {f.verdict}: {f.message} {f.remedy}".rstrip() for f in plan.evidence.findings if f.verdict != "pass"]
    parts += ["", "To know", *noted] if noted else []
    return "\n".join(parts) + "\n"


def document(plan: Plan, answers: Sequence[RequiredRows], lines: Sequence[PlanRow]) -> dict[str, Any]:
    """Every number of the plan; what is out of reach is null."""
    known = plan.evidence
    return {
        "schema": SCHEMA,
        "version": __version__,
        "level": plan.level,
        "within": plan.within,
        "elsewhere": plan.expected.elsewhere,
        "models": list(known.models),
        "evidence": {
            "source": known.source,
            "rows": known.rows,
            "outcome_sd": np.sqrt(known.outcome).tolist(),
            "row_sd": np.sqrt(known.row).tolist(),
            "expected_value": known.mean.tolist(),
            "doubt": np.sqrt(np.diag(known.doubt)).tolist(),
            "variance_range": list(known.variance_range),
        },
        "answers": [_answer(answer) for answer in answers],
        "table": [{"expected": _step(n.expected), "low": _step(n.low), "high": _step(n.high)} for n in lines],
        "findings": [finding_to_document(finding) for finding in known.findings],
    }


def _answer(answer: RequiredRows) -> dict[str, Any]:
    return {
        "goal": answer.goal.kind,
        "wish": answer.goal.wish,
        "allocation": answer.allocation,
        "propensity": answer.propensity.tolist(),
        "expected": _step(answer.expected),
        "low": answer.low,
        "high": answer.high,
        "equal": answer.even,
        "saved": answer.saved,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "rows": step.rows.tolist(),
        "total": step.total,
        "width": step.typical,
        "widths": step.width.tolist(),
        "best": step.best,
        "regret": step.regret,
    }


def _sentence(plan: Plan, answer: RequiredRows) -> str:
    step = answer.expected
    wish = {
        "width": f"intervals of ±{answer.goal.wish / 2:g} ({format_percent(plan.level)})",
        "best": f"the best model{_within(plan)} with probability {answer.goal.wish:g}",
        "regret": f"an expected regret of {answer.goal.wish:g}",
    }[answer.goal.kind]
    low, high = (f"{MOST_ROWS:,} or more" if n is None else f"{n:,}" for n in (answer.low, answer.high))
    said = f"To get {wish} you need {pluralize(step.total, 'row')}: {_each(plan, answer)}."
    said += f" It may be {low} to {high}: how much rows vary is itself a guess."
    if answer.allocation == "fewest":
        said += f"\n{_saving(plan, answer)}"
    widest = int(step.width.argmax())
    if answer.goal.kind == "width" and step.width[widest] > 1.1 * answer.goal.wish:
        name = escape_control_characters(plan.evidence.models[widest])
        said += f"\nThat is the typical width; the widest, of {name}, is {step.width[widest]:.3f}."
    return said


def _each(plan: Plan, answer: RequiredRows) -> str:
    rows = answer.expected.rows
    if (rows == rows[0]).all():
        return f"{rows[0]:,.0f} a model"
    return ", ".join(
        f"{escape_control_characters(name)} {n:,.0f}" for name, n in zip(plan.evidence.models, rows, strict=True)
    )


def _saving(plan: Plan, answer: RequiredRows) -> str:
    if (answer.propensity == answer.propensity[0]).all():
        return "No allocation that was tried saves rows worth mentioning; draw all models with the same propensity."
    drawn = (
        f"{escape_control_characters(m)} {p:.3f}" for m, p in zip(plan.evidence.models, answer.propensity, strict=True)
    )
    fewer = format_percent(answer.saved, 0)
    equal = "" if answer.even is None else f" against {answer.even:,} with equal ones ({fewer} fewer)"
    return f"Draw with the propensities {', '.join(drawn)}:{equal}."


def _within(plan: Plan) -> str:
    return f", or one at most {plan.within:g} worse," if plan.within > 0 else ""


def _overview(plan: Plan, lines: Sequence[PlanRow]) -> str:
    middle = lines[len(lines) // 2].expected
    return (
        f"With {pluralize(middle.total, 'row')} intervals are typically ±{middle.typical / 2:.3f} "
        f"({format_percent(plan.level)}), the best model{_within(plan)} is chosen with probability {middle.best:.2f}, "
        f"and the expected regret is {middle.regret:.4f}."
    )


def _table(lines: Sequence[PlanRow]) -> str:
    rows = [("rows a model", "rows in all", "width", "best", "regret")]
    for line in lines:
        step, low, high = line.expected, line.low, line.high
        each = step.total / len(step.rows)
        rows.append(
            (
                f"{each:,.0f}",
                f"{step.total:,}",
                f"{step.typical:.3f} ({low.typical:.3f}-{high.typical:.3f})",
                f"{step.best:.2f} ({high.best:.2f}-{low.best:.2f})",
                f"{step.regret:.4f} ({low.regret:.4f}-{high.regret:.4f})",
            )
        )
    sizes = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(n) for cell, n in zip(row, sizes, strict=True)) for row in rows)


def _rests_on(plan: Plan) -> str:
    known = plan.evidence
    left = 1 - known.row.sum() / known.outcome.sum()
    return (
        f"From {SOURCES[known.source].format(rows=known.rows)}: outcomes vary by {np.sqrt(known.outcome.mean()):.3f} "
        f"within a model, of which the reward explains {format_percent(left, 0)}. Rows are all randomized rows"
        f"{', the pilot among them if it was drawn alike' if known.rows else ''}; in brackets what variances "
        f"{known.variance_range[0]:.2f} to {known.variance_range[1]:.2f} times as large would give."
    )


def _curve(lines: Sequence[PlanRow]) -> str:
    """Typical width as bars."""
    top = max(line.expected.typical for line in lines)
    sizes = [f"{line.expected.total / len(line.expected.rows):,.0f}" for line in lines]
    room = max(map(len, sizes))
    bars = [
        f"{size.rjust(room)} {'#' * max(round(BAR * n.expected.typical / top), 1)} {n.expected.typical:.3f}"
        for size, n in zip(sizes, lines, strict=True)
    ]
    return "\n".join(["Width by rows a model", *bars])
