"""A1: were the experiment's models drawn as declared, whatever the context and the time?

Three tests. Where each model has one declared propensity for all rows, their p-values are exact up to the number of
resamples: counts against multinomial draws, time and context against permutations of the models. Where propensities
vary between rows only that of the assigned model is declared. The deviations 1{assigned} / propensity - 1, of mean zero
in every row, then replace the indicators, with a normal approximation for the counts and sign flips for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import (
    LeaveOneOutRidge,
    PredictionTest,
    Resample,
    cluster_of_row,
    cosine_basis,
    flip_clusters,
    permute_within,
    prediction_test,
    sample_clusters,
    time_quantile,
)
from deconfound.diagnose.thresholds import (
    CLUSTER_DRAW_P,
    CLUSTER_PERMUTATIONS,
    MIN_DRAWS,
    MIN_EXPECTED_ROWS,
    MULTINOMIAL_DRAWS,
    PROPENSITY_ATOL,
)
from deconfound.features.context_features import context_blocks
from deconfound.findings import Finding

SAMPLE_RATIO, OVER_TIME, BY_CONTEXT = "sample ratio", "assignment over time", "assignment by context"
MAX_TESTED_ROWS = 5_000  # of the tests of time and context; of more, a sample is tested
MAX_PERMUTED_ROWS = 20_000  # to find out whether models were drawn by cluster
TEXT_PENALTY, SURFACE_PENALTY = 0.01, 1.0  # of n: many weak directions of words, few strong ones of the surface
TIME_PENALTY = 1e-3  # of n: the cosines are orthogonal and need next to none
TIE_RTOL = 1e-9  # statistics closer than this differ by rounding only


@dataclass(frozen=True, slots=True)
class Assignment:
    """Which model was assigned and with which declared propensity, one row per independent draw."""

    names: tuple[str, ...]
    model: IntArray  # (n,) into names
    propensity: FloatArray  # (n,) of the assigned model
    rows: IntArray  # (n,) rows of the experiment's table
    by_cluster: bool  # whether these are one row per cluster

    def __len__(self) -> int:
        return len(self.model)

    @property
    def counts(self) -> IntArray:
        """Rows per model."""
        return np.bincount(self.model, minlength=len(self.names))

    @property
    def shares(self) -> FloatArray | None:
        """The declared propensity of each model where it is the same for all rows, else None.

        Models that were never assigned share what the others leave.
        """
        occurs = self.counts > 0
        low = np.full(len(self.names), np.inf)
        high = np.zeros(len(self.names))
        np.minimum.at(low, self.model, self.propensity)
        np.maximum.at(high, self.model, self.propensity)
        if (high[occurs] - low[occurs] > PROPENSITY_ATOL).any():
            return None
        share = np.where(occurs, (low + high) / 2, 0.0)
        rest = 1.0 - share.sum()
        if rest < -PROPENSITY_ATOL * len(self.names):
            return None  # they sum to more than one, so they cannot apply to the same row
        if not occurs.all():
            share[~occurs] = max(rest, 0.0) / (~occurs).sum()
        return share

    @property
    def indicator(self) -> FloatArray:
        """(n, k): one where the model was assigned."""
        return np.eye(len(self.names))[self.model]

    @property
    def inverse_propensity(self) -> FloatArray:
        """(n, k): one over the propensity where the model was assigned, of mean one in every row."""
        return np.asarray(self.indicator / self.propensity[:, None])

    @property
    def residual(self) -> FloatArray:
        """(n, k) of mean zero in every row: deviations from the shares, or inverse propensities minus one.

        The latter are scaled to the size of plain deviations; otherwise the rarest model would dominate.
        """
        if self.shares is not None:
            return self.indicator - self.counts / len(self)
        weighted = self.inverse_propensity
        size = weighted.sum(axis=0) / np.maximum((weighted**2).sum(axis=0), 1.0)
        return np.asarray((weighted - 1.0) * size)


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class TooFewDraws:
    """Too few independent assignments for any test."""

    draws: int
    by_cluster: bool


@dataclass(frozen=True, slots=True)
class TooFewExpectedRows:
    """Varying propensities, with too few expected rows of some model for the normal approximation."""

    expected: float
    minimum: float


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Observed and expected rows per model, under one declared propensity per model."""

    models: tuple[str, ...]
    counts: tuple[int, ...]
    expected: tuple[float, ...]
    by_cluster: bool


@dataclass(frozen=True, slots=True)
class WeightedSampleRatio:
    """Observed over expected rows per model, estimated by inverse propensities that vary between rows."""

    models: tuple[str, ...]
    ratios: tuple[float, ...]
    draws: int
    by_cluster: bool


@dataclass(frozen=True, slots=True)
class MissingTime:
    """A table without a time column."""

    source: str


@dataclass(frozen=True, slots=True)
class AssignmentDrift:
    """The model whose share changed most between the two halves of the experiment's time."""

    model: str
    first_half: float
    second_half: float


@dataclass(frozen=True, slots=True)
class AssignmentByContext:
    """A test of whether contexts predict the assigned model."""

    draws: int


@dataclass(frozen=True, slots=True)
class IdenticalContexts:
    """Contexts that do not differ in any feature."""

    draws: int


# --- the checks ---


def check_randomization(study: Study, seed: int) -> tuple[Finding | PendingFinding, ...]:
    """Counts against the declared propensities, then time and context as predictors of the model."""
    assignment = read_assignment(study, seed)
    return (
        check_sample_ratio(assignment, seed),
        check_assignment_over_time(study, assignment, seed),
        check_assignment_by_context(study, assignment, seed),
    )


def check_sample_ratio(assignment: Assignment, seed: int) -> Finding | PendingFinding:
    """Sample-ratio test: the rows of each model against their declared number."""
    if len(assignment) < MIN_DRAWS:
        return _too_few(SAMPLE_RATIO, assignment)
    shares = assignment.shares
    if shares is not None:
        statistic, p = sample_ratio_test(assignment, seed)
        counts, expected = (tuple(x.tolist()) for x in (assignment.counts, len(assignment) * shares))
        ratio = SampleRatio(assignment.names, counts, expected, assignment.by_cluster)
        return PendingFinding(SAMPLE_RATIO, "A1", ratio, statistic, p)
    smallest = float(expected_rows(assignment).min())
    if smallest < MIN_EXPECTED_ROWS:
        too_few = TooFewExpectedRows(smallest, MIN_EXPECTED_ROWS)
        return Finding(SAMPLE_RATIO, "cannot tell", too_few, "A1")
    z, p = weighted_sample_ratio_test(assignment)
    ratios = tuple(assignment.inverse_propensity.mean(axis=0).tolist())
    weighted = WeightedSampleRatio(assignment.names, ratios, len(assignment), assignment.by_cluster)
    return PendingFinding(SAMPLE_RATIO, "A1", weighted, z if np.isfinite(z) else None, p)


def check_assignment_over_time(study: Study, assignment: Assignment, seed: int) -> Finding | PendingFinding:
    """Whether the shares of the models changed while the experiment ran."""
    table = study.experiment.arrow
    if "time" not in table.column_names:
        return Finding(OVER_TIME, "cannot tell", MissingTime(study.experiment.source), "A1")
    time = table["time"].to_numpy()[assignment.rows]
    if len(assignment) < MIN_DRAWS or len(np.unique(time)) < 2:
        return _too_few(OVER_TIME, assignment)
    test = predict_assignment((cosine_basis(time),), (TIME_PENALTY,), assignment, seed)
    early = time_quantile(time) < 0.5
    first, second = assignment.indicator[early].mean(axis=0), assignment.indicator[~early].mean(axis=0)
    largest = int(np.abs(second - first).argmax())
    drift = AssignmentDrift(assignment.names[largest], float(first[largest]), float(second[largest]))
    return PendingFinding(OVER_TIME, "A1", drift, test.statistic, test.p_value)


def check_assignment_by_context(study: Study, assignment: Assignment, seed: int) -> Finding | PendingFinding:
    """Whether a classifier on the context's features predicts the model better than chance."""
    if len(assignment) < MIN_DRAWS:
        return _too_few(BY_CONTEXT, assignment)
    blocks = context_blocks(study, study.experiment.arrow.take(assignment.rows), seed)
    if not any(block.any() for block in blocks):
        return Finding(BY_CONTEXT, "cannot tell", IdenticalContexts(len(assignment)), "A1")
    penalties = (TEXT_PENALTY, SURFACE_PENALTY) if study.has_text else (SURFACE_PENALTY,)
    test = predict_assignment(blocks, penalties, assignment, seed)
    return PendingFinding(BY_CONTEXT, "A1", AssignmentByContext(len(assignment)), test.statistic, test.p_value)


def _too_few(check: str, assignment: Assignment) -> Finding:
    return Finding(check, "cannot tell", TooFewDraws(len(assignment), assignment.by_cluster), "A1")


# --- the tests ---


def sample_ratio_test(assignment: Assignment, seed: int) -> tuple[float, float]:
    """Pearson's chi-square of the counts, and its p-value against multinomial draws with the declared shares."""
    shares = assignment.shares
    if shares is None:
        raise ValueError("the propensities vary")
    rest = 1.0 - shares.sum()
    undeclared = [rest] if rest > PROPENSITY_ATOL * len(shares) else []  # declared for models that no row has
    expected = np.append(shares, undeclared)
    expected = expected / expected.sum()
    counts = np.append(assignment.counts, [0] * len(undeclared))
    possible = expected > 0
    rows = len(assignment)
    draws = np.random.default_rng(seed).multinomial(rows, expected[possible], MULTINOMIAL_DRAWS)
    observed, simulated = (chi_square(x, rows * expected[possible]) for x in (counts[None, possible], draws))
    at_least_observed = (simulated >= observed[0] * (1 - TIE_RTOL)).sum()
    return float(observed[0]), float((1 + at_least_observed) / (1 + MULTINOMIAL_DRAWS))


def chi_square(counts: IntArray, expected: FloatArray) -> FloatArray:
    """Sum of squared deviations over expectations, for each row of counts."""
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=1))


def weighted_sample_ratio_test(assignment: Assignment) -> tuple[float, float]:
    """Largest z-score of the summed inverse propensities over the models, and its Bonferroni-adjusted p-value.

    The variance involves the mean of 1 / propensity over all rows; rows that were assigned the model, weighted by
    1 / propensity, estimate it.
    """
    inverse, occurs = assignment.inverse_propensity, assignment.counts > 0
    total = inverse.sum(axis=0)[occurs]
    variance = len(assignment) * ((inverse**2).sum(axis=0)[occurs] / total - 1.0)
    deviation = np.abs(total - len(assignment))
    # A propensity of one in every row has no variance: any deviation is then impossible.
    impossible = np.where(deviation > 0, np.inf, 0.0)
    z = np.where(variance > 0, deviation / np.sqrt(np.maximum(variance, 1e-300)), impossible)
    return float(z.max()), float(min(1.0, 2 * occurs.sum() * stats.norm.sf(z.max())))


def expected_rows(assignment: Assignment) -> FloatArray:
    """Expected rows of each model that occurs, estimated from the rows that were assigned it."""
    inverse, occurs = assignment.inverse_propensity, assignment.counts > 0
    return np.asarray(len(assignment) * inverse.sum(axis=0)[occurs] / (inverse**2).sum(axis=0)[occurs])


def predict_assignment(
    blocks: tuple[FloatArray, ...], penalties: tuple[float, ...], assignment: Assignment, seed: int
) -> PredictionTest:
    """Test that some block of features predicts the assigned model."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(assignment))[:MAX_TESTED_ROWS])
    target = assignment.residual[rows]
    resample: Resample = flip_clusters(target, np.arange(len(rows)))
    if assignment.shares is not None:
        target = target - target.mean(axis=0)
        resample = permute_within(target, np.zeros(len(rows), dtype=np.int64))
    ridges = [
        LeaveOneOutRidge.fit(block[rows], penalty * len(rows)) for block, penalty in zip(blocks, penalties, strict=True)
    ]
    return prediction_test(ridges, target, resample, rng)


# --- independent draws ---


def read_assignment(study: Study, seed: int) -> Assignment:
    """Read the experiment's assignments; where models were drawn by cluster, take one row per cluster at random.

    Whatever the dependence within clusters, one row of each is an independent draw with its declared propensity.
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
    cluster = cluster_of_row(table)
    by_cluster = within_cluster_repeat_p_value(cluster, model, rng) < CLUSTER_DRAW_P
    rows = one_row_per_cluster(cluster, rng) if by_cluster else np.arange(len(model))
    return Assignment(names, model[rows], np.asarray(propensity)[rows], rows, by_cluster)


def within_cluster_repeat_p_value(cluster: IntArray, model: IntArray, rng: np.random.Generator) -> float:
    """p-value of the number of pairs of rows in one cluster with the same model, against permuted models."""
    rows = sample_clusters(cluster, MAX_PERMUTED_ROWS, rng)
    _, cluster = np.unique(cluster[rows], return_inverse=True)
    model = model[rows]
    clusters, models = int(cluster.max()) + 1, int(model.max()) + 1
    if clusters == len(cluster):
        return 1.0

    def pairs(assigned: IntArray) -> int:
        return int((np.bincount(cluster * models + assigned, minlength=clusters * models) ** 2).sum())

    observed = pairs(model)
    at_least_observed = sum(pairs(rng.permutation(model)) >= observed for _ in range(CLUSTER_PERMUTATIONS))
    return (1 + at_least_observed) / (1 + CLUSTER_PERMUTATIONS)


def one_row_per_cluster(cluster: IntArray, rng: np.random.Generator) -> IntArray:
    """One random row of each cluster, in the order of the table."""
    order = rng.permutation(len(cluster))
    return np.sort(order[np.unique(cluster[order], return_index=True)[1]])
