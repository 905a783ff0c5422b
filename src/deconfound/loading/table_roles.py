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


def assign_roles(paths: Sequence[Path]) -> list[RoleTable]:
    """Read the tables and give each a role; raise if two of them seem to have the same."""
    tables = [(path, read_table(path, "table", source_name(path, "table"))) for path in paths]
    roles = [_role(path, raw.arrow.column_names) for path, raw in tables]
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
    return [_resolve(path, role, raw) for (path, raw), role in zip(tables, roles, strict=True)]


def _role(path: Path, columns: Sequence[str]) -> str:
    """By the file's name if it says so, else by its columns: a replay has no outcome, an experiment a propensity."""
    name = path.name.lower()
    named = next((role for role, words in NAME_WORDS.items() if any(word in name for word in words)), None)
    if named is not None:
        return named
    if not matching_columns("outcome", columns, accept_id_alias=False):
        return "replay"
    return "experiment" if any(column.lower().startswith("propensity") for column in columns) else "log"


def _resolve(path: Path, role: str, raw: RawTable) -> RoleTable:
    problems: list[Problem] = []
    mapping = ColumnResolver(role, raw.source, {}, accept_id_alias=True).resolve(raw.arrow.column_names, problems)
    return RoleTable(path, role, raw, mapping, tuple(problems))


def require_tables(paths: Sequence[str]) -> list[Path]:
    """The files that are named, or all tables of one folder."""
    if len(paths) == 1 and Path(paths[0]).is_dir():
        folder = Path(paths[0])
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(HIDDEN)]
        found = [path for path in files if is_table(path)] or [path for path in files if is_json(path)]
        if not found:
            what = "there is no Parquet, CSV or JSON file in this folder"
            raise DataError([Problem(paths[0], what, "Name the three tables.")])
        return found
    return [Path(path) for path in paths]
