"""Evidence from a log and a replay, before anything was randomized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data import Experiment, Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.errors import EvidenceError
from deconfound.features import FeatureBlocks, FeatureSpec
from deconfound.features.study_arrays import ReplayArrays
from deconfound.findings import Finding, Notice
from deconfound.formatting import format_percent, join_names, pluralize
from deconfound.linalg import one_blas_thread
from deconfound.loading import LogAndReplay
from deconfound.plan.beliefs import CLOSEST, Beliefs
from deconfound.plan.evidence import FEWEST_FREEDOM, LARGEST_SPREAD, Evidence, believable
from deconfound.progress import Progress
from deconfound.reward import ObsOnly
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL, PRIOR_FREEDOM, ROUNDING

FOLDS = 5  # by context, as everywhere
LARGEST = 6000  # distinct log rows that are looked at; of a longer log a sample
BALANCE = 0.5  # of text and statistics; only an experiment could choose it
KEPT = 0.5  # of what the reward explains in the log: part of it is the choice of model, which randomizing takes away
BELIEVED = 0.5  # of the differences between the log's means; the rest is taken to be confounding
OTHERWISE = 1.5  # factor by which the variance of randomized outcomes may differ from that of chosen ones


@dataclass(frozen=True, slots=True)
class Seen:
    """Log rows with the reward that was fitted without their context, and that reward over the replay."""

    model: IntArray  # (n,)
    outcome: FloatArray  # (n,)
    prediction: FloatArray  # (n,)
    q: FloatArray  # (contexts, k); NaN where a cell was not replayed


def from_history(history: LogAndReplay, seed: int, progress: Progress) -> Evidence:
    """Fit the log, hold out its contexts in turn, and discount what that explains."""
    progress("reading the log", 0.0)
    with one_blas_thread():
        seen = _seen(history, seed)
    return from_seen(history.models, seen, history.log.source)


def from_seen(models: tuple[str, ...], seen: Seen, source: str = "log") -> Evidence:
    """Variances within models, half of what the reward explains of them, and half of the differences of means."""
    count = len(models)
    codes = np.where(seen.model < count, seen.model, -1)
    rows = np.bincount(codes[codes >= 0], minlength=count).astype(np.float64)
    mean, variance = _moments(codes, seen.outcome, rows, source)
    y, p = (_centred(codes, column, rows) for column in (seen.outcome, seen.prediction))
    together, spread = max(float(y @ p), 0.0), float(p @ p)
    explained = together**2 / max(float(y @ y) * spread, ROUNDING) if together > ROUNDING else 0.0
    power = np.sqrt(KEPT) * together / spread if explained > 0 else 0.0
    complete = seen.q[~np.isnan(seen.q).any(axis=1)]
    context = power**2 * np.atleast_2d(np.cov(complete.T)) if len(complete) > 1 else np.zeros((count, count))
    kept = KEPT * explained
    few, many = believable(float(np.maximum(rows - 1, 0.0).sum()), float(variance.mean()))
    widest = LARGEST_SPREAD**2 / float(variance.mean())
    return Evidence(
        models=models,
        outcome=variance,
        row=(1 - kept) * variance,
        context=context,
        excess=np.full(count, _excess(codes, y - power * p, rows)),
        skew=np.full(count, _skew(codes, y - power * p, rows)),
        independent=np.ones(count),
        **_believed(mean, variance, rows),
        variance_range=(
            min(1 / OTHERWISE, few) * (1 - explained) / (1 - kept),
            max(min(OTHERWISE, widest), many) / (1 - kept),
        ),
        source="log",
        findings=_findings(models, rows, source),
    )


def _seen(history: LogAndReplay, seed: int) -> Seen:
    study = _study(history)
    features = FeatureSpec(source="text" if study.has_text else "columns")
    featurizer, blocks = features.fit_transform_log(study)
    cells = ReplayArrays.of(history.replay.table, history.models, featurizer)
    outcome = history.log.table["outcome"].to_numpy()
    _, model = encode(history.log.table["model"], (*study.models, *study.others))
    _, context = encode(history.log.table["context_id"], None)
    rows, kept = _distinct(blocks, outcome, context, seed)
    prediction = _held_out(rows, seed)
    q = cells.q(ObsOnly().fit(rows, rows), BALANCE if blocks.both else 0.0)
    place = np.full(int(blocks.pair.max()) + 1, -1)
    place[kept] = np.arange(len(kept))
    at = place[blocks.pair]
    inside = at >= 0
    return Seen(model[inside], outcome[inside], prediction[at[inside]], q)


def _study(history: LogAndReplay) -> Study:
    """The features are learned from the log alone, so an experiment without rows does."""
    log = history.log
    names = [name for name in log.table.column_names if not name.startswith("label_")]
    nothing = Experiment(log.table.select(names).slice(0, 0), "experiment")
    others = tuple(sorted(log.distinct("model").difference(history.models)))
    return Study(log, nothing, history.replay, history.models, others, ())


def _distinct(blocks: FeatureBlocks, outcome: FloatArray, context: IntArray, seed: int) -> tuple[Rows, IntArray]:
    """Distinct log rows with their mean outcomes, a sample of them if there are many, and which they are."""
    weight = np.bincount(blocks.pair).astype(np.float64)
    mean = np.bincount(blocks.pair, weights=outcome) / weight
    first = np.empty(len(weight), dtype=np.int64)
    first[blocks.pair[::-1]] = context[::-1]
    kept = np.arange(len(weight))
    if len(kept) > LARGEST:
        kept = np.sort(np.random.default_rng(seed).choice(len(kept), LARGEST, replace=False))
    phi = blocks.phi(BALANCE if blocks.both else 0.0)
    return Rows(phi[kept], outcome=mean[kept], weight=weight[kept], context=first[kept]), kept


def _held_out(rows: Rows, seed: int) -> FloatArray:
    """Reward of each distinct row, fitted to other contexts only."""
    context = rows.context if rows.context is not None else np.arange(len(rows))
    prediction = np.full(len(rows), float(rows.outcomes.mean()))
    for fold in group_folds(context, FOLDS, seed):
        held_out = rows.take(fold.held_out)
        prediction[fold.held_out] = ObsOnly().fit(rows.take(fold.train), held_out).predict(held_out)
    return prediction


def _moments(codes: IntArray, outcome: FloatArray, rows: FloatArray, source: str) -> tuple[FloatArray, FloatArray]:
    """Mean (k,), NaN without rows, and variance (k,) of outcomes, the latter leaning on what all models share."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(codes[codes >= 0], weights=outcome[codes >= 0], minlength=len(rows)) / rows
    squares = _centred(codes, outcome, rows) ** 2
    df = np.maximum(rows - 1, 0.0)
    summed = np.bincount(codes[codes >= 0], weights=squares, minlength=len(rows))
    if df.sum() < FEWEST_FREEDOM or summed.sum() < ROUNDING:
        raise EvidenceError(
            f"{source}: {pluralize(int(rows.sum()), 'row')} of the candidates show no spread to plan from: it takes "
            f"{FEWEST_FREEDOM} rows beyond the first of each model, and outcomes that vary. Give a longer log, or "
            "--models N and --spread S instead of files."
        )
    shared = float(summed.sum() / df.sum())
    return mean, (PRIOR_FREEDOM * shared + summed) / (PRIOR_FREEDOM + df)


def _centred(codes: IntArray, column: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows of the candidates less the mean of their model."""
    known = codes >= 0
    mean = np.bincount(codes[known], weights=column[known], minlength=len(rows)) / np.maximum(rows, 1.0)
    return np.asarray(column[known] - mean[codes[known]])


def _excess(codes: IntArray, residual: FloatArray, rows: FloatArray) -> float:
    """Excess kurtosis within models, averaged by rows; at least 0."""
    code = codes[codes >= 0]
    second, fourth = (np.bincount(code, weights=residual**n, minlength=len(rows)) for n in (2, 4))
    seen = second > ROUNDING
    if not seen.any():
        return 0.0
    found = fourth[seen] * rows[seen] / second[seen] ** 2 - 3
    return max(float(np.average(found, weights=rows[seen])), 0.0)


def _skew(codes: IntArray, residual: FloatArray, rows: FloatArray) -> float:
    """Squared skewness within models, averaged by rows."""
    code = codes[codes >= 0]
    second, third = (np.bincount(code, weights=residual**n, minlength=len(rows)) for n in (2, 3))
    seen = second > ROUNDING
    found = third[seen] ** 2 * rows[seen] / second[seen] ** 3
    return float(np.average(found, weights=rows[seen])) if seen.any() else 0.0


def _believed(mean: FloatArray, variance: FloatArray, rows: FloatArray) -> Beliefs:
    """Means drawn together. If a share of their spread is real, that share of each difference is to be expected.

    log mean = value + bias,   var(value) = believed * var(log mean)
    value | log mean ~ Normal(common + believed * (log mean - common), believed * (1 - believed) * var(log mean))
    """
    known = rows > 0
    centre = float(mean[known].mean())
    spread = 0.0
    if known.sum() > 1:
        spread = float(mean[known].var(ddof=1) - (variance[known] / rows[known]).mean())
    spread = max(spread, CLOSEST**2 / BELIEVED)
    middle = np.where(known, centre + BELIEVED * (mean - centre), centre)
    doubt = np.where(known, 1 - BELIEVED, 1.0) * BELIEVED * spread
    return Beliefs(mean=middle, doubt=np.diag(doubt))


def _findings(models: tuple[str, ...], rows: FloatArray, source: str) -> tuple[Finding, ...]:
    message = (
        f"{source}: planned without randomized rows. Of what the reward explains in the log {format_percent(KEPT)} is "
        f"expected to last, and {format_percent(BELIEVED)} of the differences of the log's means; ranges are wide on "
        "purpose."
    )
    remedy = "Randomize ten rows a model and plan again with --experiment."
    unseen = [name for name, n in zip(models, rows, strict=True) if n < MIN_ROWS_PER_MODEL]
    found = (Finding("no pilot", "warn", Notice(message, remedy)),)
    if not unseen:
        return found
    verb = "has" if len(unseen) == 1 else "have"
    said = f"{source}: {join_names(unseen)} {verb} fewer than {pluralize(MIN_ROWS_PER_MODEL, 'row')}."
    return (*found, Finding("unseen models", "warn", Notice(said, "Their variance is taken to be that of the others.")))
