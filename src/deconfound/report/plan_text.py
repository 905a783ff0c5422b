"""A plan as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound.escaping import escape_name
from deconfound.formatting import (
    format_percent,
    pluralize,
    text_table,
    wrap,
)
from deconfound.planning.allocation import MAX_ROWS, MIN_SAVING
from deconfound.planning.experiment_plan import Plan, PlanRow, RequiredRows, UnreachableGoalError
from deconfound.planning.forecast import Projection
from deconfound.planning.inputs import PlanInputs
from deconfound.report.plan_document import plan_findings
from deconfound.report.scale import UNIT, Scale

BAR_CHARACTERS = 40  # of the longest bar
MAX_NEGLIGIBLE_DESIGN_EFFECT = 1.005  # in either direction; it is then printed as 1.00 and needs no explanation
NOTABLY_WIDER = 1.1  # the widest interval is reported if it exceeds the target by this factor
UNIT_SCALE = "on a scale from 0 to 1, the worst and the best outcome"
HEADINGS = ("rows per model", "total rows", "interval width", "P(best selected)", "expected regret")


def plan_text(
    plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow], scale: Scale = UNIT, *, show_bars: bool
) -> str:
    """The answer first, then the table, then what it is based on."""
    parts = [_answer(plan, answer, scale) for answer in answers] or [_overview(plan, rows, scale)]
    meaning = f"Widths, standard deviations and regret are {scale.description or UNIT_SCALE}."
    parts += [_table(plan, answers, rows, scale), f"{_assumptions(plan.inputs, scale)}\n{meaning}"]
    if show_bars:
        parts.append(_width_bars(rows, scale))
    findings = plan_findings(plan.inputs)
    if findings:
        parts.append("\n".join(["Warnings", *(f"  {f.message} {f.remedy}" for f in findings)]))
    return wrap("\n\n".join(parts)) + "\n"


def unreachable_text(error: UnreachableGoalError, scale: Scale) -> str:
    """Why a target is out of reach, on the user's scale."""
    if error.goal.kind == "best":
        return str(error)
    return error.explain(lambda number: scale.with_unit(f"{abs(scale.width) * number:.3g}"))


def _answer(plan: Plan, answer: RequiredRows, scale: Scale) -> str:
    target = answer.goal.target
    on_scale = abs(scale.width) * target
    purpose = {
        "width": f"For {format_percent(plan.level)} intervals of ±{scale.with_unit(f'{on_scale / 2:g}')}",
        "best": f"To select {_best_model(plan, scale)} with probability {target:g}",
        "regret": f"For an expected regret of at most {scale.with_unit(f'{on_scale:g}')}",
    }[answer.goal.kind]
    total = pluralize(answer.expected.total_rows, "randomized row")
    lines = [f"{purpose} you need {total}: {_rows_per_model(plan, answer)}."]
    if answer.low != answer.high:
        low, high = (f"more than {MAX_ROWS:,}" if n is None else f"{n:,}" for n in (answer.low, answer.high))
        lines.append(f"Plausible range {low} to {high} rows, because the variance is itself uncertain.")
    if answer.goal.kind != "width":
        spread = scale.with_unit(scale.difference(_spread_of_values(plan.inputs)))
        lines.append(f"This expects the models' true values to differ by a standard deviation of {spread}.")
    if answer.allocation == "optimal":
        lines.append(_allocation_saving(plan, answer))
    widest = int(answer.expected.widths.argmax())
    width = answer.expected.widths[widest]
    if answer.goal.kind == "width" and width > NOTABLY_WIDER * target:
        name = escape_name(plan.inputs.models[widest])
        widest_width = scale.with_unit(scale.difference(width))
        lines.append(
            f"The target is the root mean square width; the widest interval, of {name}, is {widest_width} wide."
        )
    return "\n".join(lines)


def _spread_of_values(inputs: PlanInputs) -> float:
    """Root mean square over the prior of the standard deviation between the models' true values."""
    count = len(inputs.models)
    if count < 2:
        return 0.0
    centering = np.eye(count) - 1 / count
    squares = np.trace(centering @ inputs.prior.covariance) + inputs.prior.mean @ centering @ inputs.prior.mean
    return float(np.sqrt(squares / (count - 1)))


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


def _best_model(plan: Plan, scale: Scale) -> str:
    tolerance = scale.with_unit(f"{abs(scale.width) * plan.tolerance:g}")
    return "the best model" + (f" or one at most {tolerance} worse" if plan.tolerance > 0 else "")


def _overview(plan: Plan, rows: Sequence[PlanRow], scale: Scale) -> str:
    middle = rows[len(rows) // 2].expected
    half_width = scale.with_unit(scale.difference(middle.rms_width / 2))
    regret = scale.with_unit(scale.fine_difference(middle.expected_regret))
    return (
        f"With {pluralize(middle.total_rows, 'randomized row')} ({middle.rows_per_model:,.0f} per model), "
        f"{format_percent(plan.level)} intervals are typically ±{half_width}. The model with the best estimate is "
        f"{_best_model(plan, scale)} with probability {middle.probability_best:.2f}; its expected regret is {regret}."
    )


def _table(plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow], scale: Scale) -> str:
    width, regret = scale.difference, scale.fine_difference
    cells = [HEADINGS]
    for row in rows:
        expected, low, high = row.expected, row.low, row.high
        narrowest, widest = row.width_limits
        cells.append(
            (
                f"{expected.rows_per_model:,.0f}",
                f"{expected.total_rows:,}",
                f"{width(expected.rms_width)} ({width(narrowest)}-{width(widest)})",
                f"{expected.probability_best:.2f} ({high.probability_best:.2f}-{low.probability_best:.2f})",
                f"{regret(expected.expected_regret)} ({regret(low.expected_regret)}-{regret(high.expected_regret)})",
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


def _assumptions(inputs: PlanInputs, scale: Scale) -> str:
    basis = {
        "pilot": f"Estimated from {pluralize(inputs.pilot_rows, 'pilot row')}",
        "log": "Estimated from log and replay, without randomized rows",
        "assumed": "Assumed",
    }[inputs.source]
    r2 = 1 - inputs.residual_variance.sum() / inputs.outcome_variance.sum()
    sd = scale.with_unit(scale.difference(float(np.sqrt(inputs.within_model_variance.mean()))))
    low, high = inputs.variance_factor_interval
    explained = f"the reward explains {format_percent(r2, 0)} of their variance (R²)"
    lines = [f"{basis}: within-model SD of the outcomes {sd}; {explained}.", *_design_effect_lines(inputs)]
    pilot = " Pilot rows count toward them if they were randomized with the same propensities."
    lines.append(f"Row counts include every randomized row.{pilot if inputs.pilot_rows else ''}")
    lines.append(f"In brackets: the same with {low:.2f} and {high:.2f} times the variance.")
    lines.append("Expected regret: how much worse the selected model is than the best one, on average.")
    return "\n".join(lines)


def _design_effect_lines(inputs: PlanInputs) -> list[str]:
    effect = inputs.design_effect
    if abs(effect - 1) <= MAX_NEGLIGIBLE_DESIGN_EFFECT - 1:
        return []
    factor = f"variances are {effect:.2f} times those of unrelated rows with equal weights"
    return [
        f"Design effect {effect:.2f}: because users repeat or propensities vary, {factor}. If a few users have most of "
        "the rows, intervals are wider still. This assumes as many rows per user as in the pilot."
    ]


def _width_bars(rows: Sequence[PlanRow], scale: Scale) -> str:
    """Interval widths as a bar chart in text."""
    longest = max(row.expected.rms_width for row in rows)
    labels = [f"{row.expected.rows_per_model:,.0f}" for row in rows]
    indent = max(map(len, labels))
    bars = [
        f"{label.rjust(indent)} {'#' * max(round(BAR_CHARACTERS * row.expected.rms_width / longest), 1)} "
        f"{scale.difference(row.expected.rms_width)}"
        for label, row in zip(labels, rows, strict=True)
    ]
    unit = f" in {scale.difference_unit}" if scale.difference_unit else ""
    return "\n".join([f"Interval width{unit} by rows per model", *bars])
