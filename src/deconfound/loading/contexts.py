"""The way from a file of contexts, and nothing else, to a table."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from deconfound.errors import DataError, Problem
from deconfound.loading.column_mapping import Finder, candidates, check_mapping
from deconfound.loading.drafts import Scale, draft
from deconfound.loading.sources import Source, label, read


def load_contexts(source: Source, *, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Read the contexts that values are wanted for: ``context`` or ``context_id``, and ``feature_*`` columns.

    A mapping made for a study holds as far as its columns occur here.
    """
    check_mapping(columns or {})
    raw = read(source, "target", label(source, "target"))
    names = raw.table.column_names
    mapping = {name: column for name, column in (columns or {}).items() if column in names}
    bare_id = "context" not in mapping and not candidates("context", names, bare_id=False)
    problems: list[Problem] = []
    naming = Finder("target", raw.source, mapping, bare_id).name_columns(names, problems)
    made = None if problems else draft(raw, naming, Scale(), problems)
    if made is None or problems:
        raise DataError(problems)
    return made.table
