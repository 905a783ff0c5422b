"""Observations as arrays: the form in which every estimator receives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design.arrays import FloatArray, IntArray
from deconfound.design.matrix import FeatureMatrix
from deconfound.design.storage import DenseMatrix, RawMatrix, feature_matrix, is_finite, row_tiles, two_dimensional
from deconfound.errors import UsageError

UNKNOWN_MODEL = -1  # code of an unknown model


@dataclass(frozen=True, slots=True, init=False)
class Rows:
    """Observations as arrays; no text, no names.

    A row with ``weight`` w represents w observations with the same phi and psi; its outcome is their mean, which is
    all that squared loss depends on. ``context`` numbers the contexts, so that folds never split one. A negative
    ``model`` is an unknown model. ``modifiers`` are features by which the differences between models may vary.
    """

    phi: FeatureMatrix  # (n, d)
    psi: FloatArray | None  # (n, r)
    outcome: FloatArray | None  # (n,), None for replay
    model: IntArray | None  # (n,), codes
    weight: FloatArray | None  # (n,), positive
    context: IntArray | None  # (n,), codes
    modifiers: FloatArray | None  # (n, c)

    def __init__(
        self,
        phi: FeatureMatrix | RawMatrix,
        psi: FloatArray | None = None,
        outcome: FloatArray | None = None,
        model: IntArray | None = None,
        weight: FloatArray | None = None,
        context: IntArray | None = None,
        modifiers: FloatArray | None = None,
    ) -> None:
        object.__setattr__(self, "phi", feature_matrix(phi))
        object.__setattr__(self, "psi", None if psi is None else two_dimensional(psi, "psi"))
        object.__setattr__(self, "outcome", _floats(outcome))
        object.__setattr__(self, "model", _codes(model))
        object.__setattr__(self, "weight", _floats(weight))
        object.__setattr__(self, "context", _codes(context))
        object.__setattr__(self, "modifiers", None if modifiers is None else two_dimensional(modifiers, "modifiers"))
        self._check()

    def _check(self) -> None:
        floats = {"psi": self.psi, "outcome": self.outcome, "weight": self.weight, "modifiers": self.modifiers}
        for name, column in (floats | {"model": self.model, "context": self.context}).items():
            if column is not None and len(column) != len(self):
                raise UsageError(f"Rows: {name} has {len(column)} rows and phi has {len(self)}; they must agree.")
        infinite = [name for name, column in floats.items() if column is not None and not is_finite(column)]
        if infinite or not self.phi.all_finite():
            name = (infinite or ["phi"])[0]
            raise UsageError(f"Rows: {name} contains NaN or infinity; every entry must be a finite number.")
        if self.weight is not None and (self.weight <= 0).any():
            raise UsageError("Rows: every weight must be positive.")

    def __len__(self) -> int:
        return self.phi.shape[0]

    def take(self, index: IntArray) -> Rows:
        """The rows at ``index``, in that order, repeats allowed."""
        return Rows(
            self.phi.take(index),
            None if self.psi is None else self.psi[index],
            None if self.outcome is None else self.outcome[index],
            None if self.model is None else self.model[index],
            None if self.weight is None else self.weight[index],
            None if self.context is None else self.context[index],
            None if self.modifiers is None else self.modifiers[index],
        )

    @property
    def total_weight(self) -> float:
        """Number of observations that these rows represent."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def weight_or_ones(self) -> FloatArray:
        """Number of observations that each row represents."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @property
    def normalized_weight(self) -> FloatArray:
        """Each row's share of the observations; sums to one."""
        return self.weight_or_ones / self.total_weight

    def require_outcome(self) -> FloatArray:
        """The outcome; an error where there is none."""
        if self.outcome is None:
            raise UsageError("These rows have no outcome; a log and an experiment need one, only replay has none.")
        return self.outcome

    def require_psi(self) -> FloatArray:
        """The proxies; an error where there are none."""
        if self.psi is None:
            raise UsageError(
                "This family needs psi, and these rows have none: give the log label_* columns, leave the surface "
                "statistics on, or choose exp-only, obs-only or cvci."
            )
        return self.psi


def merge_duplicate_rows(rows: Rows) -> Rows:
    """Merge rows with equal phi and psi into one weighted row each; no fit with squared loss changes.

    A merged row has the model of its parts where they agree and ``UNKNOWN_MODEL`` otherwise. Contexts are dropped
    unless the parts of every merged row agree on theirs. Modifiers are those of the first part.
    """
    unique, first, inverse = np.unique(_representatives(rows), return_index=True, return_inverse=True)
    if len(unique) == len(rows):
        return rows
    weight = np.bincount(inverse, weights=rows.weight, minlength=len(unique)).astype(np.float64)
    outcome = None
    if rows.outcome is not None:
        total = rows.outcome if rows.weight is None else rows.outcome * rows.weight
        outcome = np.bincount(inverse, weights=total, minlength=len(unique)) / weight
    psi = None if rows.psi is None else rows.psi[first]
    model = None if rows.model is None else unanimous_code(rows.model, inverse)
    context = rows.context
    if context is not None:
        context = context[first] if np.array_equal(context[first][inverse], context) else None
    modifiers = None if rows.modifiers is None else rows.modifiers[first]
    return Rows(rows.phi.take(first), psi, outcome, model, weight, context, modifiers)


def number_distinct_rows(rows: Rows) -> IntArray:
    """The number (n,) of the row that ``merge_duplicate_rows`` makes of each row."""
    return np.unique(_representatives(rows), return_inverse=True)[1]


def without_agreeing_repeats(rows: Rows) -> Rows:
    """One of each set of rows with equal phi, psi and model, if no two of them have different outcomes.

    Repeats that never disagree are copies, or outcomes without noise. Either way they are no further observations:
    taken for such, they would show that outcomes have no noise anywhere.
    """
    model = np.zeros(len(rows), dtype=np.int64) if rows.model is None else rows.model
    groups = np.column_stack([_representatives(rows), model])
    _, first, inverse = np.unique(groups, axis=0, return_index=True, return_inverse=True)
    outcome = rows.require_outcome()
    agree = np.array_equal(outcome[first][inverse.ravel()], outcome)
    return rows.take(np.sort(first)) if agree and len(first) < len(rows) else rows


def unanimous_code(code: IntArray, group: IntArray) -> IntArray:
    """The code that all rows of a group share, or ``UNKNOWN_MODEL``; groups are numbered from zero."""
    low = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    high = np.full(len(low), np.iinfo(np.int64).min)
    np.minimum.at(low, group, code)
    np.maximum.at(high, group, code)
    return np.where(low == high, low, UNKNOWN_MODEL)


def _representatives(rows: Rows) -> IntArray:
    """For each row the number of the first row that equals it.

    A random projection finds candidates, which are then compared entry by entry: a chance collision can leave equal
    rows unmerged but never merges different rows.
    """
    representative = np.arange(len(rows))
    candidates = rows.phi.possible_duplicates()
    psi = None if rows.psi is None else DenseMatrix(rows.psi)
    fingerprint = _fingerprint(rows.phi, candidates, seed=1)
    if psi is not None:
        fingerprint = fingerprint + _fingerprint(psi, candidates, seed=2)
    _, first, inverse = np.unique(fingerprint, return_index=True, return_inverse=True)
    representative[candidates] = candidates[first[inverse]]
    duplicates = np.flatnonzero(representative != np.arange(len(rows)))
    different = rows.phi.rows_differ(duplicates, representative[duplicates])
    if psi is not None:
        different |= psi.rows_differ(duplicates, representative[duplicates])
    representative[duplicates[different]] = duplicates[different]
    return representative


def _fingerprint(matrix: FeatureMatrix, index: IntArray, seed: int) -> FloatArray:
    if len(index) == matrix.shape[0]:
        return matrix.random_projection(seed)
    return np.concatenate([matrix.take(tile).random_projection(seed) for tile in row_tiles(index)])


def _floats(column: FloatArray | None) -> FloatArray | None:
    return None if column is None else np.ascontiguousarray(column, dtype=np.float64)


def _codes(column: IntArray | None) -> IntArray | None:
    return None if column is None else np.ascontiguousarray(column, dtype=np.int64)
