"""A3: did the outcomes of the same model change over time?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data import Table
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.cluster_robust_tests import cluster_robust_ratios, crossed_kinds, row_weights
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.permutation_tests import (
    TIE_RTOL,
    LeaveOneOutRidge,
    PredictionTest,
    center_within,
    cluster_of_row,
    cosine_basis,
    permute_within,
    prediction_test,
    sample_clusters,
    time_quantile,
)
from deconfound.diagnose.thresholds import MIN_CLUSTERS, MIN_OUTCOME_ROWS
from deconfound.findings import Finding

TIME_PENALTY = 1e-3  # of n: the cosines are orthogonal and need next to none
MAX_TESTED_ROWS = 5_000  # of more, whole clusters are sampled


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class OutcomeDrift:
    """Change of the mean outcome within models, from the first half of the time to the second."""

    table: str
    mean_shift: float


@dataclass(frozen=True, slots=True)
class DriftUntested:
    """No time column, or too few rows, clusters or distinct times to detect a drift."""

    source: str
    has_time: bool


# --- the check ---


def check_drift(table: Table, seed: int) -> Finding | PendingFinding:
    """Whether outcomes of the same model changed over time."""
    name = f"outcome over time ({table.role})"
    if "time" not in table.arrow.column_names:
        return Finding(name, "cannot tell", DriftUntested(table.source, has_time=False), "A3")
    model, context = (encode(table.arrow[column], None)[1] for column in ("model", "context_id"))
    cluster = cluster_of_row(table.arrow)
    rows = sample_clusters(cluster, MAX_TESTED_ROWS, np.random.default_rng(seed))
    outcome, time = (table.arrow[column].to_numpy()[rows] for column in ("outcome", "time"))
    model, cluster, context = model[rows], cluster[rows], context[rows]
    if len(rows) < MIN_OUTCOME_ROWS or len(np.unique(cluster)) < MIN_CLUSTERS or len(np.unique(time)) < 2:
        return Finding(name, "cannot tell", DriftUntested(table.source, has_time=True), "A3")
    test = drift_test(outcome, time, model, cluster, context, seed)
    early, residual = time_quantile(time) < 0.5, center_within(outcome[:, None], model)[:, 0]
    mean_shift = float(residual[~early].mean() - residual[early].mean())
    return PendingFinding(name, "A3", OutcomeDrift(table.role, mean_shift), test.statistic, test.p_value, worst="warn")


def drift_test(
    outcome: FloatArray, time: FloatArray, model: IntArray, cluster: IntArray, context: IntArray, seed: int
) -> PredictionTest:
    """Test that time predicts the outcome within models.

    Rows of one cluster or of one context may have correlated outcomes. A few contexts that all rows share are no
    sample of contexts: outcomes are then compared within them.
    """
    rng = np.random.default_rng(seed)
    strata = model
    if len(np.unique(context)) < MIN_CLUSTERS:
        strata, context = np.unique(np.stack([model, context]), axis=1, return_inverse=True)[1].ravel(), cluster
    kinds = crossed_kinds(cluster, context)
    if kinds:
        return clustered_drift_test(outcome, time, strata, kinds, rng)
    target = center_within(outcome[:, None], strata)
    time_ridge = LeaveOneOutRidge.fit(center_within(cosine_basis(time), strata), TIME_PENALTY * len(time))
    return prediction_test([time_ridge], target, permute_within(target, strata), rng)


def clustered_drift_test(
    outcome: FloatArray, time: FloatArray, strata: IntArray, kinds: tuple[IntArray, ...], rng: np.random.Generator
) -> PredictionTest:
    """The sum of the squared cluster-robust ratios of all cosines, against that with random signs."""
    cosines = cosine_basis(time, row_weights(kinds))
    values = (cluster_robust_ratios(cosines, outcome, strata, kinds, rng) ** 2).sum(axis=1)
    sd = float(values.std())
    statistic = 0.0 if sd <= TIE_RTOL else float((values[0] - values.mean()) / sd)
    return PredictionTest(statistic, float((values >= values[0] - TIE_RTOL).mean()))
