"""Numbers that no evaluation can have produced: a saved result that contains one is damaged, whatever its checksum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np

from deconfound.data import ReadingChoices
from deconfound.data.cross_table import MAX_MODELS
from deconfound.decide.recommendation import Recommendation
from deconfound.design import FloatArray
from deconfound.errors import check_seed
from deconfound.loading.column_mapping import check_mapping
from deconfound.loading.ignored_columns import NEEDED
from deconfound.loading.reading_rules import MAX_UNIT_LENGTH
from deconfound.loading.table_scope import split_scope
from deconfound.report.segment_checks import check_segments
from deconfound.result import Result
from deconfound.value import Values
from deconfound.value.multiple_comparisons import check_level
from deconfound.value.sensitivity import Sensitivity

MAX_FINDINGS = 10_000
MAX_CHOICES = 100_000  # of names; as many columns as a table may have
LOWEST, HIGHEST = -2.0, 3.0  # of an estimate before cost: a mean in [0, 1] and a correction by up to two of it
UNBOUNDED = "paper"  # the method whose weights have no limit
RTOL = 1e-6
MAX_COUNT = 1e12  # of rows, and of what is counted or weighted by them


def check_result(result: Result) -> None:
    """Raise a ``ValueError`` or a ``UsageError`` at the first number that cannot be."""
    check_level(result.level)
    check_seed(result.seed)
    check_models(result.models)
    check_outcome_range(result.outcome_range)
    check_outcome_unit(result.outcome_unit)
    for place, values in _all_values(result):
        check_values(values, place)
    for row in result.recommendations:
        _check_recommendation(row, result.models)
    for table in (result.counts.log, result.counts.experiment, result.counts.replay):
        counts = (table.rows, table.contexts, *table.rows_per_model)
        if not 0 <= min(counts) <= max(counts) <= MAX_COUNT:
            raise ValueError(f"{table.source} has a number of rows that cannot be")
    for one in result.sensitivity:
        _check_sensitivity(one, result.models)
    if not 0.0 <= result.family.surface_share <= 1.0:
        raise ValueError(f"surface_share is {result.family.surface_share}")
    check_segments(result)


def check_reading(reading: object) -> None:
    """Choices of names: columns that can be mapped, models that differ from their new names, ignored columns."""
    if not isinstance(reading, dict) or reading.keys() != {field.name for field in fields(ReadingChoices)}:
        raise ValueError("reading is not a set of choices")
    for name in ("columns", "rename_models"):
        pairs = reading[name]
        if not isinstance(pairs, dict) or len(pairs) > MAX_CHOICES or not all(map(is_name, (*pairs, *pairs.values()))):
            raise ValueError(f"{name} is not a mapping of names to names")
    check_mapping(reading["columns"])
    ignore = reading["ignore"]
    if not isinstance(ignore, list) or len(ignore) > MAX_CHOICES or not all(map(is_name, ignore)):
        raise ValueError("ignore is not a list of names")
    if any(split_scope(name)[1] in NEEDED for name in ignore):
        raise ValueError("ignore has a column that every study needs")
    if not isinstance(reading["normalize_contexts"], bool):
        raise TypeError("normalize_contexts is neither true nor false")


def is_name(text: object) -> bool:
    """Whether a name can be one of a column or a model."""
    return isinstance(text, str) and bool(text)


def check_models(models: Sequence[str]) -> None:
    """Names that differ, and not too many of them."""
    if not 0 < len(models) <= MAX_MODELS or len(set(models)) < len(models) or not all(models):
        raise ValueError("models are not names that differ")


def check_outcome_range(bounds: tuple[float, float]) -> None:
    """Two different finite numbers with a finite distance."""
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low != high and math.isfinite(high - low)):
        raise ValueError(f"outcome_range is {low} to {high}")


def check_outcome_unit(unit: object) -> None:
    """A short text."""
    if not isinstance(unit, str) or len(unit) > MAX_UNIT_LENGTH:
        raise ValueError("outcome_unit is no short text")


def check_values(values: Values, place: str) -> None:
    """Shapes, ranges, and covariances that can be."""
    count = len(values.models)
    for name in ("estimate", "df", "binomial_variance", "independent_rows", "interval_center", "reward_weight", "cost"):
        _check_shape(getattr(values, name), (count,), f"{place}.{name}")
    for name in ("covariance", "posterior_covariance", "difference_df_limit"):
        _check_shape(getattr(values, name), (count, count), f"{place}.{name}")
    for name in ("covariance", "posterior_covariance"):
        matrix = getattr(values, name)
        if matrix is not None:
            check_covariance(matrix, f"{place}.{name}")
    cost = np.zeros(count) if values.cost is None else values.cost
    require_within(cost, -np.inf, np.inf, f"{place}.cost")
    for name, array in (("estimate", values.estimate), ("interval_center", values.interval_center)):
        known = np.zeros(0) if array is None else (array + cost)[~np.isnan(array)]
        low, high = (-np.inf, np.inf) if UNBOUNDED in values.method else (LOWEST, HIGHEST)
        require_within(known, low, high, f"{place}.{name}")
    if np.isfinite(np.diag(values.covariance))[np.isnan(values.estimate)].any():
        raise ValueError(f"{place} has a variance without an estimate")
    for name in ("df", "difference_df_limit", "binomial_variance", "independent_rows"):
        array = getattr(values, name)
        if array is not None and ((array < 0) | (np.isfinite(array) & (array > MAX_COUNT))).any():
            raise ValueError(f"{place}.{name} is negative or too large")
    if values.reward_weight is not None and (np.abs(values.reward_weight) > MAX_COUNT).any():
        raise ValueError(f"{place}.reward_weight is too large")


def check_covariance(matrix: FloatArray, place: str) -> None:
    """Symmetric, with variances from zero to infinity and correlations from -1 to 1."""
    variance = np.diag(matrix)
    between = matrix[~np.eye(len(matrix), dtype=np.bool_)]
    if not ((variance >= 0).all() and np.isfinite(between).all() and np.allclose(matrix, matrix.T, rtol=RTOL)):
        raise ValueError(f"{place} is no covariance")
    known = np.isfinite(variance)
    require_within(variance[known], 0.0, MAX_COUNT, f"the variance in {place}")
    sd = np.sqrt(variance[known])
    if (
        np.abs(matrix[np.ix_(known, known)]) > (1 + RTOL) * np.outer(sd, sd) + RTOL * variance[known].max(initial=0)
    ).any():
        raise ValueError(f"{place} is no covariance")


def require_within(array: FloatArray, low: float, high: float, place: str) -> None:
    """Finite numbers between two limits."""
    if not (np.isfinite(array).all() and (array >= low).all() and (array <= high).all()):
        raise ValueError(f"{place} has numbers outside {low:g} to {high:g}")


def _all_values(result: Result) -> Iterator[tuple[str, Values]]:
    yield from ((name, getattr(result, name)) for name in ("values", "direct", "experiment", "raw_log"))
    if result.efficient is not None and result.efficient.result is not None:
        yield "efficient.values", result.efficient.result.values
        yield "efficient.doubly_robust", result.efficient.result.doubly_robust
    if result.missing is not None:
        yield "missing.lowest", result.missing.lowest
        yield "missing.highest", result.missing.highest
        if result.missing.weighted is not None:
            yield "missing.weighted", result.missing.weighted
    for one in result.segments:
        yield from ((f"segments.{segment.name[:20]}", segment.values) for segment in one.segments)


def _check_sensitivity(one: Sensitivity, models: Sequence[str]) -> None:
    named = (one.leader, one.rival, one.possible_rival)
    if not (set(named) <= set(models) and one.observed_model in (*models, "")):
        raise ValueError("a sensitivity has models that cannot be")
    if min(one.tipping_shift, one.best_set_shift) < 0 or one.observed_difference < 0:
        raise ValueError("a sensitivity has numbers that cannot be")


def _check_shape(array: FloatArray | None, expected: tuple[int, ...], place: str) -> None:
    if array is not None and array.shape != expected:
        raise ValueError(f"{place} has the shape {array.shape} instead of {expected}")


def _check_recommendation(row: Recommendation, models: Sequence[str]) -> None:
    shares = (row.q, row.low, row.high, row.error_probability_bound)
    others = (row.margin, row.margin_low, row.margin_high)
    if not (
        row.model in models
        and row.runner_up in models
        and all(0.0 <= share <= 1.0 for share in shares)
        and all(math.isfinite(number) for number in others)
        and row.expected_regret_bound >= 0
        and len(row.values) in (0, len(models))
        and all(math.isfinite(value) for value in row.values)
        and all(isinstance(name, str) for name in row.segments)
    ):
        raise ValueError("a recommendation has numbers or models that cannot be")
