"""How tables are to be read: what the options of a command line say about columns, rows, names and outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deconfound.data import ReadingChoices
from deconfound.errors import UsageError
from deconfound.loading.column_mapping import check_mapping
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.loading.row_condition import RowFilter, parse_filter

MAX_UNIT_LENGTH = 40
MIN_RANGE, MAX_RANGE_END = 1e-9, 1e12  # of --outcome-range; beyond them outcomes lose their digits


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """Names of columns, outcomes, rows to be read, columns to be ignored, and names of models."""

    columns: Mapping[str, str] = field(default_factory=dict)
    scale: OutcomeScale = field(default_factory=OutcomeScale)
    filters: tuple[RowFilter, ...] = ()
    ignore: tuple[str, ...] = ()
    rename_models: Mapping[str, str] = field(default_factory=dict)
    normalize_contexts: bool = False

    @classmethod
    def from_options(
        cls,
        *,
        columns: Mapping[str, str] | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_values: Mapping[str, float | None] | None = None,
        where: Sequence[str] | str = (),
        ignore: Sequence[str] | str = (),
        rename_models: Mapping[str, str] | None = None,
        normalize_contexts: bool = False,
    ) -> ReadingRules:
        """Read the options; those that no table could satisfy raise."""
        check_mapping(columns or {})
        check_range(outcome_range)
        conditions = [where] if isinstance(where, str) else where
        return cls(
            dict(columns or {}),
            OutcomeScale.from_values(outcome_range, outcome_values or {}),
            tuple(map(parse_filter, conditions)),
            (ignore,) if isinstance(ignore, str) else tuple(ignore),
            dict(rename_models or {}),
            normalize_contexts,
        )

    @property
    def choices(self) -> ReadingChoices:
        """What further tables of the study's kind are read with."""
        return ReadingChoices(self.columns, self.rename_models, self.ignore, self.normalize_contexts)


def check_range(outcome_range: tuple[float, float] | None) -> None:
    """Refuse ends that are equal, infinite, or so large or close that outcomes would lose their digits."""
    if outcome_range is None:
        return
    low, high = outcome_range
    if not (math.isfinite(low) and math.isfinite(high) and low != high):
        raise UsageError(f"--outcome-range {low:g} {high:g}: give two different finite numbers, the worst one first.")
    if abs(high - low) < MIN_RANGE or max(abs(low), abs(high)) > MAX_RANGE_END:
        raise UsageError(
            f"--outcome-range {low:g} {high:g}: the ends must be at least {MIN_RANGE:g} apart and lie between "
            f"{-MAX_RANGE_END:g} and {MAX_RANGE_END:g}."
        )


def check_unit(unit: str) -> str:
    """The unit without surrounding space; a long one would be repeated with every value."""
    if len(unit.strip()) > MAX_UNIT_LENGTH:
        raise UsageError(f"--outcome-unit has more than {MAX_UNIT_LENGTH} characters; give a short one, such as stars.")
    return unit.strip()
