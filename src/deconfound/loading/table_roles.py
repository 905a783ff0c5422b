"""Which of a user's tables is the log, the experiment and the replay, by their columns and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names
from deconfound.loading.column_mapping import ColumnMapping, ColumnResolver, matching_columns
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import read_table, source_name
from deconfound.loading.table_files import HIDDEN, is_json, is_table

ROLES = ("log", "experiment", "replay")
NAME_WORDS = {
    "replay": ("replay", "rerun", "generation"),
    "experiment": ("experiment", "random", "trial", "abtest", "ab_test", "pilot"),
    "log": ("log", "usage", "production", "traffic", "history"),
}


@dataclass(frozen=True, slots=True, eq=False)
class RoleTable:
    """A table, the role that it seems to have, and how its columns are read in that role."""

    path: Path
    role: str
    raw: RawTable
    mapping: ColumnMapping
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AssignedTables:
    """The tables of a study, and others that can be none of them."""

    tables: tuple[RoleTable, ...]
    others: tuple[RawTable, ...]


def assign_roles(paths: Sequence[Path]) -> AssignedTables:
    """Read the tables and give each a role; raise if two of them seem to have the same, or if none has one."""
    given = [(path, read_table(path, "table", source_name(path, "table"))) for path in paths]
    found = [(path, raw, _role(path, raw)) for path, raw in given]
    others = tuple(raw for _, raw, role in found if role is None)
    tables = [(path, raw) for path, raw, role in found if role is not None]
    roles = [role for _, _, role in found if role is not None]
    if not tables:
        what = f"there are no columns for model and output; the columns are {join_names(others[0].arrow.column_names)}"
        raise DataError([Problem(others[0].source, what, "Name the log, the experiment and the replay.")])
    if roles.count("log") == 2 and "experiment" not in roles:
        smaller = min((i for i, role in enumerate(roles) if role == "log"), key=lambda i: tables[i][1].arrow.num_rows)
        roles[smaller] = "experiment"  # a log is the larger of two tables with outcomes
    repeated = sorted({role for role in roles if roles.count(role) > 1})
    if repeated:
        names = join_names([raw.source for (_, raw), role in zip(tables, roles, strict=True) if role == repeated[0]])
        raise UsageError(
            f"{names}: more than one table seems to be the {repeated[0]}. Name three tables, with log, experiment and "
            "replay in their names."
        )
    resolved = (_resolve(path, role, raw) for (path, raw), role in zip(tables, roles, strict=True))
    return AssignedTables(tuple(resolved), others)


def _role(path: Path, raw: RawTable) -> str | None:
    """By the name if it says so, else by the columns: a replay has no outcome, an experiment a propensity.

    A table without model and output, such as a list of contexts, has no role.
    """
    named, columns = _named_role(path), raw.arrow.column_names
    if named is not None:
        return named
    if not any(matching_columns(name, columns, accept_id_alias=False) for name in ("model", "output", "outcome")):
        return None
    if not matching_columns("outcome", columns, accept_id_alias=False):
        return "replay"
    return "experiment" if any(column.lower().startswith("propensity") for column in columns) else "log"


def _named_role(path: Path) -> str | None:
    name = path.name.lower()
    return next((role for role, words in NAME_WORDS.items() if any(word in name for word in words)), None)


def _resolve(path: Path, role: str, raw: RawTable) -> RoleTable:
    problems: list[Problem] = []
    mapping = ColumnResolver(role, raw.source, {}, accept_id_alias=True).resolve(raw.arrow.column_names, problems)
    return RoleTable(path, role, raw, mapping, tuple(problems))


def require_tables(paths: Sequence[str]) -> list[Path]:
    """The files and folders that are named, or all tables of one folder: files, and folders with a table's name."""
    if len(paths) == 1 and Path(paths[0]).is_dir():
        visible = [path for path in sorted(Path(paths[0]).iterdir()) if not path.name.startswith(HIDDEN)]
        files = [path for path in visible if path.is_file()]
        found = [path for path in files if is_table(path)] or [path for path in files if is_json(path)]
        found += [path for path in visible if path.is_dir() and _named_role(path) is not None]
        if not found:
            what = "there is no Parquet, CSV or JSON file in this folder"
            raise DataError([Problem(paths[0], what, "Name the three tables.")])
        return found
    return [Path(path) for path in paths]
