"""--assignment: the manifest of an experiment gives its propensities, its units, and the model drawn for each of them.

Propensities of the table and of the manifest that contradict each other are an error. A row that another model answered
than the one drawn is none: the share of such rows is a finding of the checks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.assignment import AssignmentManifest
from deconfound.assignment.assigned_models import assigned_models
from deconfound.data import PROPENSITY_PREFIX, Mask, is_in, text_ids
from deconfound.errors import Problem, UsageError
from deconfound.escaping import readable_path
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, join_noted_names, quote
from deconfound.loading.canonical import CanonicalTable
from deconfound.loading.convert import Floats
from deconfound.loading.propensity_columns import PROPENSITY_ATOL, is_propensity
from deconfound.loading.raw import row_examples

ManifestLike = AssignmentManifest | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class DeclaredAssignment:
    """A manifest, its name in messages, and the names that its models have in the tables."""

    manifest: AssignmentManifest
    source: str
    names: Mapping[str, str]

    @classmethod
    def read(cls, given: ManifestLike, renamed: Mapping[str, str]) -> DeclaredAssignment:
        """Read a manifest; ``renamed`` gives models of the tables other names."""
        if isinstance(given, AssignmentManifest):
            manifest, source = given, "the assignment"
        else:
            manifest, source = AssignmentManifest.load(given), readable_path(Path(given).name)
        names = {model: renamed.get(model, model) for model in manifest.rule.models}
        if len(set(names.values())) < len(names):
            raise UsageError("--rename-model gives two models of the assignment one name; they were drawn separately.")
        return cls(manifest, source, names)

    @property
    def propensity(self) -> dict[str, float]:
        """The propensity of each model, by its name in the tables."""
        return {self.names[model]: value for model, value in self.manifest.rule.propensities.items()}

    def unit_column(self, columns: Mapping[str, str]) -> dict[str, str]:
        """The experiment's column of units, as --map would give it; a --map of the user goes first."""
        given = "unit" in columns or "experiment.unit" in columns
        if given or self.manifest.draws_contexts or not self.manifest.is_reproducible:
            return {}
        return {"experiment.unit": self.manifest.unit}

    def apply(self, table: CanonicalTable, problems: list[Problem]) -> CanonicalTable:
        """The experiment with the manifest's propensities, and with the model that it draws for each row's unit."""
        found = [*self._unknown_models(table), *self._contradictions(table)]
        problems += found
        if found:
            return table
        table = self._with_propensities(table)
        if self.manifest.is_reproducible:
            units = self._units(table, problems)
            table = table if units is None else self._with_units(table, units)
        shares = join_noted_names((name, f" {value:.4g}") for name, value in self.propensity.items())
        message = f"{table.source}: propensities are those of {self.source} ({shares})."
        return replace(table, findings=(*table.findings, Finding("assignment", "pass", Notice(message)))).in_order()

    def _unknown_models(self, table: CanonicalTable) -> list[Problem]:
        unknown = ~is_in(table.arrow["model"], list(self.propensity))
        if not unknown.any():
            return []
        name = table.arrow["model"][int(unknown.argmax())].as_py()
        what = f"model {quote(name)} is none of those that {self.source} draws ({join_names(self.propensity)})"
        fix = "Remove rows of other models, as of fallbacks, or correct the name with --rename-model OLD=NEW."
        return [_row_problem(table, unknown, what, fix)]

    def _contradictions(self, table: CanonicalTable) -> list[Problem]:
        """Propensities of the table that are not those of the manifest; the first such column is reported."""
        own = self.propensity
        # The last one may be filled in from the others, and the user then has no such column.
        for name in sorted(filter(is_propensity, table.arrow.column_names), key="propensity".__eq__):
            expected: Floats = np.full(table.arrow.num_rows, own.get(name.removeprefix(PROPENSITY_PREFIX), 0.0))
            if name == "propensity":
                expected = np.array([own.get(model, np.nan) for model in table.arrow["model"].to_pylist()])
            values = table.arrow[name].to_numpy()
            differs = np.abs(values - expected) > PROPENSITY_ATOL
            if differs.any():
                row = int(differs.argmax())
                what = f"{name} {values[row]:.4g} contradicts {self.source}, which says {expected[row]:.4g}"
                fix = "Use the manifest that these rows were drawn with, or correct the column."
                return [_row_problem(table, differs, what, fix)]
        return []

    def _with_propensities(self, table: CanonicalTable) -> CanonicalTable:
        """The manifest's numbers, also where the table has them rounded."""
        arrow = table.arrow.drop_columns([name for name in table.arrow.column_names if is_propensity(name)])
        own = self.propensity
        columns = {"propensity": [own[model] for model in arrow["model"].to_pylist()]}
        columns |= {PROPENSITY_PREFIX + name: [value] * arrow.num_rows for name, value in own.items()}
        for name, values in columns.items():
            arrow = arrow.append_column(name, pa.array(values, pa.float64()))
        return replace(table, arrow=arrow)

    def _units(self, table: CanonicalTable, problems: list[Problem]) -> pa.ChunkedArray | None:
        """What was hashed in each row."""
        if table.has("unit"):
            return table.arrow["unit"]
        if self.manifest.unit not in table.arrow.column_names:
            what = f"there is no {self.manifest.unit}, for which {self.source} draws models"
            problems.append(Problem(table.source, what, "Name its column with --map unit=COLUMN."))
            return None
        return table.arrow[self.manifest.unit]

    def _with_units(self, table: CanonicalTable, units: pa.ChunkedArray) -> CanonicalTable:
        drawn = assigned_models(units, self.manifest.rule)
        for model, name in self.names.items():
            drawn = drawn if model == name else pc.if_else(pc.equal(drawn, model), name, drawn)
        if not table.has("unit"):
            table = table.with_column("unit", text_ids(units) if self.manifest.unit == "context" else units)
        table = table.with_column("assigned_model", pa.chunked_array([drawn]))
        return table if self.manifest.draws_contexts else _clustered_by_unit(table)


def _clustered_by_unit(table: CanonicalTable) -> CanonicalTable:
    """Units as clusters, unless the table has larger ones: rows of a unit share its model and its noise."""
    if not table.has("cluster"):
        return table.with_column("cluster", table.arrow["unit"])
    pairs = table.arrow.select(["unit", "cluster"]).group_by(["unit", "cluster"]).aggregate([])
    if pairs.num_rows == len(pairs["unit"].unique()):
        return table
    message = f"{table.source}: clusters are the units for which models were drawn, since these are the larger ones."
    at = table.arrow.column_names.index("cluster")
    arrow = table.arrow.set_column(at, "cluster", table.arrow["unit"])
    return replace(table, arrow=arrow, findings=(*table.findings, Finding("assignment", "pass", Notice(message))))


def _row_problem(table: CanonicalTable, bad: Mask, what: str, fix: str) -> Problem:
    rows = np.flatnonzero(bad)
    return Problem(table.locate(int(rows[0])), what + row_examples(table.row_numbers, rows), fix)
