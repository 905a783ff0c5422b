"""Values for other contexts than the experiment's: weights, what they cost, and when to refuse.

    weight(x) = p_target(x) / p_experiment(x)

from a classifier that tells the two apart: with both groups given equal mass its odds are the ratio. A row is weighted
by a classifier fitted without it. The penalty with the best held-out loss wins, an unbounded one among them, so that
without a shift the weights stay at one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import expit

from deconfound.data import Study
from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.diagnose.contexts import columns_of_contexts, gather, read_target, short, together
from deconfound.diagnose.replay_validity import nearest
from deconfound.diagnose.telling import Mask
from deconfound.errors import AssumptionError, UsageError
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import format_percent, pluralize

CHECK = "overlap with the target"
FEWEST = 10  # effective experiment rows below which a weighted value says nothing
THIN = 0.1  # effective share of the experiment below which a handful of rows decides
COSTLY = 0.5  # effective share below which the price is worth a warning
NEAR = 0.99  # of the experiment's contexts lie this near to another; beyond is outside their support
LOST = 0.5  # share of the target outside the support at which there is no overlap to speak of
NOTABLE = 0.1  # share of the target outside the support that is worth a warning
COVERED = 0.25  # mean weight before normalisation, one under full overlap, below which most of the target is missed
MAX_WEIGHT = 50.0  # a row that stands for more than fifty says more about the classifier than about the target
COMPONENTS = 20  # principal components of the contexts that the classifier sees
PENALTIES = (np.inf, 1.0, 0.1, 0.01, 0.001)
FOLDS = 5
MAX_TARGET = 2_000  # target rows looked at
MAX_REFERENCE = 1_000  # experiment rows that distances are taken to
NEWTON_STEPS = 50
LONGEST_STEP = 3.0  # of any coefficient, since Newton's method can leap too far from its start
CONVERGED = 1e-8
SMALL = 1e-10  # keeps the intercept's curvature from vanishing


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each experiment row counts for the target."""

    weight: FloatArray  # (n,), mean one
    covered: float  # mean of the density ratio over the experiment before it was normalised, at most 1
    outside: float  # share of the target farther from the experiment's contexts than those are from each other

    @property
    def effective(self) -> float:
        """Rows of equal weight that would be as precise: (sum w)^2 / sum w^2."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())


def reweight(experiment: FloatArray, target: FloatArray, seed: int, block: IntArray | None = None) -> Weights:
    """Weights that carry rows described by ``experiment`` (n, d) over to ``target`` (m, d).

    ``block`` (n + m,) numbers the contexts of both, so that repeats of one stay in one fold.
    """
    both = np.vstack([experiment, target])
    if not len(experiment) or not len(target) or not np.isfinite(both).all():
        raise UsageError("Weights need rows of the experiment and of the target, all of finite numbers.")
    block = np.arange(len(both)) if block is None else block
    odds = _odds(_components(both), np.arange(len(both)) >= len(experiment), block, seed)[: len(experiment)]
    outside = _outside(experiment, target, block[: len(experiment)], seed)
    capped = np.minimum(odds, MAX_WEIGHT * odds.mean())
    return Weights(capped / capped.mean(), min(1.0, float(odds.mean())), outside)


def target_weights(material: StudyArrays, study: Study, target: pa.Table, seed: int) -> Weights | None:
    """Weights for the rows of ``material.experiment``, in their order; None where nothing describes contexts."""
    columns = columns_of_contexts(study)
    if not (study.has_text or columns):
        return None
    ids = pa.array([material.replay.contexts[code] for code in material.experiment.context], pa.string())
    table = study.experiment.arrow
    rows = table.take(pc.index_in(ids, value_set=table["context_id"].combine_chunks()))
    wanted = read_target(study, target, columns)
    if wanted.num_rows > MAX_TARGET:
        chosen = np.random.default_rng(seed).choice(wanted.num_rows, MAX_TARGET, replace=False)
        wanted = wanted.take(pa.array(np.sort(chosen)))
    ours, theirs = gather((rows, wanted), columns)
    rows_of = short(together([each.describe(np.arange(len(each.key))) for each in (ours, theirs)]))
    block = np.concatenate([ours.key, theirs.key])
    return reweight(rows_of[: len(ours.key)], rows_of[len(ours.key) :], seed, block)


def overlap(weights: Weights) -> Finding:
    """Whether the experiment reaches the target, and how many of its rows are left to say so."""
    rows, effective = len(weights.weight), weights.effective
    share = effective / rows
    size = f"{effective:.0f} effective rows of {pluralize(rows, 'experiment row')}"
    beyond = f"{format_percent(weights.outside, 0)} of the target's contexts lie outside the experiment's"
    if effective < FEWEST or share < THIN or weights.outside >= LOST or weights.covered < COVERED:
        message = f"The experiment does not reach the target: {size}; {beyond}. No weights can make up for that."
        remedy = "Randomize on contexts of the target."
        return Finding(CHECK, "fail", message, remedy, number=share, assumption="A5")
    if share < COSTLY or weights.outside >= NOTABLE:
        message = (
            f"Weighted to the target, {size} are left; {beyond}: intervals widen, and there the values are a guess."
        )
        remedy = "Randomize more on contexts like the target's."
        return Finding(CHECK, "warn", message, remedy, number=share, assumption="A5")
    message = f"Weighted to the target, {size} are left; {beyond}."
    return Finding(CHECK, "pass", message, number=share, assumption="A5")


def required(weights: Weights) -> Weights:
    """The weights, or a refusal where they cannot carry the experiment over."""
    finding = overlap(weights)
    if finding.verdict == "fail":
        raise AssumptionError(f"{finding.message} {finding.remedy}")
    return weights


def _outside(experiment: FloatArray, target: FloatArray, where: IntArray, seed: int) -> float:
    """Share of the target beyond the distance that ``NEAR`` of the experiment's contexts keep to another."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(experiment))[:MAX_REFERENCE])
    experiment, where = experiment[some], where[some]
    within = np.sort(nearest(experiment, where, experiment, where))
    within = within[np.isfinite(within)]  # a lone context has no neighbour
    if not len(within):
        return 0.0
    edge = within[int(np.ceil(NEAR * len(within))) - 1]
    # A target row may be one of the experiment's contexts; it then lies inside, so that none is left out as its own.
    nowhere = np.full(len(target), -1, dtype=np.int64)
    return float((nearest(target, nowhere, experiment, where) > edge * (1 + 1e-9)).mean())


def _components(rows: FloatArray) -> FloatArray:
    """Leading principal components of the rows, of mean square length one."""
    centred = rows - rows.mean(axis=0)
    if not centred.any():
        return np.zeros((len(rows), 0))
    _, vectors = np.linalg.eigh(centred.T @ centred)
    leading = centred @ vectors[:, ::-1][:, :COMPONENTS]
    return np.asarray(leading / np.sqrt((leading**2).sum(axis=1).mean()))


def _odds(rows: FloatArray, group: Mask, block: IntArray, seed: int) -> FloatArray:
    """Odds of the target for each row, from the other folds, at the penalty with the least held-out loss."""
    folds = group_folds(block, FOLDS, seed)
    best, chosen = np.inf, np.zeros(len(rows))
    for penalty in PENALTIES:
        logit = np.zeros(len(rows))
        for each in folds if np.isfinite(penalty) else ():
            coef = logistic(rows[each.train], group[each.train], penalty)
            logit[each.held_out] = rows[each.held_out] @ coef[:-1] + coef[-1]
        loss = float(_mass(group) @ np.logaddexp(0.0, np.where(group, -logit, logit)))
        if loss < best:
            best, chosen = loss, logit
    return np.exp(chosen)


def _mass(group: Mask) -> FloatArray:
    """Equal mass for both groups, one in all, or none where a group is empty."""
    counts = np.array([np.count_nonzero(~group), np.count_nonzero(group)])
    return np.asarray(0.5 / counts[group.astype(np.int64)]) if counts.all() else np.zeros(len(group))


def logistic(rows: FloatArray, group: Mask, penalty: float) -> FloatArray:
    """Minimise sum_i mass_i log(1 + exp(-+ logit_i)) + penalty / 2 * coef'coef by Newton's method; intercept last."""
    mass = _mass(group)
    columns = np.column_stack([rows, np.ones(len(rows))])
    ridge = np.append(np.full(rows.shape[1], penalty), SMALL)
    coef: FloatArray = np.zeros(columns.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = expit(columns @ coef)
        gradient = columns.T @ (mass * (chance - group)) + ridge * coef
        curvature = (columns.T * (mass * chance * (1 - chance))) @ columns + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        coef = coef - step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), SMALL))
        if float(np.abs(step).max()) < CONVERGED:
            break
    return coef
