"""A plan as text and as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deconfound import __version__
from deconfound.design import FloatArray
from deconfound.escaping import escape_name
from deconfound.findings import Finding, Notice, finding_to_document
from deconfound.formatting import (
    format_percent,
    join_names,
    pluralize,
    text_table,
    wrap,
)
from deconfound.planning.allocation import MAX_ROWS, MIN_SAVING
from deconfound.planning.experiment_plan import Plan, PlanRow, RequiredRows
from deconfound.planning.forecast import Projection
from deconfound.planning.from_log import DIFFERENCE_RETENTION, EXPLAINED_RETENTION
from deconfound.planning.inputs import MIN_PILOT_ROWS, PlanInputs
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL

SCHEMA = 3
BAR_CHARACTERS = 40  # of the longest bar
MAX_NEGLIGIBLE_DESIGN_EFFECT = 1.005  # in either direction; it is then printed as 1.00 and needs no explanation
NOTABLY_WIDER = 1.1  # the widest interval is reported if it exceeds the target by this factor
UNIT_SCALE = "Widths, standard deviations and regret are on a scale from 0 to 1, the worst and the best outcome."
HEADINGS = ("rows per model", "total rows", "interval width", "P(best selected)", "expected regret")


def plan_text(plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow], *, show_bars: bool) -> str:
    """The answer first, then the table, then what it is based on."""
    parts = [_answer(plan, answer) for answer in answers] or [_overview(plan, rows)]
    parts += [_table(plan, answers, rows), f"{_assumptions(plan.inputs)}\n{UNIT_SCALE}"]
    if show_bars:
        parts.append(_width_bars(rows))
    findings = plan_findings(plan.inputs)
    if findings:
        parts.append("\n".join(["Warnings", *(f"  {f.message} {f.remedy}" for f in findings)]))
    return wrap("\n\n".join(parts)) + "\n"


def plan_document(plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow]) -> dict[str, Any]:
    """Every number of the plan; row counts beyond the maximum are null."""
    inputs = plan.inputs
    return {
        "schema": SCHEMA,
        "version": __version__,
        "level": plan.level,
        "tolerance": plan.tolerance,
        "extra_contexts": plan.extra_contexts,
        "models": list(inputs.models),
        "inputs": {
            "source": inputs.source,
            "pilot_rows": inputs.pilot_rows,
            "rows_per_model": list(inputs.rows_per_model),
            "outcome_sd": np.sqrt(inputs.within_model_variance).tolist(),
            "residual_sd": np.sqrt(inputs.residual_variance / inputs.design_effect).tolist(),
            "design_effect": inputs.design_effect,
            "value_mean": inputs.prior.mean.tolist(),
            "value_sd": np.sqrt(np.diag(inputs.prior.covariance)).tolist(),
            "variance_factor_interval": list(inputs.variance_factor_interval),
        },
        "answers": [_answer_document(answer) for answer in answers],
        "table": [
            {name: _projection_document(getattr(row, name)) for name in ("expected", "low", "high")} for row in rows
        ],
        "findings": [finding_to_document(finding) for finding in plan_findings(inputs)],
    }


def plan_findings(inputs: PlanInputs) -> tuple[Finding, ...]:
    """Why to take the plan with caution."""
    sparse = join_names(inputs.sparse_models)
    if inputs.source == "pilot":
        few = (
            f"{inputs.source_name}: fewer than {MIN_PILOT_ROWS} pilot rows for {sparse}; their variances are estimated "
            "mainly from the other models."
        )
        return (
            (Finding("small pilot", "warn", Notice(few, "Plan again when more rows are available.")),) if sparse else ()
        )
    if inputs.source == "assumed":
        return ()
    unrandomized = (
        f"{inputs.source_name}: no randomized rows. The plan assumes that {format_percent(EXPLAINED_RETENTION)} of the "
        f"reward's R² in the log and {format_percent(DIFFERENCE_RETENTION)} of the differences between the log's means "
        "remain under randomization. Confounding can hide differences or show false ones, so the probability of "
        "selecting the best model may be far off."
    )
    no_pilot = Finding(
        "no pilot", "warn", Notice(unrandomized, "Randomize 10 rows per model and plan again with --experiment.")
    )
    if not sparse:
        return (no_pilot,)
    few = f"{inputs.source_name}: fewer than {MIN_ROWS_PER_MODEL} log rows for {sparse}."
    return no_pilot, Finding(
        "models without log rows", "warn", Notice(few, "Their variance is assumed to equal that of the other models.")
    )


def _answer_document(answer: RequiredRows) -> dict[str, Any]:
    return {
        "goal": answer.goal.kind,
        "target": answer.goal.target,
        "allocation": answer.allocation,
        "propensity": answer.propensity.tolist(),
        "expected": _projection_document(answer.expected),
        "low": answer.low,
        "high": answer.high,
        "equal_allocation_rows": answer.equal_allocation_rows,
        "saving": answer.saving,
    }


def _projection_document(projection: Projection) -> dict[str, Any]:
    return {
        "rows": projection.rows.tolist(),
        "total_rows": projection.total_rows,
        "rms_width": projection.rms_width,
        "widths": projection.widths.tolist(),
        "probability_best": projection.probability_best,
        "expected_regret": projection.expected_regret,
    }


def _answer(plan: Plan, answer: RequiredRows) -> str:
    target = answer.goal.target
    purpose = {
        "width": f"For {format_percent(plan.level)} intervals of ±{target / 2:g}",
        "best": f"To select {_best_model(plan)} with probability {target:g}",
        "regret": f"For an expected regret of at most {target:g}",
    }[answer.goal.kind]
    total = pluralize(answer.expected.total_rows, "randomized row")
    lines = [f"{purpose} you need {total}: {_rows_per_model(plan, answer)}."]
    if answer.low != answer.high:
        low, high = (f"more than {MAX_ROWS:,}" if n is None else f"{n:,}" for n in (answer.low, answer.high))
        lines.append(f"Plausible range {low} to {high} rows, because the variance is itself uncertain.")
    if answer.allocation == "optimal":
        lines.append(_allocation_saving(plan, answer))
    widest = int(answer.expected.widths.argmax())
    width = answer.expected.widths[widest]
    if answer.goal.kind == "width" and width > NOTABLY_WIDER * target:
        name = escape_name(plan.inputs.models[widest])
        lines.append(f"The target is the root mean square width; the widest interval, of {name}, is {width:.3f} wide.")
    return "\n".join(lines)


def _rows_per_model(plan: Plan, answer: RequiredRows) -> str:
    rows = answer.expected.rows
    if _all_equal(rows):
        return f"{rows[0]:,.0f} per model"
    pairs = zip(plan.inputs.models, rows, strict=True)
    return ", ".join(f"{escape_name(name)} {number:,.0f}" for name, number in pairs)


def _allocation_saving(plan: Plan, answer: RequiredRows) -> str:
    if _all_equal(answer.propensity):
        return f"Unequal allocation saves less than {format_percent(MIN_SAVING)}; use equal propensities."
    propensities = _named_shares(plan, answer.propensity)
    if answer.equal_allocation_rows is None:
        return f"Propensities: {propensities}."
    fewer = f"{format_percent(answer.saving, 0)} fewer than the {answer.equal_allocation_rows:,} rows of equal ones"
    return f"Propensities: {propensities} ({fewer})."


def _named_shares(plan: Plan, shares: FloatArray) -> str:
    pairs = zip(plan.inputs.models, shares, strict=True)
    return ", ".join(f"{escape_name(name)} {share:.3f}" for name, share in pairs)


def _all_equal(numbers: FloatArray) -> bool:
    return bool((numbers == numbers[0]).all())


def _best_model(plan: Plan) -> str:
    return "the best model" + (f" or one at most {plan.tolerance:g} worse" if plan.tolerance > 0 else "")


def _overview(plan: Plan, rows: Sequence[PlanRow]) -> str:
    middle = rows[len(rows) // 2].expected
    return (
        f"With {pluralize(middle.total_rows, 'randomized row')} ({middle.rows_per_model:,.0f} per model), "
        f"{format_percent(plan.level)} intervals are typically ±{middle.rms_width / 2:.3f}. The model with the highest "
        f"estimate is {_best_model(plan)} with probability {middle.probability_best:.2f}; its expected regret is "
        f"{middle.expected_regret:.4f}."
    )


def _table(plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow]) -> str:
    cells = [HEADINGS]
    for row in rows:
        expected, low, high = row.expected, row.low, row.high
        cells.append(
            (
                f"{expected.rows_per_model:,.0f}",
                f"{expected.total_rows:,}",
                f"{expected.rms_width:.3f} ({low.rms_width:.3f}-{high.rms_width:.3f})",
                f"{expected.probability_best:.2f} ({high.probability_best:.2f}-{low.probability_best:.2f})",
                f"{expected.expected_regret:.4f} ({low.expected_regret:.4f}-{high.expected_regret:.4f})",
            )
        )
    caption = _table_caption(plan, answers, rows[-1].expected)
    return "\n".join([*caption, text_table(cells)])


def _table_caption(plan: Plan, answers: Sequence[RequiredRows], largest: Projection) -> list[str]:
    """Which propensities the table is for, if they are unequal or if answers differ in theirs."""
    share = largest.rows / largest.rows.sum()
    if not _all_equal(largest.rows):
        return [f"With propensities {_named_shares(plan, share)}:"]
    return ["With equal propensities:"] if any(not _all_equal(answer.propensity) for answer in answers) else []


def _assumptions(inputs: PlanInputs) -> str:
    basis = {
        "pilot": f"Estimated from {pluralize(inputs.pilot_rows, 'pilot row')}",
        "log": "Estimated from log and replay, without randomized rows",
        "assumed": "Assumed",
    }[inputs.source]
    r2 = 1 - inputs.residual_variance.sum() / inputs.outcome_variance.sum()
    sd = np.sqrt(inputs.within_model_variance.mean())
    low, high = inputs.variance_factor_interval
    explained = f"the reward explains {format_percent(r2, 0)} of their variance (R²)"
    lines = [f"{basis}: within-model SD of the outcomes {sd:.3f}; {explained}.", *_design_effect_lines(inputs)]
    pilot = " Pilot rows count toward them if they were randomized with the same propensities."
    lines.append(f"Row counts include every randomized row.{pilot if inputs.pilot_rows else ''}")
    lines.append(f"In brackets: the same with {low:.2f} and {high:.2f} times the variance.")
    lines.append("Expected regret: how far the selected model's value is below that of the best model, on average.")
    return "\n".join(lines)


def _design_effect_lines(inputs: PlanInputs) -> list[str]:
    effect = inputs.design_effect
    if abs(effect - 1) <= MAX_NEGLIGIBLE_DESIGN_EFFECT - 1:
        return []
    factor = f"you need {effect:.2f} times the rows that unrelated rows with equal weights would need"
    return [
        f"Design effect {effect:.2f}: because users repeat or propensities vary, {factor}. "
        "This assumes as many rows per user as in the pilot."
    ]


def _width_bars(rows: Sequence[PlanRow]) -> str:
    """Interval widths as a bar chart in text."""
    longest = max(row.expected.rms_width for row in rows)
    labels = [f"{row.expected.rows_per_model:,.0f}" for row in rows]
    indent = max(map(len, labels))
    bars = [
        f"{label.rjust(indent)} {'#' * max(round(BAR_CHARACTERS * row.expected.rms_width / longest), 1)} "
        f"{row.expected.rms_width:.3f}"
        for label, row in zip(labels, rows, strict=True)
    ]
    return "\n".join(["Interval width by rows per model", *bars])
