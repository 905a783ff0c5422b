"""Refuse studies that are too small to compare models, or too large to be evaluated."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.data import Study
from deconfound.errors import EvidenceError, UsageError
from deconfound.formatting import format_percent, pluralize
from deconfound.long_experiment import MAX_FEATURE_COLUMNS, MAX_MODELS, max_rows
from deconfound.reward import Family
from deconfound.value import MIN_ROWS_PER_MODEL, Values

MIN_EXPERIMENT_ROWS = 10  # below five rows for each of two models, intervals of yes/no outcomes span the whole scale
MIN_COMPARED_MODELS = 2  # with rows in the experiment
MAX_USEFUL_WIDTH = 0.8  # of the narrowest interval; wider ones exclude next to nothing on a scale from 0 to 1
NEEDED = (
    "Values within ±10 % of the scale need about 100 rows per model for yes/no outcomes, and 25 for ratings; "
    "`deconfound plan` computes it for your data."
)


def require_rows(rows_per_model: Sequence[int], source: str) -> None:
    """Refuse an experiment with next to no rows; ``source`` names it in the message."""
    if max(rows_per_model) < MIN_ROWS_PER_MODEL:
        raise EvidenceError(
            f"{source}: no model has {MIN_ROWS_PER_MODEL} or more rows, so no value can be estimated. "
            "Randomize more contexts."
        )
    if sum(rows >= MIN_ROWS_PER_MODEL for rows in rows_per_model) < MIN_COMPARED_MODELS:
        raise EvidenceError(
            f"{source}: only one model has {MIN_ROWS_PER_MODEL} or more rows, so models cannot be compared. "
            "Draw every model at random in the experiment."
        )
    total = sum(rows_per_model)
    if total < MIN_EXPERIMENT_ROWS:
        raise EvidenceError(f"{source}: {pluralize(total, 'randomized row')} cannot compare models. {NEEDED}")


def require_feasible_size(study: Study, family: Family) -> None:
    """Refuse an experiment with more rows than a family can be fitted to, before any work starts."""
    rows, limit = len(study.experiment), max_rows(study, family)
    if rows <= limit:
        return
    reason = f" with so many models or feature columns (at most {MAX_MODELS} and {MAX_FEATURE_COLUMNS:,} for more rows)"
    raise UsageError(
        f"{study.experiment.source}: {rows:,} randomized rows are too many for the family {family.name}, which takes "
        f"at most {limit:,}{reason * (limit < family.max_experiment_rows)}. Evaluate a random sample of the contexts."
    )


def require_information(values: Values, rows: int, level: float) -> None:
    """Refuse values whose intervals all span most of the scale."""
    interval = values.interval(level)
    narrowest = float((interval[:, 1] - interval[:, 0]).min())
    if narrowest > MAX_USEFUL_WIDTH:
        raise EvidenceError(
            f"{pluralize(rows, 'randomized row')} cannot compare models: the narrowest {format_percent(level)} "
            f"interval of a value spans {format_percent(narrowest, 0)} of the scale. {NEEDED}"
        )
