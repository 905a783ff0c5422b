"""Options for one table or for all: "log.outcome" is the outcome of the log, "outcome" that of every table."""

from __future__ import annotations

from collections.abc import Mapping

TABLES = ("log", "experiment", "replay", "target")


def split_scope(name: str) -> tuple[str | None, str]:
    """The table that a name is limited to, if any, and the name in it."""
    table, dot, rest = name.partition(".")
    return (table, rest) if dot and rest and table in TABLES else (None, name)


def in_scope(scope: str | None, table: str) -> bool:
    """Whether an option with this scope is for a table."""
    return scope is None or scope == table


def scoped_to(options: Mapping[str, str], table: str) -> dict[str, str]:
    """The options for a table by their names in it; those for this table alone go first."""
    general = {name: value for name, value in options.items() if split_scope(name)[0] is None}
    own = {split_scope(name)[1]: value for name, value in options.items() if split_scope(name)[0] == table}
    return general | own
