"""--ignore: columns that are not to be used, by the user's name for them or by the canonical one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from deconfound.errors import Problem, UsageError
from deconfound.formatting import did_you_mean, join_names, quote
from deconfound.loading.column_mapping import ALIASES, matching_columns
from deconfound.loading.raw import RawTable
from deconfound.loading.table_scope import in_scope, split_scope

NEEDED = ("model", "outcome")


def ignored_columns(
    raws: Mapping[str, RawTable], ignore: Sequence[str], problems: list[Problem]
) -> dict[str, frozenset[str]]:
    """The columns of each table that --ignore names; a name without a column is a problem."""
    ignored: dict[str, frozenset[str]] = {role: frozenset() for role in raws}
    for given in ignore:
        scope, name = split_scope(given)
        if name in NEEDED:
            raise UsageError(f"--ignore {given}: every study needs the {name}. Choose another column with --map.")
        found = {
            role: frozenset(_matching(raw.renamed.get(name, name), raw.arrow.column_names))
            for role, raw in raws.items()
            if in_scope(scope, role)
        }
        if not any(found.values()):
            problems.append(_no_such_column(name, [raws[role] for role in found]))
        ignored = {role: columns | found.get(role, frozenset()) for role, columns in ignored.items()}
    return ignored


def _matching(name: str, present: Sequence[str]) -> list[str]:
    exact = [column for column in present if column == name or fnmatchcase(column, name)]
    return exact or (matching_columns(name, present, accept_id_alias=True) if name in ALIASES else [])


def _no_such_column(name: str, raws: Sequence[RawTable]) -> Problem:
    names = list(dict.fromkeys(column for raw in raws for column in raw.arrow.column_names))
    suggestion = did_you_mean(name, names) or "."
    what = f"there is no column {quote(name)} to --ignore; the columns are {join_names(names)}"
    return Problem(join_names([raw.source for raw in raws]), what, f"Correct the name{suggestion}")
