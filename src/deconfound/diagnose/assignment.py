"""How the experiment says it drew its models, as far as its tables tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray

SAME = 0.005  # declared propensities of one model that differ by less are one, up to printed decimals
STUCK = 0.01  # p-value below which models repeat within clusters too often for a draw of each row by itself
SHUFFLES = 999
MOST_SHUFFLED = 20_000  # rows; more would only make a clear matter clearer


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who was drawn, with which declared probability; one row for each independent draw."""

    names: tuple[str, ...]
    model: IntArray  # (n,) into names
    propensity: FloatArray  # (n,) of the model drawn
    rows: IntArray  # (n,) rows of the experiment's table
    by_cluster: bool  # whether only one row of each cluster is here

    def __len__(self) -> int:
        return len(self.model)

    @property
    def counts(self) -> IntArray:
        """Rows of each model."""
        return np.bincount(self.model, minlength=len(self.names))

    @property
    def shares(self) -> FloatArray | None:
        """The probability of each model where it was the same for every row; None where it varied.

        A model that was never drawn is given what the others leave.
        """
        seen = self.counts > 0
        low = np.full(len(self.names), np.inf)
        high = np.zeros(len(self.names))
        np.minimum.at(low, self.model, self.propensity)
        np.maximum.at(high, self.model, self.propensity)
        if (high[seen] - low[seen] > SAME).any():
            return None
        share = np.where(seen, (low + high) / 2, 0.0)
        rest = 1.0 - share.sum()
        if rest < -SAME * len(self.names):
            return None  # they sum to more than one, so they cannot all have held in the same row
        if not seen.all():
            share[~seen] = max(rest, 0.0) / (~seen).sum()
        return share

    @property
    def indicator(self) -> FloatArray:
        """(n, k): one where the model was drawn."""
        return np.eye(len(self.names))[self.model]

    @property
    def residual(self) -> FloatArray:
        """(n, k) of mean zero in every row: deviation from the shares, or from one after weighing by propensity.

        Weighed deviations are brought to the size of plain ones; else the rarest model would drown all others.
        """
        if self.shares is not None:
            return self.indicator - self.counts / len(self)
        weighed = self.indicator / self.propensity[:, None]
        size = weighed.sum(axis=0) / np.maximum((weighed**2).sum(axis=0), 1.0)
        return np.asarray((weighed - 1.0) * size)


def assignment(study: Study, seed: int) -> Assignment:
    """Read the experiment's draws; where the model was drawn once for several rows of a cluster, keep one of them.

    Whatever the dependence within clusters, one row of each is an independent draw with its declared probability.
    """
    table = study.experiment.arrow
    occurring = study.experiment.unique_values("model")
    names = tuple(
        name for name in (*study.models, *study.uncompared_models) if name in occurring or name in study.models
    )
    _, model = encode(table["model"], names)
    if "propensity" in table.column_names:
        propensity = table["propensity"].to_numpy()
    else:
        propensity = np.full(len(model), 1.0 / len(names))
    rng = np.random.default_rng(seed)
    _, cluster = encode(table["cluster" if "cluster" in table.column_names else "context_id"], None)
    by_cluster = repeats_within(cluster, model, rng) < STUCK
    rows = one_of_each(cluster, rng) if by_cluster else np.arange(len(model))
    return Assignment(names, model[rows], np.asarray(propensity)[rows], rows, by_cluster)


def repeats_within(cluster: IntArray, model: IntArray, rng: np.random.Generator) -> float:
    """p-value of the number of pairs in one cluster that share their model, against shuffled models."""
    kept = _some_clusters(cluster, rng)
    _, cluster = np.unique(cluster[kept], return_inverse=True)
    model = model[kept]
    clusters, models = int(cluster.max()) + 1, int(model.max()) + 1
    if clusters == len(cluster):
        return 1.0

    def pairs(drawn: IntArray) -> int:
        return int((np.bincount(cluster * models + drawn, minlength=clusters * models) ** 2).sum())

    observed = pairs(model)
    as_many = sum(pairs(rng.permutation(model)) >= observed for _ in range(SHUFFLES))
    return (1 + as_many) / (1 + SHUFFLES)


def _some_clusters(cluster: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of whole clusters, about ``MOST_SHUFFLED`` of them."""
    if len(cluster) <= MOST_SHUFFLED:
        return np.arange(len(cluster))
    place = rng.permutation(int(cluster.max()) + 1)[cluster]
    edge = np.sort(place)[MOST_SHUFFLED]
    return np.flatnonzero(place <= edge)


def one_of_each(cluster: IntArray, rng: np.random.Generator) -> IntArray:
    """One row of each cluster, drawn at random, in the order of the table."""
    order = rng.permutation(len(cluster))
    return np.sort(order[np.unique(cluster[order], return_index=True)[1]])
