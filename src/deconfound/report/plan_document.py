"""A plan as one JSON document, and why to take it with caution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deconfound import __version__
from deconfound.findings import Finding, Notice, finding_to_document
from deconfound.formatting import format_percent, join_names
from deconfound.planning.experiment_plan import Plan, PlanRow, RequiredRows
from deconfound.planning.forecast import Projection
from deconfound.planning.from_log import DIFFERENCE_RETENTION, EXPLAINED_RETENTION
from deconfound.planning.inputs import MIN_PILOT_ROWS, PlanInputs
from deconfound.report.scale import UNIT, Scale
from deconfound.value.mean_weights import MIN_ROWS_PER_MODEL

SCHEMA = 4
TARGET_DIGITS = 12  # of a target: more would show that it was divided and multiplied by the width of the scale


def plan_document(
    plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow], scale: Scale = UNIT
) -> dict[str, Any]:
    """Every number of the plan, on the user's scale; row counts beyond the maximum are null."""
    inputs, width = plan.inputs, abs(scale.width)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "scale": "outcome_range",
        "outcome_range": [scale.low, scale.high],
        "outcome_unit": scale.unit,
        "level": plan.level,
        "tolerance": _target(plan.tolerance, width),
        "extra_contexts": plan.extra_contexts,
        "models": list(inputs.models),
        "inputs": {
            "source": inputs.source,
            "pilot_rows": inputs.pilot_rows,
            "rows_per_model": list(inputs.rows_per_model),
            "outcome_sd": (width * np.sqrt(inputs.within_model_variance)).tolist(),
            "residual_sd": (width * np.sqrt(inputs.residual_variance / inputs.design_effect)).tolist(),
            "design_effect": inputs.design_effect,
            "value_mean": (scale.low + scale.width * inputs.prior.mean).tolist(),
            "value_sd": (width * np.sqrt(np.diag(inputs.prior.covariance))).tolist(),
            "variance_factor_interval": list(inputs.variance_factor_interval),
        },
        "answers": [_answer_document(answer, width) for answer in answers],
        "table": [
            {name: _projection_document(getattr(row, name), width) for name in ("expected", "low", "high")}
            for row in rows
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


def _answer_document(answer: RequiredRows, width: float) -> dict[str, Any]:
    goal = answer.goal
    return {
        "goal": goal.kind,
        "target": goal.target if goal.kind == "best" else _target(goal.target, width),
        "allocation": answer.allocation,
        "propensity": answer.propensity.tolist(),
        "expected": _projection_document(answer.expected, width),
        "low": answer.low,
        "high": answer.high,
        "equal_allocation_rows": answer.equal_allocation_rows,
        "saving": answer.saving,
    }


def _projection_document(projection: Projection, width: float) -> dict[str, Any]:
    return {
        "rows": projection.rows.tolist(),
        "total_rows": projection.total_rows,
        "rms_width": width * projection.rms_width,
        "widths": (width * projection.widths).tolist(),
        "probability_best": projection.probability_best,
        "expected_regret": width * projection.expected_regret,
    }


def _target(target: float, width: float) -> float:
    """A target as the user gave it."""
    return target if width == 1.0 else float(f"{width * target:.{TARGET_DIGITS}g}")
