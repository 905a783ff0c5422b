"""``auto`` as a linear model: a long log enters by sums over its rows, of which no row is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray, IntArray, Rows
from deconfound.linalg.arrowhead import Arrowhead
from deconfound.reward.auto.component_kernels import BY_CONTEXT, INTERCEPT, MODEL, PROXIES, TEXT, KernelScale


@dataclass(frozen=True, slots=True)
class LinearColumns:
    """The columns text, proxies and intercept, then an intercept and the effect modifiers for each model."""

    text: int
    proxies: int
    models: int
    modifiers: int

    @property
    def shared(self) -> int:
        """Number of columns that all models share."""
        return self.text + self.proxies + 1

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.shared + self.models * (1 + self.modifiers)

    @property
    def component(self) -> IntArray:
        """The component that each column belongs to (size,)."""
        shared = np.repeat([TEXT, PROXIES, INTERCEPT], [self.text, self.proxies, 1])
        own = np.repeat([MODEL, BY_CONTEXT], [1, self.modifiers])
        return np.concatenate([shared, np.tile(own, self.models)])

    def variances(self, components: FloatArray, scale: KernelScale) -> FloatArray:
        """Prior variance of each column's coefficient (size,), from those of the components (5,)."""
        unit = np.array([1.0 / scale.phi_square_norm, 1.0, 1.0, 1.0, 1.0])
        return np.asarray((components * unit)[self.component])


@dataclass(frozen=True, slots=True)
class LinearRows:
    """Rows as those columns, without writing out the zeros."""

    columns: LinearColumns
    phi: FeatureMatrix  # (n, text)
    psi: FloatArray  # (n, proxies), scaled
    model: IntArray  # (n,) codes; unknown models, which have no columns, are negative
    modifiers: FloatArray  # (n, modifiers)

    @classmethod
    def from_rows(cls, rows: Rows, scale: KernelScale, n_models: int) -> Self:
        """Apply the scale of the log; models beyond ``n_models`` have no columns."""
        model = np.full(len(rows), -1) if rows.model is None else np.where(rows.model < n_models, rows.model, -1)
        modifiers = np.zeros((len(rows), 0)) if rows.modifiers is None else rows.modifiers
        psi = scale.scale_psi(rows)
        columns = LinearColumns(rows.phi.shape[1], psi.shape[1], n_models, modifiers.shape[1])
        return cls(columns, rows.phi, psi, model, modifiers)

    def take(self, rows: IntArray) -> LinearRows:
        """Some of the rows."""
        return LinearRows(self.columns, self.phi.take(rows), self.psi[rows], self.model[rows], self.modifiers[rows])

    def times(self, coef: FloatArray) -> FloatArray:
        """Rows times coefficients (size, m): (n, m)."""
        columns = self.columns
        text, rest = coef[: columns.text], coef[columns.text : columns.shared]
        total: FloatArray = np.asarray(self.phi @ text) + self.psi @ rest[:-1] + rest[-1]
        own = coef[columns.shared :].reshape(columns.models, 1 + columns.modifiers, -1)
        for code in np.unique(self.model[self.model >= 0]).tolist():
            at = np.flatnonzero(self.model == code)
            total[at] += self.modifiers[at] @ own[code, 1:] + own[code, 0]
        return total

    def transposed_times(self, weights: FloatArray) -> FloatArray:
        """Columns times weights of the rows (n, m): (size, m)."""
        columns = self.columns
        shared = [self.phi.transposed_product(weights), self.psi.T @ weights, weights.sum(axis=0, keepdims=True)]
        own = np.zeros((columns.models, 1 + columns.modifiers, weights.shape[1]))
        for code in np.unique(self.model[self.model >= 0]).tolist():
            at = np.flatnonzero(self.model == code)
            own[code, 0] = weights[at].sum(axis=0)
            own[code, 1:] = self.modifiers[at].T @ weights[at]
        return np.concatenate([*shared, own.reshape(-1, weights.shape[1])])

    def trace(self, variance: FloatArray) -> float:
        """Sum over the rows of their variance, for coefficients with independent ``variance`` (size,)."""
        columns = self.columns
        own = variance[columns.shared :].reshape(columns.models, 1 + columns.modifiers)
        known = np.flatnonzero(self.model >= 0)
        by_row = own[self.model[known]]
        return float(
            variance[0] * self.phi.squared_row_norms().sum()  # all text columns have one variance
            + (self.psi**2 @ variance[columns.text : columns.shared - 1]).sum()
            + len(self.model) * variance[columns.shared - 1]
            + by_row[:, 0].sum()
            + (self.modifiers[known] ** 2 * by_row[:, 1:]).sum()
        )

    def toarray(self) -> FloatArray:
        """All entries (n, size)."""
        columns, n = self.columns, len(self.model)
        own = np.zeros((n, columns.models, 1 + columns.modifiers))
        at = np.flatnonzero(self.model >= 0)
        own[at, self.model[at], 0] = 1.0
        own[at, self.model[at], 1:] = self.modifiers[at]
        return np.hstack([self.phi.toarray(), self.psi, np.ones((n, 1)), own.reshape(n, -1)])


@dataclass(frozen=True, slots=True, eq=False)
class LinearMoments:
    """Sums over a log's rows z with outcomes y, which say as much about linear effects as the rows themselves."""

    columns: LinearColumns
    gram: Arrowhead  # sum of z z'
    cross: FloatArray  # (size,) sum of z (y - mean)
    square: float  # sum of (y - mean)^2
    weight: float  # number of rows
    mean: float  # of the outcomes of the whole log
    scale: KernelScale
    psi_repeats_phi: bool = False  # the proxies are the text columns again, and have no variance of their own

    def folded(self, width: int) -> LinearMoments:
        """The moments after adding up text columns whose numbers are equal modulo ``width``."""
        columns = self.columns
        if columns.text <= width:
            return self
        gram = self.gram
        shared = _fold_rows(_fold_rows(gram.shared, columns.text, width).T, columns.text, width)
        borders = np.stack([_fold_rows(border, columns.text, width) for border in gram.borders])
        cross = _fold_rows(self.cross[:, None], columns.text, width)[:, 0]
        narrow = LinearColumns(width, columns.proxies, columns.models, columns.modifiers)
        return replace(self, columns=narrow, gram=Arrowhead(shared, borders, gram.corners), cross=cross)


def fold_columns(matrix: FloatArray, text: int, width: int) -> FloatArray:
    """The matrix (n, size) after adding up its first ``text`` columns whose numbers are equal modulo ``width``."""
    return matrix if text <= width else _fold_rows(matrix.T, text, width).T


def _fold_rows(matrix: FloatArray, text: int, width: int) -> FloatArray:
    folded = matrix[:text].reshape(-1, width, matrix.shape[1]).sum(axis=0)
    return np.concatenate([folded, matrix[text:]])
