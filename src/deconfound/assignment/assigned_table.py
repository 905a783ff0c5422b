"""Contexts and their units -> the rows of an experiment, each with its model and the propensities of all models."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.assignment.assigned_models import OUTSIDE, assigned_models
from deconfound.assignment.manifest import AssignmentManifest
from deconfound.data import PROPENSITY_PREFIX
from deconfound.progress import Progress, no_progress


@dataclass(frozen=True, slots=True, eq=False)
class AssignedTable:
    """The rows whose units take part, in their order, and how many there are."""

    arrow: pa.Table
    units: int
    left_out: int  # rows of units outside the experiment's share

    @property
    def rows_by_model(self) -> dict[str, int]:
        """Rows of each model that occurs."""
        return {row["values"]: row["counts"] for row in self.arrow["model"].value_counts().to_pylist()}


def assign_table(contexts: pa.Table, manifest: AssignmentManifest, progress: Progress = no_progress) -> AssignedTable:
    """Draw for the values of the manifest's unit; columns model, propensity and propensity_* are added."""
    model = assigned_models(contexts[manifest.unit], manifest.rule, progress)
    takes_part = pc.not_equal(model, OUTSIDE)
    arrow = contexts.filter(takes_part)
    model = model.filter(takes_part)
    by_model = manifest.rule.propensities
    own = pa.array([by_model[name] for name in manifest.rule.models], pa.float64())
    at = pc.index_in(model, value_set=pa.array(manifest.rule.models, pa.string()))
    arrow = arrow.append_column("model", model).append_column("propensity", own.take(at))
    for name, value in by_model.items():
        arrow = arrow.append_column(PROPENSITY_PREFIX + name, pa.repeat(pa.scalar(value, pa.float64()), len(model)))
    units = len(arrow[manifest.unit].unique())
    return AssignedTable(arrow, units, contexts.num_rows - arrow.num_rows)
