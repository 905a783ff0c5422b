"""A randomized experiment together with a reward's predictions for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import UNKNOWN_MODEL, FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.clusters import Clusters, columns_of_codes


@dataclass(frozen=True, slots=True)
class ScoredExperiment:
    """Input of the estimators that combine an experiment with a reward: n rows, k models.

    ``q`` and ``prediction`` must be out of fold: the reward behind row j was not fitted on row j. Cross-fitting is the
    task of the caller. ``from_arrays`` fills in what is usually left out.
    """

    models: tuple[str, ...]
    q: FloatArray  # (n, k) reward of every model on the row's context, averaged over replay draws
    prediction: FloatArray  # (n,) reward of the row's own output
    model: IntArray  # (n,) position in ``models``, or UNKNOWN_MODEL for a model that is not compared
    outcome: FloatArray  # (n,)
    propensity: FloatArray  # (n,) probability with which the row's own model was drawn
    cluster: IntArray  # (n,) rows of one cluster, such as a user, share sampling noise; (n, 2) for two crossed ways
    weight: FloatArray  # (n,) density ratio to a target population; ones for the experiment's own

    def __post_init__(self) -> None:
        if len(self.model) == 0:
            raise UsageError("The experiment has no rows; every model needs some. Randomize on some contexts.")
        require_q_matrix(self.models, self.q)
        columns = ("prediction", "model", "outcome", "propensity", "cluster", "weight")
        require_equal_length(len(self.q), {name: getattr(self, name) for name in columns})
        require_finite({"q": self.q, "outcome": self.outcome, "prediction": self.prediction})
        if not ((self.propensity > 0) & (self.propensity <= 1)).all():
            raise UsageError("Every propensity must lie in (0, 1].")
        require_weight(self.weight)
        columns_of_codes(self.cluster, len(self.q))

    @classmethod
    def from_arrays(
        cls,
        models: Sequence[str],
        q: FloatArray,
        prediction: FloatArray,
        model: IntArray,
        outcome: FloatArray,
        *,
        propensity: FloatArray | None = None,
        cluster: IntArray | None = None,
        weight: FloatArray | None = None,
    ) -> Self:
        """Uniform propensities, one cluster per row and equal weights unless given.

        Any code outside ``range(len(models))`` denotes a model that is not compared; the propensities are then needed.
        """
        rows, count, code = len(model), len(models), np.asarray(model)
        compared = (code >= 0) & (code < count)
        if propensity is None and not compared.all():
            raise UsageError("Some rows use models that are not compared; give the propensity of every row.")
        return cls(
            models=tuple(models),
            q=np.asarray(q, dtype=np.float64),
            prediction=np.asarray(prediction, dtype=np.float64),
            model=np.where(compared, code, UNKNOWN_MODEL),
            outcome=np.asarray(outcome, dtype=np.float64),
            propensity=np.full(rows, 1.0 / count) if propensity is None else np.asarray(propensity, dtype=np.float64),
            cluster=np.arange(rows) if cluster is None else np.asarray(cluster),
            weight=np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64),
        )

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Rows whose model is one of ``models`` (n,)."""
        return np.asarray(self.model != UNKNOWN_MODEL)

    @property
    def n_clusters(self) -> int:
        """Number of clusters, of the way that has fewest."""
        return Clusters.from_codes(self.cluster, len(self.q)).count

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Self:
        """Some of the rows, by number or mask; numbers may repeat."""
        columns = {field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "models"}
        return replace(self, **columns)


def require_q_matrix(models: Sequence[str], q: FloatArray, name: str = "q") -> None:
    """Refuse an array that is not (n, k), or that has no rows."""
    if q.ndim != 2 or q.shape[1] != len(models) or len(q) == 0:
        raise UsageError(
            f"{name} must have at least one row and {len(models)} columns, one per model; its shape is {q.shape}."
        )


def require_equal_length(rows: int, columns: Mapping[str, FloatArray | IntArray]) -> None:
    """Refuse columns whose length differs from that of q."""
    for name, column in columns.items():
        if len(column) != rows:
            raise UsageError(f"{name} has {len(column)} entries and q has {rows} rows; they must agree.")


def require_finite(columns: Mapping[str, FloatArray]) -> None:
    """Refuse NaN and infinity."""
    for name, column in columns.items():
        if not np.isfinite(column).all():
            raise UsageError(f"{name} contains NaN or infinity; every entry must be a finite number.")


def require_weight(weight: FloatArray) -> None:
    """Refuse weights that are negative or not finite, or all zero."""
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise UsageError("Every weight must be finite and at least 0, and at least one must be positive.")
