"""Exposure tables of experimentation platforms: which unit saw which variant, and since when.

A call belongs to the experiment if its user, or else its conversation, was exposed before it. A unit with two variants
is left out, except in records of a bandit: it draws again for every decision and records the probability of each. The
variant says which model was drawn; a call that another model answered is counted apart.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, quote, shell_argument
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.convert import to_times
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.traces.call_table import CallSummary

UNIT_NAMES = (
    "user_id",
    "unit_id",
    "unit",
    "subject",
    "distinct_id",
    "context_key",
    "user",
    "session_id",
    "anonymous_id",
)
VARIANT_NAMES = (
    "variation_id",
    "variation",
    "experiment_group",
    "variant",
    "variation_value",
    "action",
    "arm",
    "group",
)
TIME_NAMES = ("timestamp", "first_exposure_utc", "time", "exposure_time", "created_at", "ts")
PROPENSITY_NAMES = ("actionprobability", "action_probability", "propensity", "probability")
WEIGHTS_NAMES = ("variation_weights",)
EXPERIMENT_NAMES = ("experiment_id", "experiment", "featureflag", "feature_flag", "flag_key", "name", "flagkey")


@dataclass(frozen=True, slots=True)
class Exposure:
    """One unit that saw one variant."""

    unit: str
    variant: str
    time: float  # seconds since 1970; minus infinity where the table has no times
    propensity: float | None


@dataclass(frozen=True, slots=True)
class ExposureTable:
    """All exposures of one experiment."""

    source: str
    exposures: tuple[Exposure, ...]
    per_decision: bool = False  # a bandit's records: a unit may get another variant at another time

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that occur, sorted."""
        return tuple(sorted({each.variant for each in self.exposures}))


def read_exposures(source: TableLike, experiment: str | None = None) -> ExposureTable:
    """Read an exposure table; of several experiments, the one that is named."""
    name = source_name(source, "exposures")
    raw = read_table(source, "exposures", name)
    columns = {normalize_name(column): column for column in raw.arrow.column_names}
    unit, variant = (_require(columns, names, raw) for names in (UNIT_NAMES, VARIANT_NAMES))
    rows = _rows_of_experiment(raw, _find(columns, EXPERIMENT_NAMES), experiment)
    times = _times(raw, _find(columns, TIME_NAMES))
    propensities = _propensities(raw, columns, variant)
    units, variants = (raw.texts(column) for column in (unit, variant))
    exposures = (Exposure(units[i], variants[i], times[i], propensities[i]) for i in rows if units[i] and variants[i])
    return ExposureTable(name, tuple(exposures), per_decision=_find(columns, PROPENSITY_NAMES) is not None)


@dataclass(frozen=True, slots=True, eq=False)
class ExposureJoin:
    """For each call the exposure that applies to it, and how many units were left out."""

    exposure: list[Exposure | None]
    switched_units: int  # units that saw two variants


def join_exposures(calls: Sequence[CallSummary], table: ExposureTable) -> ExposureJoin:
    """Match by user, or else by conversation."""
    by_unit: dict[str, list[Exposure]] = {}
    for each in table.exposures:
        by_unit.setdefault(each.unit, []).append(each)
    switched = {unit for unit, seen in by_unit.items() if _is_ambiguous(seen, per_decision=table.per_decision)}
    for seen in by_unit.values():
        seen.sort(key=lambda each: each.time)
    matched: list[Exposure | None] = []
    for call in calls:
        unit = next((name for name in (call.user, call.conversation) if name in by_unit), "")
        matched.append(None if not unit or unit in switched else _before(by_unit[unit], call.time))
    return ExposureJoin(matched, len(switched))


def models_by_variant(table: ExposureTable, models: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The model of each variant: as given, or of the same name; in doubt the user is asked."""
    names = {variant: given.get(variant, variant) for variant in table.variants}
    unknown = [variant for variant, model in names.items() if model not in models]
    if unknown:
        option = f"--variant {shell_argument(f'{unknown[0]}=MODEL')}"
        raise UsageError(
            f"{table.source}: which model does the variant {quote(unknown[0])} stand for? Say it with {option}, for "
            f"each of {join_names(unknown)}. The models are {join_names(models)}."
        )
    return names


def _is_ambiguous(seen: Sequence[Exposure], *, per_decision: bool) -> bool:
    """Whether a unit has two variants, of a bandit at the same time."""
    times = {each.time if per_decision else 0.0 for each in seen}
    return len({(each.time if per_decision else 0.0, each.variant) for each in seen}) > len(times)


def _before(seen: Sequence[Exposure], time: float | None) -> Exposure | None:
    """The latest exposure at or before a time; without a time, the only one there is."""
    if time is None:
        return seen[0] if seen[0].time == -math.inf else None
    at = bisect_right([each.time for each in seen], time)
    return seen[at - 1] if at else None


def _find(columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((columns[name] for name in names if name in columns), None)


def _require(columns: Mapping[str, str], names: Sequence[str], raw: RawTable) -> str:
    found = _find(columns, names)
    if found is None:
        what = f"there is none of the columns {join_names(names)}; the columns are {join_names(raw.arrow.column_names)}"
        raise DataError(
            [Problem(raw.source, what, "Rename the column with the unit, or with its variant, to one of them.")]
        )
    return found


def _rows_of_experiment(raw: RawTable, column: str | None, requested: str | None) -> list[int]:
    if column is None:
        return list(range(raw.arrow.num_rows))
    names = raw.texts(column)
    different = sorted(set(names))
    if requested is None and len(different) > 1:
        raise UsageError(
            f"{raw.source} has several experiments; choose one with --exposure-name: {join_names(different)}."
        )
    if requested is not None and requested not in different:
        raise UsageError(f"{raw.source} has no experiment {quote(requested)}; it has {join_names(different)}.")
    return [row for row, name in enumerate(names) if requested is None or name == requested]


def _times(raw: RawTable, column: str | None) -> list[float]:
    if column is None:
        return [-math.inf] * raw.arrow.num_rows
    problems: list[Problem] = []
    times = to_times(raw.column(column), problems)
    if problems:
        raise DataError(problems)
    return [float(time) for time in times]


def _propensities(raw: RawTable, columns: Mapping[str, str], variant: str) -> list[float | None]:
    """The probability of each row's variant: recorded itself, or the entry of the recorded weights."""
    recorded, weights = _find(columns, PROPENSITY_NAMES), _find(columns, WEIGHTS_NAMES)
    if recorded is not None:
        return [_probability(value) for value in raw.arrow[recorded].to_pylist()]
    if weights is None:
        return [None] * raw.arrow.num_rows
    pairs = zip(raw.arrow[weights].to_pylist(), raw.arrow[variant].to_pylist(), strict=True)
    return [_weight_at(value, index) for value, index in pairs]


def _weight_at(weights: object, index: object) -> float | None:
    try:
        listed = json.loads(weights) if isinstance(weights, str) else weights
        return _probability(listed[int(str(index))]) if isinstance(listed, list) else None
    except (ValueError, IndexError, RecursionError):
        return None


def _probability(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0.0 < number <= 1.0 else None
