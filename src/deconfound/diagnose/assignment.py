"""Which model each experiment row was assigned, and the declared probability of every model that it could have got.

With these probabilities the assignment can be drawn again, which makes every test of A1 exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.permutation_tests import cluster_of_row, sample_clusters
from deconfound.diagnose.thresholds import CLUSTER_DRAW_P, CLUSTER_PERMUTATIONS, PROPENSITY_ATOL

OTHER_MODELS = "any other model"  # what the declared propensities leave to models that no row has
MAX_PERMUTED_ROWS = 20_000  # to find out whether models were drawn by cluster
EQUAL_ATOL = 1e-9  # probabilities closer than this differ by rounding only


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which model was assigned and with which declared probabilities, one row per independent draw."""

    names: tuple[str, ...]
    model: IntArray  # (n,) into names
    probability: FloatArray | None  # (n, k) of every model, rows sum to one; None where the data do not determine it
    rows: IntArray  # (n,) rows of the experiment's table
    by_cluster: bool  # whether these are one row per cluster

    def __len__(self) -> int:
        return len(self.model)

    @property
    def counts(self) -> IntArray:
        """Rows per model."""
        return np.bincount(self.model, minlength=len(self.names))

    @property
    def indicator(self) -> FloatArray:
        """(n, k): one where the model was assigned."""
        return np.eye(len(self.names))[self.model]

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same probabilities."""
        return self.probability is not None and bool((np.ptp(self.probability, axis=0) <= EQUAL_ATOL).all())

    @property
    def is_certain(self) -> bool:
        """Whether every row could get only the model that it got: then nothing was randomized."""
        return self.probability is not None and bool((self.probability.max(axis=1) >= 1.0 - EQUAL_ATOL).all())

    def require_probability(self) -> FloatArray:
        """The probabilities; an error where they are unknown."""
        if self.probability is None:
            raise ValueError("the probabilities of the other models are unknown")
        return self.probability

    def take(self, index: IntArray) -> Assignment:
        """The draws at ``index``."""
        probability = None if self.probability is None else self.probability[index]
        return Assignment(self.names, self.model[index], probability, self.rows[index], self.by_cluster)


def read_assignment(study: Study, seed: int) -> Assignment:
    """Read the experiment's assignments; where models were drawn by cluster, take one row per cluster at random.

    Whatever the dependence within clusters, one row of each is an independent draw with its declared probabilities.
    Where the table has units, models were drawn for these; otherwise repeated models show it.
    """
    table, declared = study.experiment.arrow, study.experiment.propensities()
    occurring = study.experiment.unique_values("model")
    candidates = dict.fromkeys((*study.models, *study.uncompared_models, *declared))
    names = tuple(name for name in candidates if name in occurring or name in study.models or name in declared)
    _, model = encode(table["model"], names)
    if declared:
        probability = declared_probabilities(names, declared, len(model))
    elif "propensity" in table.column_names:
        names, known = reconstruct_probabilities(names, model, table["propensity"].to_numpy())
        if known is None:
            return Assignment(names, model, None, np.arange(len(model)), by_cluster=False)
        probability = known
    else:
        probability = np.full((len(model), len(names)), 1.0 / len(names))
    assignment = Assignment(names, model, probability, np.arange(len(model)), by_cluster=False)
    rng = np.random.default_rng(seed)
    if "unit" in table.column_names:
        rows = one_row_per_cluster(encode(table["unit"], None)[1], rng)
        return Assignment(names, model[rows], probability[rows], rows, by_cluster=len(rows) < len(model))
    cluster = cluster_of_row(table)
    if within_cluster_repeat_p_value(cluster, assignment, rng) >= CLUSTER_DRAW_P:
        return assignment
    rows = one_row_per_cluster(cluster, rng)
    return Assignment(names, model[rows], probability[rows], rows, by_cluster=True)


# --- probabilities ---


def declared_probabilities(names: tuple[str, ...], declared: dict[str, FloatArray], rows: int) -> FloatArray:
    """The probabilities (n, k) from one column per model, scaled to sum to one; a model without a column has zero."""
    matrix = np.column_stack([declared.get(name, np.zeros(rows)) for name in names])
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def reconstruct_probabilities(
    names: tuple[str, ...], model: IntArray, propensity: FloatArray
) -> tuple[tuple[str, ...], FloatArray | None]:
    """Models and their probabilities (n, k) where the assigned model's propensity determines them, else None.

    That is so where each model has one propensity in all rows, where there are two models, or where every propensity
    is one.
    """
    if (propensity >= 1.0 - EQUAL_ATOL).all():
        return names, np.eye(len(names))[model]
    shares = constant_shares(len(names), model, propensity)
    if shares is not None:
        rest = 1.0 - shares.sum()
        if rest > PROPENSITY_ATOL * len(names):
            names, shares = (*names, OTHER_MODELS), np.append(shares, rest)
        return names, np.tile(shares / shares.sum(), (len(model), 1))
    if len(names) == 2:
        first = np.where(model == 0, propensity, 1.0 - propensity)
        return names, np.column_stack([first, 1.0 - first])
    return names, None


def constant_shares(models: int, model: IntArray, propensity: FloatArray) -> FloatArray | None:
    """The declared propensity of each model where it is the same for all rows, else None.

    Models that were never assigned share what the others leave.
    """
    low, high = np.full(models, np.inf), np.zeros(models)
    np.minimum.at(low, model, propensity)
    np.maximum.at(high, model, propensity)
    occurs = high > 0
    if (high[occurs] - low[occurs] > PROPENSITY_ATOL).any():
        return None
    share = np.where(occurs, (low + high) / 2, 0.0)
    rest = 1.0 - share.sum()
    if rest < -PROPENSITY_ATOL * models:
        return None  # they sum to more than one, so they cannot apply to the same row
    if not occurs.all():
        share[~occurs] = max(rest, 0.0) / (~occurs).sum()
    return share


def contradictory_total(assignment: Assignment, propensity: FloatArray) -> float | None:
    """The sum of the models' propensities where each has one in all rows and they sum to more than one, else None."""
    models = len(assignment.names)
    low, high = np.full(models, np.inf), np.zeros(models)
    np.minimum.at(low, assignment.model, propensity)
    np.maximum.at(high, assignment.model, propensity)
    occurs = high > 0
    if (high[occurs] - low[occurs] > PROPENSITY_ATOL).any():
        return None
    total = float(((low + high) / 2)[occurs].sum())
    return total if total > 1.0 + PROPENSITY_ATOL * models else None


def redraw(probability: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Models (count, n) drawn independently, each row with its own probabilities."""
    uniform = rng.random((count, len(probability)))
    model = np.zeros(uniform.shape, dtype=np.int64)
    for limit in probability.cumsum(axis=1).T[:-1]:
        model += uniform >= limit
    return model


# --- independent draws ---


def within_cluster_repeat_p_value(cluster: IntArray, assignment: Assignment, rng: np.random.Generator) -> float:
    """p-value of the number of pairs of rows in one cluster with the same model, against independent assignments.

    These are permutations of the models, or models drawn again where the probabilities vary: clusters with
    probabilities of their own repeat models even if every row was drawn by itself.
    """
    rows = sample_clusters(cluster, MAX_PERMUTED_ROWS, rng)
    _, cluster = np.unique(cluster[rows], return_inverse=True)
    sampled = assignment.take(rows)
    clusters, models = int(cluster.max()) + 1, len(assignment.names)
    if clusters == len(cluster):
        return 1.0

    def pairs(assigned: IntArray) -> int:
        return int((np.bincount(cluster * models + assigned, minlength=clusters * models) ** 2).sum())

    constant, probability = assignment.is_constant, sampled.require_probability()

    def independent() -> IntArray:
        return rng.permutation(sampled.model) if constant else redraw(probability, 1, rng)[0]

    observed = pairs(sampled.model)
    at_least_observed = sum(pairs(independent()) >= observed for _ in range(CLUSTER_PERMUTATIONS))
    return (1 + at_least_observed) / (1 + CLUSTER_PERMUTATIONS)


def one_row_per_cluster(cluster: IntArray, rng: np.random.Generator) -> IntArray:
    """One random row of each cluster, in the order of the table."""
    order = rng.permutation(len(cluster))
    return np.sort(order[np.unique(cluster[order], return_index=True)[1]])
