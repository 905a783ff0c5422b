"""Tables beside the traces: feedback on these calls, exposures of their users, or why a similar table is neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import DataError, UsageError
from deconfound.escaping import readable_path
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.sources import read_table, source_name
from deconfound.traces.call_table import CallSummary
from deconfound.traces.exposures import UNIT_NAMES, VARIANT_NAMES, any_in_other_case, read_exposures
from deconfound.traces.feedback_table import Feedback, has_judgements, has_key, read_feedback


@dataclass(frozen=True, slots=True)
class ExposureMatch:
    """How an exposure table fits the calls."""

    units: int
    matched: int  # units that are users or conversations of the calls
    variants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideTables:
    """The files in no trace format, by what they are."""

    feedback: dict[str, Feedback]
    exposures: dict[str, ExposureMatch]
    unusable: dict[str, str]  # tables that look like feedback or exposures, and why they cannot be used
    unknown: tuple[str, ...]


def find_side_tables(paths: Sequence[Path], calls: Sequence[CallSummary]) -> SideTables:
    """Look at every file that no reader of traces knows."""
    found = SideTables({}, {}, {}, ())
    unknown = []
    for path in paths:
        name = readable_path(path)
        match = _match(path, calls)
        if isinstance(match, Feedback):
            found.feedback[name] = match
        elif isinstance(match, ExposureMatch):
            found.exposures[name] = match
        elif match:
            found.unusable[name] = match
        else:
            unknown.append(name)
    return SideTables(found.feedback, found.exposures, found.unusable, tuple(unknown))


def _match(path: Path, calls: Sequence[CallSummary]) -> Feedback | ExposureMatch | str:
    """What a file is; if neither, the reason, which is empty for a file that does not look like one of them."""
    try:
        raw = read_table(path, "outcomes", source_name(path, "outcomes"))
    except (DataError, UsageError):
        return ""
    names = {normalize_name(name) for name in raw.arrow.column_names}
    is_exposure = not names.isdisjoint(UNIT_NAMES) and not names.isdisjoint(VARIANT_NAMES)
    try:
        if has_key(raw, calls) and (has_judgements(names) or not is_exposure):
            return read_feedback(path, calls)
        if is_exposure:
            return _exposure_match(path, calls)
        if has_judgements(names):
            return read_feedback(path, calls)
    except (DataError, UsageError) as error:
        return str(error)
    return ""


def _exposure_match(path: Path, calls: Sequence[CallSummary]) -> ExposureMatch | str:
    table = read_exposures(path)
    units = {each.unit for each in table.exposures}
    matched = units & {name for call in calls for name in (call.user, call.conversation)}
    if not matched:
        source = source_name(path, "exposures")
        case = " They differ from one only in case." if any_in_other_case(units, calls) else ""
        return f"{source}: none of its {len(units):,} units is a user or a conversation of these calls.{case}"
    return ExposureMatch(len(units), len(matched), table.variants)
