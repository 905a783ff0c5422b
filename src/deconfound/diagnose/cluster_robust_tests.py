"""Does a column predict the outcome within strata, where rows share clusters of very different sizes?

The score of a column is the weighted sum over rows of column times outcome, both centered within strata. It is divided
by its cluster-robust standard error and compared with the same ratio after the residuals of whole clusters changed sign
at random (restricted wild cluster bootstrap). After each change of signs the residuals are centered again and the
standard error is computed anew. Rows of large clusters have smaller weights: a cluster that dominated the strata's
means would cause false alarms, and its rows are correlated, so that each contributes less information.

With two kinds of clusters, such as users and contexts, the variance is V = V_users + V_contexts - V_both and at least
as large as either of the first two. Signs change by the kind with fewer clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.permutation_tests import CHUNK, center_within
from deconfound.diagnose.thresholds import RESAMPLES

ASSUMED_CORRELATION = 0.25  # of a cluster's rows: it gives clusters of one row weight 1 and large ones less than 4
VARIANCE_RTOL = 1e-12  # of the largest possible value: below it a score's variance is rounding


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """Sums over the cells of a cross-classification by clusters, from which any change of signs is computed."""

    score: FloatArray  # (c, m) sum of column times residual
    column_sum: FloatArray  # (c, m, s) sum of the columns in each stratum
    residual_sum: FloatArray  # (c, s) sum of the residuals in each stratum
    stratum_rows: FloatArray  # (s,)
    kinds: tuple[IntArray, ...]  # each (c,): the cell's cluster; the first kind has the fewest and changes its signs
    scale: float  # sum of squares of all scores' terms

    @classmethod
    def from_rows(
        cls, columns: FloatArray, outcome: FloatArray, strata: IntArray, kinds: tuple[IntArray, ...]
    ) -> ClusterScores:
        """Sum columns (n, m) and outcome (n,) over the cells; ``kinds`` are codes of one or two kinds of clusters."""
        codes = [np.unique(each, return_inverse=True)[1] for each in kinds]
        codes.sort(key=lambda each: int(each.max()))
        cells, cell = np.unique(np.stack(codes), axis=1, return_inverse=True)
        cell = cell.ravel()
        _, stratum = np.unique(strata, return_inverse=True)
        weight = row_weights(codes)
        centered = center_within(columns, stratum, weight)
        residual = center_within(outcome[:, None], stratum, weight)
        in_cell = _indicator(cell)
        in_stratum = sparse.csr_matrix((np.ones(len(stratum)), (np.arange(len(stratum)), stratum)))
        weighted = weight[:, None] * centered
        terms = weighted * residual
        column_sum = [(in_cell @ in_stratum.multiply(column[:, None]).tocsr()).toarray() for column in weighted.T]
        return cls(
            in_cell @ terms,
            np.stack(column_sum, axis=1),
            (in_cell @ in_stratum.multiply(weight[:, None] * residual).tocsr()).toarray(),
            np.asarray(np.bincount(stratum, weights=weight), dtype=np.float64),
            tuple(cells),
            float((terms**2).sum()),
        )

    @property
    def n_signs(self) -> int:
        """Number of clusters that change their sign."""
        return int(self.kinds[0].max()) + 1

    def ratios(self, signs: FloatArray) -> FloatArray:
        """Score over standard error (draws, m) after these changes of signs (draws, clusters)."""
        by_cell = signs[:, self.kinds[0]]  # (draws, c)
        mean = by_cell @ self.residual_sum / self.stratum_rows  # (draws, s)
        score = by_cell[:, :, None] * self.score - np.einsum("cms,ds->dcm", self.column_sum, mean, optimize=True)
        variances = [self._variance(kind, score) for kind in self.kinds]
        if len(self.kinds) > 1:
            variances.append(sum(variances) - (score**2).sum(axis=1))
        variance = np.maximum.reduce(variances)
        positive = variance > VARIANCE_RTOL * self.scale
        return np.where(positive, score.sum(axis=1) / np.sqrt(np.where(positive, variance, 1.0)), 0.0)

    def _variance(self, kind: IntArray, score: FloatArray) -> FloatArray:
        if int(kind.max()) + 1 == len(kind):
            return np.asarray((score**2).sum(axis=1))
        draws, cells, columns = score.shape
        flat = np.moveaxis(score, 1, 0).reshape(cells, draws * columns)
        return np.asarray(((_indicator(kind) @ flat) ** 2).sum(axis=0).reshape(draws, columns))


def row_weights(kinds: Sequence[IntArray]) -> FloatArray:
    """Weights (n,) that bound the total of each cluster by 1 / ``ASSUMED_CORRELATION``, however many rows it has."""
    codes = (np.unique(kind, return_inverse=True)[1] for kind in kinds)
    sizes = [np.bincount(code)[code] for code in codes]
    return np.asarray(1.0 / (1.0 + ASSUMED_CORRELATION * sum(size - 1 for size in sizes)))


def cluster_robust_ratios(
    columns: FloatArray, outcome: FloatArray, strata: IntArray, kinds: tuple[IntArray, ...], rng: np.random.Generator
) -> FloatArray:
    """Score over standard error of each column (1 + ``RESAMPLES``, m): as observed, then with random signs."""
    scores = ClusterScores.from_rows(columns, outcome, strata, kinds)
    ratios = [scores.ratios(np.ones((1, scores.n_signs)))]
    size = max(1, CHUNK // scores.score.size)
    for start in range(0, RESAMPLES, size):
        count = min(size, RESAMPLES - start)
        ratios.append(scores.ratios(rng.choice([-1.0, 1.0], (count, scores.n_signs))))
    return np.concatenate(ratios)


def crossed_kinds(*kinds: IntArray) -> tuple[IntArray, ...]:
    """The kinds of clusters that matter: not those whose clusters lie within another's, or are single rows."""
    remaining: list[IntArray] = []
    for kind in sorted(kinds, key=lambda each: len(np.unique(each))):
        clusters = len(np.unique(kind))
        nested = any(len(np.unique(np.stack([kind, other]), axis=1).T) == clusters for other in remaining)
        if clusters < len(kind) and not nested:
            remaining.append(kind)
    return tuple(remaining)


def _indicator(code: IntArray) -> sparse.csr_matrix:
    """(clusters, n): one where the row is in the cluster."""
    return sparse.csr_matrix((np.ones(len(code)), (code, np.arange(len(code)))))
