"""What a reader should know about a table's columns: those under another name, and those perhaps meant."""

from __future__ import annotations

from deconfound.escaping import escape_name
from deconfound.findings import Finding, Notice
from deconfound.formatting import MAX_LISTED_NAMES, join_noted_names, quote
from deconfound.loading.column_mapping import ColumnMapping


def column_findings(source: str, mapping: ColumnMapping) -> list[Finding]:
    """Columns that were recognized by another name, and unused ones whose name is close to one that would be used."""
    findings = []
    if mapping.by_alias:
        named = list(mapping.by_alias.items())
        uses = "; ".join(
            f"{escape_name(name)} is read from column {quote(at)}" for name, at in named[:MAX_LISTED_NAMES]
        )
        uses += f"; and {len(named) - MAX_LISTED_NAMES:,} more" if len(named) > MAX_LISTED_NAMES else ""
        findings.append(Finding("columns", "pass", Notice(f"{source}: {uses}.", "Choose another column with --map.")))
    if mapping.similar:
        columns = join_noted_names((column, f" (similar to {name})") for column, name in mapping.similar.items())
        message = f"{source}: unused columns have names close to those that are used: {columns}."
        findings.append(
            Finding("unused columns", "warn", Notice(message, "Correct the name, or pass --map NAME=COLUMN."))
        )
    return findings
