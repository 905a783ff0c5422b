"""The same column under different names in the files of one table, such as "prompt" and "context"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, quote
from deconfound.loading.column_mapping import (
    ALIASES,
    COLUMNS_BY_ROLE,
    PREFIXES_BY_ROLE,
    matching_columns,
    normalize_name,
    prefixed_name,
)
from deconfound.loading.message_columns import message_column
from deconfound.loading.raw import RawTable

EXACT = ("cluster",)  # a user in one file and a session in the other are not the same


def with_common_names(parts: Sequence[RawTable], role: str, mapping: Mapping[str, str]) -> list[RawTable]:
    """The files with one name for each column that a study uses and that they name differently.

    ``mapping`` is what --map says for this table. Where a file has two columns that others have alone, it is not clear
    which of them belongs to theirs, and all stay as they are: a column that some files lack is reported later.
    """
    files = list(parts)
    if role not in COLUMNS_BY_ROLE or len(files) < 2:
        return files
    for name, choice in _choices(files, role, mapping).items():
        names = list(dict.fromkeys(column for column in choice if column is not None))
        clear = name not in EXACT or len(set(map(normalize_name, names))) == 1
        if clear and len(names) > 1 and not any(len(set(names) & set(file.arrow.column_names)) > 1 for file in files):
            common = next((each for each in (mapping.get(name), name) if each in names), names[0])
            files = [
                file if column in (None, common) else _rename(file, column, common)
                for file, column in zip(files, choice, strict=True)
            ]
    return files


def _choices(files: Sequence[RawTable], role: str, mapping: Mapping[str, str]) -> dict[str, list[str | None]]:
    """For each canonical name, the column of every file that could be it; None where there is none, or several."""
    choices: dict[str, list[str | None]] = {
        name: [_column(name, file, mapping) for file in files] for name in COLUMNS_BY_ROLE[role]
    }
    prefixes = PREFIXES_BY_ROLE[role]
    by_prefix = [{prefixed_name(column, prefixes): column for column in file.arrow.column_names} for file in files]
    prefixed = dict.fromkeys(name for found in by_prefix for name in found if name is not None)
    return choices | {name: [found.get(name) for found in by_prefix] for name in prefixed if name not in choices}


def _column(name: str, file: RawTable, mapping: Mapping[str, str]) -> str | None:
    present: list[str] = file.arrow.column_names
    if name in mapping:
        return next((column for column in (mapping[name], name) if column in present), None)
    free = [column for column in present if column not in mapping.values()]
    matches = matching_columns(name, free, accept_id_alias=False)
    if name == "context" and not matches:
        return message_column(file)
    return matches[0] if len(matches) == 1 else None


def _rename(file: RawTable, column: str, common: str) -> RawTable:
    names = [common if name == column else name for name in file.arrow.column_names]
    return replace(
        file,
        arrow=file.arrow.rename_columns(names),
        renamed={**file.renamed, column: common},
    )


def name_findings(parts: Sequence[RawTable], source: str) -> tuple[Finding, ...]:
    """A note on every column that some files of a table name differently; a warning where it may be another measure."""
    files: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        for pair in part.renamed.items():
            files.setdefault(pair, []).append(part.source)
    return tuple(_name_finding(old, new, named, source) for (old, new), named in files.items())


def _name_finding(old: str, new: str, files: Sequence[str], source: str) -> Finding:
    message = f"{source}: column {quote(new)} is called {quote(old)} in {join_names(files)}."
    is_outcome = all(normalize_name(name) in ("outcome", *ALIASES["outcome"]) for name in (old, new))
    if not is_outcome or normalize_name(old) == normalize_name(new):
        return Finding("columns", "pass", Notice(message))
    return Finding("columns", "warn", Notice(message, "Make sure that both are the same measure, on the same scale."))
