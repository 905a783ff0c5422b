"""What one pass over many rows leaves behind: means and centred second moments that merge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, Matrix
from deconfound.linalg.threads import in_threads

TILE_ROWS = 4096  # large enough for BLAS to run at full speed, small enough to stay clear of its threading bugs
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
        """Moments of (n, d) features and (n, m) targets in tiles, one lane of tiles a thread."""
        if sparse.issparse(features):
            return cls._sparse(features, targets, weight)
        edges = range(0, len(weight), TILE_ROWS)
        lanes = [list(edges)[lane::LANES] for lane in range(LANES)]

        def run(lane: list[int]) -> Moments:
            tiles = (slice(start, start + TILE_ROWS) for start in lane)
            return reduce(cls.merge, (cls._dense(features[t], targets[t], weight[t]) for t in tiles))

        return reduce(cls.merge, in_threads(run, [lane for lane in lanes if lane]))

    @classmethod
    def _dense(cls, features: FloatArray, targets: FloatArray, weight: FloatArray) -> Moments:
        total = float(weight.sum())
        share = weight / total
        mean, target = share @ features, share @ targets
        root = np.sqrt(share)[:, None]
        centred = (features - mean) * root
        return cls(total, mean, target, centred.T @ centred, centred.T @ ((targets - target) * root))

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
