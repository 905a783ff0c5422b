"""--rename-model: one name for a model that the tables name differently. Nothing is merged without being asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data.tables import PROPENSITY_PREFIX
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import did_you_mean, join_names, join_noted_names, quote
from deconfound.loading.canonical import CanonicalTable


def models_to_find(tables: Mapping[str, CanonicalTable], names: Mapping[str, str]) -> list[str]:
    """The models to rename that no table has."""
    present = _present(tables) if names else set()
    return [old for old in names if old not in present]


def absent_model_problems(tables: Mapping[str, CanonicalTable], absent: Sequence[str]) -> list[Problem]:
    """A problem for each model to rename that no table has."""
    present = sorted(_present(tables)) if absent else []
    return absent_models(join_names([table.source for table in tables.values()]), present, absent)


def absent_models(sources: str, present: Sequence[str], absent: Sequence[str]) -> list[Problem]:
    """The same for tables that have these models."""
    problems = []
    for old in absent:
        suggestion = did_you_mean(old, present) or "."
        what = f"there is no model {quote(old)} to rename; the models are {join_names(present)}"
        problems.append(Problem(sources, what, f"Correct --rename-model{suggestion}"))
    return problems


def rename_models(
    tables: Mapping[str, CanonicalTable],
    names: Mapping[str, str],
    defaults: Mapping[str, str],
    problems: list[Problem],
) -> dict[str, CanonicalTable]:
    """The tables with every model's new name; a default counts only where some table has the model."""
    present = _present(tables) if defaults else set()
    every = {**{old: new for old, new in defaults.items() if old in present}, **names}
    return {role: _rename(table, every, problems) for role, table in tables.items()} if every else dict(tables)


def _present(tables: Mapping[str, CanonicalTable]) -> set[str]:
    return {name for table in tables.values() for name in table.arrow["model"].unique().to_pylist()}


def _rename(table: CanonicalTable, names: Mapping[str, str], problems: list[Problem]) -> CanonicalTable:
    models = table.arrow["model"]
    at = pc.index_in(models, value_set=pa.array(list(names), pa.string()))
    counts = {old: int(pc.sum(pc.equal(at, code)).as_py() or 0) for code, old in enumerate(names)}
    renamed = pc.coalesce(pa.array(list(names.values()), pa.string()).take(at.combine_chunks()), models)
    arrow = table.arrow.set_column(table.arrow.column_names.index("model"), "model", renamed)
    columns = [_column_name(name, names) for name in arrow.column_names]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        what = f"two columns would be called {quote(twice)} after --rename-model"
        problems.append(Problem(table.source, what, "Add up the two propensities in the table."))
        return table
    findings = (*table.findings, *renamed_findings(table.source, names, counts))
    return replace(table, arrow=arrow.rename_columns(columns), findings=findings)


def renamed_findings(source: str, names: Mapping[str, str], counts: Mapping[str, int]) -> list[Finding]:
    """Which models have another name than in the table; ``counts`` are rows by the names there."""
    read = [(old, f" as {quote(names[old])} ({counts[old]:,} rows)") for old in names if counts.get(old)]
    message = f"{source}: models are read under another name: {join_noted_names(read)}."
    return [Finding("models", "pass", Notice(message))] if read else []


def _column_name(column: str, names: Mapping[str, str]) -> str:
    """Propensities of single models are named after the models."""
    if not column.startswith(PROPENSITY_PREFIX):
        return column
    model = column.removeprefix(PROPENSITY_PREFIX)
    return PROPENSITY_PREFIX + names.get(model, model)
