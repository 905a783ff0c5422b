"""A2: does the replay run what the experiment ran, and are its outputs among those that the experiment saw?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import betaln

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.thresholds import (
    FAIL_OUTSIDE_SUPPORT,
    MIN_STRATA,
    SUPPORT_QUANTILE,
    WARN_OUTSIDE_SUPPORT,
)
from deconfound.diagnose.two_sample_data import TwoSampleData, subsample_strata
from deconfound.diagnose.two_sample_test import TwoSampleResult, two_sample_test
from deconfound.features import FeatureBlocks
from deconfound.features.context_features import nearest_distance, rehash
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding, Verdict

FIDELITY, SUPPORT, DRAWS = "replay fidelity", "replay support", "replay draws"
MAX_REFERENCE_ROWS = 500  # experiment rows per model that distances are measured to
MAX_REPLAYED_ROWS = 1_000  # replayed outputs per model whose distance is measured
MAX_PROPENSITY_RATIO = 1.5  # of one model; beyond, its experiment outputs are not those of all contexts alike
TIE_RTOL = 1e-9  # distances closer than this are equal up to rounding


# --- details of the findings ---


@dataclass(frozen=True, slots=True)
class TooFewCells:
    """Too few cells of one context and one model in which outputs and replay can be compared."""

    minimum: int


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """A two-sample test of replayed outputs against those of another source, within cells of context and model.

    ``models`` are those that differ by themselves, with the AUC of each. Of the experiment, ``repeated_rows`` have the
    context, model and output of an earlier row: copies, retries or cached outputs. One row per cell is compared.
    ``repeated_draws`` are replay rows that equal an earlier draw of their cell; as copies they would differ together.
    """

    other_source: str  # "experiment" or "log"
    auc: float
    cells: int
    models: tuple[str, ...]
    model_aucs: tuple[float, ...]
    repeated_rows: int
    repeated_draws: int = 0


@dataclass(frozen=True, slots=True)
class OutsideSupport:
    """Shares of replayed outputs unlike any output of the same model in the experiment.

    ``models`` are those with a notable and significant share, the largest first; ``unchecked_models`` have too few
    experiment rows.
    """

    largest_share: float
    models: tuple[str, ...]
    shares: tuple[float, ...]
    unchecked_models: tuple[str, ...]
    minimum_rows: int


@dataclass(frozen=True, slots=True)
class SupportUntested:
    """No model has enough experiment rows to describe its outputs."""

    minimum_rows: int


@dataclass(frozen=True, slots=True)
class ReplayDraws:
    """Which contexts lack a model, and which cells have fewer draws than their model's others.

    A baseline that always writes the same needs one draw, so the usual number is that of each model: a median over its
    cells, from ``least_draws`` to ``draws``.
    """

    contexts: int
    incomplete_contexts: int
    cells: int
    short_cells: int
    draws: int
    least_draws: int


# --- the checks ---


def check_replay_fidelity(arrays: StudyArrays, seed: int, level: float) -> tuple[Finding | PendingFinding, ...]:
    """Whether replay and experiment have the same outputs, where replay extrapolates, and what it lacks."""
    result = compare_experiment_outputs(arrays, seed)
    fidelity: Finding | PendingFinding
    if result is None:
        fidelity = Finding(FIDELITY, "cannot tell", TooFewCells(MIN_STRATA), "A2")
    else:
        rows = arrays.experiment
        repeated = count_repeated_rows(rows.blocks, rows.context, rows.model)
        details = output_difference(result, "experiment", arrays, level, repeated)
        fidelity = PendingFinding(FIDELITY, "A2", details, result.auc, result.p_value)
    return fidelity, check_support(arrays, seed, level), check_draws(arrays)


def output_difference(
    result: TwoSampleResult, other_source: str, arrays: StudyArrays, level: float, repeated_rows: int = 0
) -> OutputDifference:
    """The comparison with the models that differ by themselves."""
    differing = result.significant_subgroups(level)
    names = tuple(arrays.models[subgroup.code] for subgroup in differing)
    aucs = tuple(subgroup.auc for subgroup in differing)
    draws = count_repeated_rows(arrays.replay.blocks, arrays.replay.context, arrays.replay.model)
    return OutputDifference(other_source, result.auc, result.strata, names, aucs, repeated_rows, draws)


def check_support(arrays: StudyArrays, seed: int, level: float) -> Finding | PendingFinding:
    """Whether replayed outputs are like those on which the reward was learned."""
    by_model = support_by_model(arrays, seed)
    if not by_model:
        return Finding(SUPPORT, "cannot tell", SupportUntested(MIN_STRATA), "A2")
    largest = max(each.share_outside for each in by_model)
    p_value = support_p_value(by_model)
    notable = [each for each in by_model if each.share_outside >= WARN_OUTSIDE_SUPPORT]
    flagged = [each for each in notable if len(by_model) * each.p_value < 1.0 - level]
    flagged.sort(key=lambda each: -each.share_outside)
    checked = {each.model for each in by_model}
    details = OutsideSupport(
        largest,
        tuple(arrays.models[each.model] for each in flagged),
        tuple(each.share_outside for each in flagged),
        tuple(name for code, name in enumerate(arrays.models) if code not in checked),
        MIN_STRATA,
    )
    worst: Verdict = "fail" if largest >= FAIL_OUTSIDE_SUPPORT else "warn"
    return PendingFinding(SUPPORT, "A2", details, largest, p_value, worst)


def check_draws(arrays: StudyArrays) -> Finding:
    """Whether every model was replayed on every context, each time equally often."""
    replay = arrays.replay
    draws = np.bincount(
        replay.context * replay.n_models + replay.model, minlength=len(replay.contexts) * replay.n_models
    )
    by_model = draws.reshape(-1, replay.n_models)
    incomplete = int((by_model == 0).any(axis=1).sum())
    replayed = by_model > 0
    # A median, because a context that was replayed twice has more.
    usual = np.array([np.median(column[column > 0]) if column.any() else 0 for column in by_model.T]).astype(np.int64)
    short = int((replayed & (by_model < usual)).sum())
    least = int(usual[usual > 0].min())
    details = ReplayDraws(len(replay.contexts), incomplete, int(replayed.sum()), short, int(usual.max()), least)
    share = (incomplete * replay.n_models + short) / len(draws)
    return Finding(DRAWS, "warn" if incomplete or short else "pass", details, "A2", share)


# --- replay against the experiment ---


def compare_experiment_outputs(arrays: StudyArrays, seed: int) -> TwoSampleResult | None:
    """The experiment's outputs against replay of the same context by the same model."""
    experiment = arrays.experiment
    return two_sample_test(
        pair_with_replay(arrays, experiment.blocks, experiment.context, experiment.model, seed), seed
    )


def pair_with_replay(
    arrays: StudyArrays, blocks: FeatureBlocks, context: IntArray, model: IntArray, seed: int
) -> TwoSampleData:
    """Rows of a source (the first group) and replayed draws, one stratum per cell of context and model.

    If the replay runs the same models, a row's output is one more draw of its cell, exchangeable with the others. Of
    several rows one per cell is taken at random: copies, retries and cached outputs are not draws of their own.
    ``context`` and ``model`` are codes among the replay's, -1 for rows to leave out.
    """
    replay = arrays.replay
    matched = np.random.default_rng(seed).permutation(_comparable_rows(context, model, replay.n_models))
    _, first = np.unique(context[matched] * replay.n_models + model[matched], return_index=True)
    matched = np.sort(matched[first])
    cell_of_row = context[matched] * replay.n_models + model[matched]
    cell_of_draw = replay.context * replay.n_models + replay.model
    stratum = np.concatenate([cell_of_row, cell_of_draw])
    group = np.arange(len(stratum)) < len(cell_of_row)
    selected = subsample_strata(group, stratum, seed)
    rows, draws = selected[group[selected]], selected[~group[selected]] - len(cell_of_row)
    row_index, draw_index = blocks.row_index[matched[rows]], replay.blocks.row_index[draws]
    text = dense = None
    if blocks.text is not None and replay.blocks.text is not None:
        text = sparse.vstack([blocks.text[row_index], replay.blocks.text[draw_index]], format="csr")
    if blocks.dense is not None and replay.blocks.dense is not None:
        dense = np.vstack([blocks.dense[row_index], replay.blocks.dense[draw_index]])
    stratum, group = stratum[selected], group[selected]
    return TwoSampleData(text, dense, group, stratum, stratum // replay.n_models, stratum % replay.n_models)


def count_repeated_rows(blocks: FeatureBlocks, context: IntArray, model: IntArray) -> int:
    """Rows with the context, model and output of an earlier one."""
    rows = np.flatnonzero((context >= 0) & (model >= 0))
    distinct = np.unique(np.stack([blocks.row_index[rows], context[rows], model[rows]]), axis=1)
    return len(rows) - int(distinct.shape[1])


def _comparable_rows(context: IntArray, model: IntArray, n_models: int) -> IntArray:
    return np.flatnonzero((context >= 0) & (model >= 0) & (model < n_models))


# --- support ---


@dataclass(frozen=True, slots=True)
class ModelSupport:
    """Share of one model's replayed outputs farther from the experiment's than those are from each other."""

    model: int
    share_outside: float
    p_value: float


def support_p_value(by_model: tuple[ModelSupport, ...]) -> float:
    """Bonferroni-adjusted p-value over models; a model with a share too small to matter counts as p = 1."""
    notable = [each.p_value for each in by_model if each.share_outside >= WARN_OUTSIDE_SUPPORT]
    return min(1.0, len(by_model) * min(notable, default=1.0))


def support_by_model(arrays: StudyArrays, seed: int) -> tuple[ModelSupport, ...]:
    """The share outside the experiment's support, for each model with enough experiment rows."""
    experiment, replay = arrays.experiment, arrays.replay
    rng = np.random.default_rng(seed)
    _, first_draw = np.unique(replay.context * replay.n_models + replay.model, return_index=True)
    first_draw = first_draw[np.isin(replay.context[first_draw], experiment.context)]
    results = []
    for code in range(replay.n_models):
        own = _sample(np.flatnonzero(experiment.model == code), MAX_REFERENCE_ROWS, rng)
        replayed = _sample(first_draw[replay.model[first_draw] == code], MAX_REPLAYED_ROWS, rng)
        if len(np.unique(experiment.context[own])) < MIN_STRATA or _varies(experiment.propensity[own]):
            continue
        reference = _output_embedding(experiment.blocks, experiment.blocks.row_index[own])
        outputs = _output_embedding(replay.blocks, replay.blocks.row_index[replayed])
        within = nearest_distance(reference, experiment.context[own], reference, experiment.context[own])
        beyond = nearest_distance(outputs, replay.context[replayed], reference, experiment.context[own])
        results.append(ModelSupport(code, *share_outside(within, beyond)))
    return tuple(results)


def _varies(propensity: FloatArray) -> bool:
    """Whether a model was assigned to some contexts more often: then its outputs differ from the replayed ones."""
    return bool(propensity.max() > MAX_PROPENSITY_RATIO * propensity.min())


def share_outside(within: FloatArray, beyond: FloatArray) -> tuple[float, float]:
    """Share of ``beyond`` above the ``SUPPORT_QUANTILE`` of ``within``, and its p-value if both are alike.

    The share above the r-th of n ordered distances is Beta(n + 1 - r, r), so the count of N is beta-binomial.
    """
    rank = int(np.ceil(SUPPORT_QUANTILE * len(within)))
    limit = np.sort(within)[rank - 1]
    count = int(np.count_nonzero(beyond > limit * (1 + TIE_RTOL)))
    return count / len(beyond), beta_binomial_tail(count, len(beyond), len(within) + 1 - rank, rank)


def beta_binomial_tail(count: int, trials: int, a: float, b: float) -> float:
    """Probability of ``count`` or more of ``trials``, whose common probability is drawn from Beta(a, b)."""
    if count <= 0:
        return 1.0
    more = np.arange(count, trials + 1)
    log_binomial = -np.log(trials + 1) - betaln(trials - more + 1, more + 1)
    return float(min(np.exp(log_binomial + betaln(more + a, trials - more + b) - betaln(a, b)).sum(), 1.0))


def _output_embedding(blocks: FeatureBlocks, index: IntArray) -> FloatArray:
    """Distinct rows as dense vectors; text and statistics have the same mean square length."""
    parts = []
    if blocks.text is not None:
        parts.append(rehash(blocks.text[index]))
    if blocks.dense is not None:
        parts.append(np.sqrt(2.0) * blocks.dense[index] if blocks.text is not None else blocks.dense[index])
    return np.hstack(parts)


def _sample(index: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    return index if len(index) <= count else np.sort(rng.choice(index, count, replace=False))
