"""Transport weights: carry the experiment's values to the contexts of a target population.

Weights balance the experiment to the target (``balance``). What they leave different is measured (``imbalance``). A
classifier of the two groups, whose odds are the density ratio, shows whether the experiment covers the target at all: a
row's odds come from a classifier that was fitted without the row. Its ridge penalty has the smallest held-out loss; an
infinite penalty is among the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import expit

from deconfound.data import Study
from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.errors import UsageError
from deconfound.features.context_features import (
    REHASH_BUCKETS,
    context_only_columns,
    dense_embedding,
    encode_contexts,
    nearest_distance,
    read_target_contexts,
    stack_standardized,
)
from deconfound.features.study_arrays import StudyArrays
from deconfound.value.balance import ROWS_PER_FEATURE, TwoSamples, balance_features, balancing_weights
from deconfound.value.clusters import Clusters
from deconfound.value.imbalance import checked_features, remaining_imbalance

SUPPORT_QUANTILE = 0.99  # of the distances between the experiment's contexts; a target context beyond it is outside
MAX_WEIGHT = 50.0  # of the mean weight; larger ratios tell more about the classifier than about the target
COMPONENTS = 20  # columns and principal components of contexts that are balanced, at most
CHECKED_COMPONENTS = 60  # those that are not balanced are checked
PENALTIES = (np.inf, 1.0, 0.1, 0.01, 0.001)
FOLDS = 5
MAX_TARGET_ROWS = 2_000  # of a larger target, a random sample is used
MAX_REFERENCE_ROWS = 1_000  # experiment rows that distances are measured to
NEWTON_STEPS = 50
MAX_NEWTON_STEP = 3.0  # of any coefficient: full steps can diverge far from the solution
NEWTON_ATOL = 1e-8
INTERCEPT_RIDGE = 1e-10  # prevents a singular Hessian where the classes are separated
TIE_RTOL = 1e-9  # distances closer than this are equal up to rounding


@dataclass(frozen=True, slots=True, eq=False)
class TransportWeights:
    """The weight of each experiment row for a target, and how well the target is covered."""

    weight: FloatArray  # (n,), mean one
    mean_density_ratio: float  # over the experiment, before normalization; one under full overlap, capped at one
    share_outside_support: float  # of the target's contexts, farther from the experiment's than those from each other
    imbalance: float  # largest significant difference from the target after weighting, in standard deviations
    balanced: FloatArray  # (n, p) features of the experiment's rows that the weights balance
    target_contexts: int  # independent ones behind the weights

    @property
    def effective_rows(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    @classmethod
    def fit(
        cls,
        experiment: FloatArray,
        target: FloatArray,
        seed: int,
        context: IntArray | None = None,
        cluster: IntArray | None = None,
        hashed: int = 0,
    ) -> TransportWeights:
        """Weights for rows with features ``experiment`` (n, d), toward ``target`` (m, d).

        ``context`` (n + m,) numbers the contexts of both, so that rows of one context stay in one fold. ``cluster``
        (n,) or (n, 2) has the rows of the experiment that belong together, by default those of one context. The first
        ``hashed`` features are words.
        """
        both, rows = np.vstack([experiment, target]), len(experiment)
        if not rows or not len(target) or not np.isfinite(both).all():
            raise UsageError("Weights need rows of the experiment and of the target, all of finite numbers.")
        context = np.arange(len(both)) if context is None else context
        clusters = (
            Clusters.from_codes(context[:rows] if cluster is None else cluster, rows),
            Clusters.from_codes(context[rows:], len(target)),
        )
        columns, further = _described_contexts(both, hashed, clusters[0].count)
        features, is_column = balance_features(columns, clusters[0].count)
        samples = TwoSamples.standardized(features, rows, *clusters)
        weight = balancing_weights(samples, is_column)
        weight = np.minimum(weight, MAX_WEIGHT * weight.mean())
        checked = np.hstack([features, checked_features(columns, further, rows)])
        ratio = density_ratio(_unit_length(columns), np.arange(len(both)) >= rows, context, seed)[:rows]
        return cls(
            weight=weight / weight.mean(),
            mean_density_ratio=min(1.0, float(ratio.mean())),
            share_outside_support=_share_outside_support(experiment, target, context[:rows], seed),
            imbalance=remaining_imbalance(TwoSamples.standardized(checked, rows, *clusters), weight),
            balanced=samples.experiment,
            target_contexts=clusters[1].count,
        )


def transport_weights(arrays: StudyArrays, study: Study, target: pa.Table, seed: int) -> TransportWeights | None:
    """Weights for the experiment's rows, in the order of ``arrays``; None where nothing describes contexts."""
    columns = context_only_columns(study)
    if not (study.has_text or columns):
        return None
    ids = pa.array([arrays.replay.contexts[code] for code in arrays.experiment.context], pa.string())
    table = study.experiment.arrow
    rows = table.take(pc.index_in(ids, value_set=table["context_id"].combine_chunks()))
    contexts = read_target_contexts(study, target, columns)
    if contexts.num_rows > MAX_TARGET_ROWS:
        sample = np.random.default_rng(seed).choice(contexts.num_rows, MAX_TARGET_ROWS, replace=False)
        contexts = contexts.take(pa.array(np.sort(sample)))
    tables = encode_contexts((rows, contexts), columns)
    embedding = dense_embedding(stack_standardized([each.features(np.arange(len(each.key))) for each in tables]))
    split = len(tables[0].key)
    context = np.concatenate([each.key for each in tables])
    cluster = arrays.experiment.noise_clusters
    hashed = REHASH_BUCKETS if study.has_text else 0
    return TransportWeights.fit(embedding[:split], embedding[split:], seed, context, cluster, hashed)


def _share_outside_support(experiment: FloatArray, target: FloatArray, context: IntArray, seed: int) -> float:
    """Share of the target beyond the distance within which ``SUPPORT_QUANTILE`` of the experiment have a neighbor."""
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(experiment))[:MAX_REFERENCE_ROWS])
    experiment, context = experiment[sample], context[sample]
    within = np.sort(nearest_distance(experiment, context, experiment, context))
    within = within[np.isfinite(within)]  # a single context has no neighbor
    if not len(within):
        return 0.0
    limit = within[int(np.ceil(SUPPORT_QUANTILE * len(within))) - 1]
    # A target row may be one of the experiment's contexts. It is then inside, so no context is excluded.
    no_context = np.full(len(target), -1, dtype=np.int64)
    return float((nearest_distance(target, no_context, experiment, context) > limit * (1 + TIE_RTOL)).mean())


def _described_contexts(rows: FloatArray, hashed: int, independent_rows: int) -> tuple[FloatArray, FloatArray]:
    """Columns that are balanced, and others that are checked only.

    The first ``hashed`` columns are words, of which principal components are taken; where the others are many, of all.
    """
    words, columns = rows[:, :hashed], rows[:, hashed:]
    if columns.shape[1] > COMPONENTS:
        words, columns = rows, rows[:, :0]
    if not words.shape[1]:
        return columns, words
    components = _principal_components(words)
    count = max(min(COMPONENTS, independent_rows // ROWS_PER_FEATURE) - columns.shape[1], 1)
    return np.hstack([columns, components[:, :count]]), components[:, count:]


def _principal_components(rows: FloatArray) -> FloatArray:
    centered = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    return np.asarray(centered @ vectors[:, ::-1][:, :CHECKED_COMPONENTS])


def _unit_length(rows: FloatArray) -> FloatArray:
    """Rows about their mean, scaled to mean square length one."""
    centered = rows - rows.mean(axis=0)
    size = np.sqrt((centered**2).sum(axis=1).mean())
    return np.asarray(centered / size if size > 0 else centered)


def density_ratio(rows: FloatArray, is_target: NDArray[np.bool_], fold_group: IntArray, seed: int) -> FloatArray:
    """Odds of the target for each row, cross-fitted, at the penalty with the smallest held-out loss.

    Both groups have equal mass, so that the odds are the ratio of the target's density to the others'.
    """
    folds = group_folds(fold_group, FOLDS, seed)
    smallest, best = np.inf, np.zeros(len(rows))
    for penalty in PENALTIES:
        logit = np.zeros(len(rows))
        for fold in folds if np.isfinite(penalty) else ():
            coef = logistic_ridge(rows[fold.train], is_target[fold.train], penalty)
            logit[fold.held_out] = rows[fold.held_out] @ coef[:-1] + coef[-1]
        loss = float(_balanced_weight(is_target) @ np.logaddexp(0.0, np.where(is_target, -logit, logit)))
        if loss < smallest:
            smallest, best = loss, logit
    return np.exp(best)


def _balanced_weight(is_target: NDArray[np.bool_]) -> FloatArray:
    """Weights of total one, half for each group; all zero where a group is empty."""
    counts = np.array([np.count_nonzero(~is_target), np.count_nonzero(is_target)])
    return np.asarray(0.5 / counts[is_target.astype(np.int64)]) if counts.all() else np.zeros(len(is_target))


def logistic_ridge(rows: FloatArray, is_target: NDArray[np.bool_], penalty: float) -> FloatArray:
    """Minimize sum_i w_i log(1 + exp(-+ logit_i)) + penalty / 2 * coef'coef by Newton's method; intercept last."""
    weight = _balanced_weight(is_target)
    columns = np.column_stack([rows, np.ones(len(rows))])
    ridge = np.append(np.full(rows.shape[1], penalty), INTERCEPT_RIDGE)
    coef: FloatArray = np.zeros(columns.shape[1])
    for _ in range(NEWTON_STEPS):
        probability = expit(columns @ coef)
        gradient = columns.T @ (weight * (probability - is_target)) + ridge * coef
        hessian = (columns.T * (weight * probability * (1 - probability))) @ columns + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        coef = coef - step * min(1.0, MAX_NEWTON_STEP / max(float(np.abs(step).max()), INTERCEPT_RIDGE))
        if float(np.abs(step).max()) < NEWTON_ATOL:
            break
    return coef
