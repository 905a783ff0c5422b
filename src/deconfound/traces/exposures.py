"""Exposure tables of experimentation platforms: which unit saw which variant, and since when.

A call belongs to the experiment if its user, or else its conversation, was exposed before it. A unit with two variants
is in no table from its first exposure on, except in records of a bandit: it draws again for every decision and records
the probability of each. The variant says which model was drawn; a call that another model answered is counted apart.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from deconfound.data.name_variants import NameVariants
from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, pluralize, quote, shell_argument
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.traces.call_table import CallSummary
from deconfound.traces.exposure_propensities import propensities_in, weights_in
from deconfound.traces.table_times import required_times

UnitLevel = Literal["user", "conversation"]

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
LEVELS: dict[str, UnitLevel] = {"user_id": "user", "user": "user", "session_id": "conversation"}
"""What units are, by the name of their column; other names do not say it."""
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
    place: str = ""  # in the table, for messages


@dataclass(frozen=True, slots=True)
class ExposureTable:
    """All exposures of one experiment."""

    source: str
    exposures: tuple[Exposure, ...]
    per_decision: bool = False  # a bandit's records: a unit may get another variant at another time
    propensity_name: str = ""  # of the column with probabilities; empty if there is none
    level: UnitLevel | None = None  # what units are; None if the name of their column does not say it

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
    units, variants = (raw.texts(column) for column in (unit, variant))
    chosen = _rows_of_experiment(raw, _find(columns, EXPERIMENT_NAMES), experiment)
    rows = [row for row in chosen if units[row] and variants[row]]
    times = _times(raw, _find(columns, TIME_NAMES))
    recorded, weights = _find(columns, PROPENSITY_NAMES), _find(columns, WEIGHTS_NAMES)
    propensities: dict[int, float | None] = {}
    if recorded is not None:
        propensities = propensities_in(raw, recorded, variants, rows)
    elif weights is not None:
        propensities = weights_in(raw, weights, variants, rows)
    exposures = tuple(
        Exposure(units[i], variants[i], times[i], propensities.get(i), raw.row_numbers.locate(name, i)) for i in rows
    )
    return ExposureTable(
        name,
        exposures,
        per_decision=recorded is not None,
        propensity_name=recorded or weights or "",
        level=LEVELS.get(normalize_name(unit)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ExposureJoin:
    """For each call the exposure that applies to it, and which were made by units that saw two variants."""

    exposure: list[Exposure | None]
    switched: list[bool]
    switched_units: int


def join_exposures(calls: Sequence[CallSummary], table: ExposureTable) -> ExposureJoin:
    """Match each call by its unit; a table that applies to no call at all raises."""
    by_unit: dict[str, list[Exposure]] = {}
    for each in table.exposures:
        by_unit.setdefault(each.unit, []).append(each)
    switched = {unit for unit, seen in by_unit.items() if _is_ambiguous(seen, per_decision=table.per_decision)}
    for seen in by_unit.values():
        seen.sort(key=lambda each: each.time)
    level = table.level or _level_of(by_unit.keys(), calls, table.source)
    units = [unit if (unit := _unit_of(call, level)) in by_unit else "" for call in calls]
    applies = [_before(by_unit[unit], call.time) if unit else None for unit, call in zip(units, calls, strict=True)]
    is_switched = [unit in switched and each is not None for unit, each in zip(units, applies, strict=True)]
    exposure = [None if out else each for out, each in zip(is_switched, applies, strict=True)]
    if calls and not any(exposure):
        raise _nothing_joined(calls, units, table, is_switched)
    return ExposureJoin(exposure, is_switched, len(switched))


def _unit_of(call: CallSummary, level: UnitLevel) -> str:
    """What a call was drawn for; a call without a user was drawn for its conversation."""
    return call.conversation if level == "conversation" else call.user or call.conversation


def _level_of(units: Collection[str], calls: Sequence[CallSummary], source: str) -> UnitLevel:
    """What units are by the calls of users that have their ids; both is an error."""
    of_users = [call for call in calls if call.user and call.user != call.conversation]
    matched = [call for call in of_users if call.conversation in units]
    if not matched:
        return "user"
    if not any(call.user in units for call in of_users):
        return "conversation"
    what = f"units such as {quote(matched[0].conversation)} are ids of conversations, and others are ids of users"
    raise DataError([Problem(source, what, "Name the column of units user_id or session_id.")])


def _nothing_joined(
    calls: Sequence[CallSummary], units: Sequence[str], table: ExposureTable, switched: Sequence[bool]
) -> DataError:
    """Why no call is of the experiment: ids that do not match, calls that came first, or units with two variants."""
    matched = [call.time for unit, call in zip(units, calls, strict=True) if unit]
    times = [time for time in matched if time is not None]
    early = len(times) - sum(switched)
    causes = []
    if any_in_other_case({each.unit for each in table.exposures}, calls):
        causes.append("units in the table differ from users only in case")
    elif len(matched) < len(calls):
        causes.append(f"{pluralize(len(calls) - len(matched), 'call')} are of no user or conversation in the table")
    if early and table.exposures:
        first, last = min(each.time for each in table.exposures), max(times)
        causes.append(
            f"{pluralize(early, 'call')} were made before their user was exposed (the exposures begin {_date(first)}, "
            f"the calls end {_date(last)})"
        )
    if len(times) < len(matched):
        causes.append(f"{pluralize(len(matched) - len(times), 'call')} have no time")
    if any(switched):
        causes.append(f"{pluralize(sum(switched), 'call')} are of users with two variants")
    fix = "Give the exposures of these calls, with ids as the traces have them and times in UTC."
    return DataError([Problem(table.source, f"no call belongs to the experiment: {'; '.join(causes)}", fix)])


def any_in_other_case(units: Collection[str], calls: Sequence[CallSummary]) -> bool:
    """Whether a unit is no user or conversation, and is one in capital or small letters."""
    names = {name for call in calls for name in (call.user, call.conversation) if name}
    folded = {name.casefold() for name in names}
    return any(unit not in names and unit.casefold() in folded for unit in units)


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="minutes")
    except (OverflowError, ValueError, OSError):
        return f"at {seconds:g}"


def models_by_variant(table: ExposureTable, models: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The model of each variant: as given, or of the same name; in doubt the user is asked."""
    names = {variant: given.get(variant, variant) for variant in table.variants}
    unknown = [variant for variant, model in names.items() if model not in models]
    missing = [variant for variant in unknown if variant in given]
    if missing:
        variant, model = missing[0], given[missing[0]]
        raise UsageError(
            f"--variant {shell_argument(f'{variant}={model}')}: {quote(model)} is no model of these calls"
            f"{_meant(model, models)}. The models are {join_names(models)}."
        )
    if unknown:
        option = f"--variant {shell_argument(f'{unknown[0]}=MODEL')}"
        raise UsageError(
            f"{table.source}: which model does the variant {quote(unknown[0])} stand for? Say it with {option}, for "
            f"each of {join_names(unknown)}{_meant(unknown[0], models)}. The models are {join_names(models)}."
        )
    return names


def _meant(name: str, models: Sequence[str]) -> str:
    """A model that is written a little differently, for the middle of a sentence; empty if there is none."""
    variant = NameVariants(models).find(name)
    return "" if variant is None else f" ({quote(name)} {variant.description})"


def _is_ambiguous(seen: Sequence[Exposure], *, per_decision: bool) -> bool:
    """Whether a unit has two variants, of a bandit at the same time."""
    times = {each.time if per_decision else 0.0 for each in seen}
    return len({(each.time if per_decision else 0.0, each.variant) for each in seen}) > len(times)


def _before(seen: Sequence[Exposure], time: float | None) -> Exposure | None:
    """The latest exposure at or before a time; without a time, the only one there is."""
    if time is None:
        return seen[0] if seen[0].time == -math.inf else None
    at = bisect_right(seen, time, key=lambda each: each.time)
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
    return [-math.inf] * raw.arrow.num_rows if column is None else required_times(raw.column(column))
