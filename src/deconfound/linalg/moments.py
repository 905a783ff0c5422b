"""What one pass over many rows leaves behind: means and centred second moments that merge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, Matrix
from deconfound.linalg.threads import parallel_map

TILE_ROWS = 2048  # large enough for BLAS to run at full speed, small enough to need little memory of its own
LANES = 4  # fixed, so that the order of summation does not depend on the machine


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted moments of the columns of features and targets, enough to fit any ridge on them.

    ``gram`` and ``cross`` are centred sums, divided by the total weight: the covariance of the features and their
    covariance with the targets. Two passes over two halves of a table merge into the pass over the whole.
    """

    weight: float
    mean: FloatArray  # (d,)
    target: FloatArray  # (m,)
    gram: FloatArray  # (d, d)
    cross: FloatArray  # (d, m)

    @classmethod
    def of(cls, features: Matrix, targets: FloatArray, weight: FloatArray) -> Moments:
        """Moments of (n, d) features and (n, m) targets, one lane of rows a thread."""
        measure = cls._sparse if sparse.issparse(features) else cls._dense
        edges = np.linspace(0, len(weight), LANES + 1).astype(int)
        lanes = [slice(a, b) for a, b in pairwise(edges) if b > a]
        return reduce(cls.merge, parallel_map(lambda t: measure(features[t], targets[t], weight[t]), lanes))

    @classmethod
    def _dense(cls, features: FloatArray, targets: FloatArray, weight: FloatArray) -> Moments:
        total = float(weight.sum())
        share = weight / total
        mean, target = share @ features, share @ targets
        size = features.shape[1]
        gram, product, cross = np.zeros((size, size)), np.empty((size, size)), np.zeros((size, targets.shape[1]))
        for start in range(0, len(share), TILE_ROWS):
            tile = slice(start, start + TILE_ROWS)
            root = np.sqrt(share[tile])[:, None]
            centred = features[tile] - mean
            centred *= root
            # NumPy's product lets other threads run; SciPy's symmetric update, which needs no buffer, does not.
            gram += np.matmul(centred.T, centred, out=product)
            cross += centred.T @ ((targets[tile] - target) * root)
        return cls(total, mean, target, gram, cross)

    @classmethod
    def _sparse(cls, features: Matrix, targets: FloatArray, weight: FloatArray) -> Moments:
        total = float(weight.sum())
        share = weight / total
        mean, target = np.asarray(features.T @ share), share @ targets
        scaled = sparse.diags(share) @ features
        gram = (features.T @ scaled).toarray() - np.outer(mean, mean)
        return cls(total, mean, target, gram, np.asarray(scaled.T @ (targets - target)))

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows together."""
        total = self.weight + other.weight
        a, b = self.weight / total, other.weight / total
        step, leap = other.mean - self.mean, other.target - self.target
        return Moments(
            total,
            self.mean + b * step,
            self.target + b * leap,
            a * self.gram + b * other.gram + (a * b) * np.outer(step, step),
            a * self.cross + b * other.cross + (a * b) * np.outer(step, leap),
        )
