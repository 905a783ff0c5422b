"""From a study to its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from deconfound.crossfit import BOOTSTRAP_REFITS, BOOTSTRAP_REFITS_THOROUGH, CrossFit, cross_fit
from deconfound.data import Study, Table
from deconfound.data.encode import encode
from deconfound.decide.calibration import cross_fitted_calibrated_q, fit_calibration
from deconfound.decide.recommendation import Policy
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.diagnose import CheckReport, run_checks
from deconfound.diagnose.context_shift import require_overlap
from deconfound.errors import EvidenceError, UsageError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding, Notice
from deconfound.formatting import did_you_mean, quote
from deconfound.linalg import one_blas_thread
from deconfound.loading import load_contexts
from deconfound.loading.sources import Source
from deconfound.progress import Progress, no_progress
from deconfound.result import FittedFamily, Result, TableCounts
from deconfound.reward import EVERY, FAMILIES, Auto, Family
from deconfound.reward.auto.family import MAX_LOG_ROWS
from deconfound.value import (
    MIN_ROWS_PER_MODEL,
    Values,
    direct,
    experiment_only,
    raw_log,
    shrink_toward,
    tuned_doubly_robust,
    with_reward_bias,
)
from deconfound.value.log_bias import estimate_log_bias

FOLDS = 5
METHODS = ("doubly robust", "direct")
_Columns: TypeAlias = tuple[tuple[str, ...], FloatArray, IntArray, FloatArray, FloatArray, FloatArray, IntArray]
PAPER_FAMILY_NAMES = tuple(each.name for each in FAMILIES)


def evaluate(  # noqa: PLR0913  (everything a study can be asked, by name)
    study: Study,
    family: str | Family = "auto",
    level: float = 0.95,
    seed: int = 0,
    *,
    features: FeatureSpec | None = None,
    surface_share: float | None = None,
    method: str = "doubly robust",
    target: Source | None = None,
    cost: Mapping[str, float] | None = None,
    thorough: bool = False,
    progress: Progress = no_progress,
) -> Result:
    """The value of each model with intervals, a recommendation per context, and every check of an assumption.

    ``family`` is "auto", which weighs both sources by their likelihood, one of the six, a variant, or a family object
    whose hyperparameters then serve as the defaults of its grid. ``balance`` fixes the share of the surface
    statistics in phi, which is otherwise chosen on the experiment; "auto" weighs them itself. ``target`` is a file or
    table of the contexts that values are wanted for, if not the experiment's. ``cost`` is what one output of a model
    costs, in units of the outcome; recommendations and routing are then net of it. ``thorough`` refits ten times as
    often for the intervals of direct values, the recommendations and the stability of the weights.
    """
    return evaluate_families(
        study,
        [family],
        level,
        seed,
        features=features,
        surface_share=surface_share,
        method=method,
        target=target,
        cost=cost,
        thorough=thorough,
        progress=progress,
    )[0]


def evaluate_families(  # noqa: PLR0913
    study: Study,
    families: Sequence[str | Family] = PAPER_FAMILY_NAMES,
    level: float = 0.95,
    seed: int = 0,
    *,
    features: FeatureSpec | None = None,
    surface_share: float | None = None,
    method: str = "doubly robust",
    target: Source | None = None,
    cost: Mapping[str, float] | None = None,
    thorough: bool = False,
    progress: Progress = no_progress,
) -> tuple[Result, ...]:
    """``evaluate`` for several families that share features, factorizations and checks."""
    named = [_family(family) for family in families]
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie strictly between 0 and 1, not {level!r}.")
    if surface_share is not None and not 0.0 <= surface_share <= 1.0:
        raise UsageError(
            f"surface_share must lie between 0 (hashed text alone) and 1 (statistics alone), not {surface_share!r}."
        )
    paid = None if cost is None else _costs(study, cost)
    _enough(study)
    contexts = None if target is None else load_contexts(target)
    progress("reading texts", 0.0)
    with one_blas_thread():
        material = StudyArrays.of(study, features or FeatureSpec())
        checked = run_checks(study, material, seed=seed, level=level, target=contexts, progress=progress)
        weights = checked.transport_weights
        if weights is not None:
            require_overlap(weights)
        aims = _Aims(level, seed, method, paid, None if weights is None else weights.weight, checked)
        results = []
        for each in named:
            refits = BOOTSTRAP_REFITS_THOROUGH if thorough else BOOTSTRAP_REFITS
            fitted = cross_fit(material, each, FOLDS, seed, surface_share, progress, refits)
            progress("comparing the models", 0.0)
            results.append(_result(study, material, fitted, aims))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Aims:
    """What is asked of every family alike."""

    level: float
    seed: int
    method: str
    cost: FloatArray | None  # (k,)
    weight: FloatArray | None  # (n,) of experiment rows, for a target population
    checked: CheckReport

    @property
    def may_look_elsewhere(self) -> bool:
        """Whether contexts replayed beyond the experiment's may be averaged in: they do not differ from its own."""
        return self.weight is None and self.checked.context_shift.replay is True


def _family(family: str | Family) -> Family:
    if not isinstance(family, str):
        return family
    known: dict[str, type[Family]] = {each.name: each for each in EVERY}
    if family not in known:
        raise UsageError(f'There is no family "{family}"; choose {", ".join(known)}.')
    return known[family]()


def _costs(study: Study, cost: Mapping[str, float]) -> FloatArray:
    for name in cost:
        if name not in study.models:
            near = did_you_mean(name, study.models) or "."
            raise UsageError(f"cost: there is no model {quote(name)}{near} There are {', '.join(study.models)}.")
    return np.array([float(cost.get(name, 0.0)) for name in study.models])


def _enough(study: Study) -> None:
    _, model = encode(study.experiment.table["model"], (*study.models, *study.others))
    if np.bincount(model, minlength=len(study.models))[: len(study.models)].max() < MIN_ROWS_PER_MODEL:
        raise EvidenceError(
            f"{study.experiment.source}: no model has {MIN_ROWS_PER_MODEL} or more rows, so no value can be estimated. "
            "Randomize more contexts."
        )


def _result(study: Study, material: StudyArrays, fitted: CrossFit[Family], aims: _Aims) -> Result:
    trial, final, models = material.trial, fitted.final, study.models
    unbiased, plain = _values(material, fitted, aims)
    leaning = isinstance(final.tuned.estimator, Auto)
    values = shrink_toward(unbiased, plain.estimate) if leaning else unbiased
    policy = _policy(material, fitted, unbiased, aims)
    logged = _logged(study)
    alone = experiment_only(models, trial.model, trial.outcome, trial.propensity, trial.cluster, weight=aims.weight)
    return Result(
        values=values if aims.method == "doubly robust" else plain,
        direct=plain,
        experiment=alone,
        raw_log=logged,
        recommendations=policy.recommend(material.cells, aims.level),
        routing=_routing(material, fitted, aims),
        alarm=estimate_log_bias(logged, unbiased, aims.level),
        findings=(*study.findings, *material.featurizer.findings, *aims.checked.findings, *_sampled(material, leaning)),
        choice=FittedFamily(
            final.tuned.estimator, final.tuned.mode, final.surface_share, material.featurizer.psi_source
        ),
        trust=fitted.trust,
        counts={table.role: _counts(table, study) for table in (study.log, study.experiment, study.replay)},
        policy=policy,
        featurizer=material.featurizer,
        level=aims.level,
        seed=aims.seed,
    )


def _logged(study: Study) -> Values:
    """The log at face value; rows of one user, or else of one context, share their luck."""
    table = study.log.table
    _, model = encode(table["model"], (*study.models, *study.others))
    _, cluster = encode(table["cluster" if "cluster" in table.column_names else "context_id"], None)
    return raw_log(study.models, model, table["outcome"].to_numpy(), cluster)


def _sampled(material: StudyArrays, automatic: bool) -> tuple[Finding, ...]:
    """What is left out of a log that is too long."""
    rows = len(material.log_weight)
    if not automatic or rows <= MAX_LOG_ROWS:
        return ()
    message = (
        f"auto learns from a random {MAX_LOG_ROWS:,} of the log's {rows:,} different rows; all checks see all of them."
    )
    return (Finding("long log", "warn", Notice(message, "Nothing has to be done; --family cvci uses every row.")),)


def _values(material: StudyArrays, fitted: CrossFit[Family], aims: _Aims) -> tuple[Values, Values]:
    """The unbiased values, and the reward's own."""
    trial, cells = material.trial, material.cells
    beyond = np.setdiff1d(np.arange(len(cells.contexts)), trial.context)
    elsewhere = fitted.everywhere[beyond] if aims.may_look_elsewhere and len(beyond) else None
    unbiased = tuned_doubly_robust(*_columns(material, fitted), elsewhere=elsewhere, weight=aims.weight)
    return unbiased, _direct(material, fitted, unbiased, aims)


def _direct(material: StudyArrays, fitted: CrossFit[Family], unbiased: Values, aims: _Aims) -> Values:
    """The reward's own values; their errors hold how far it moves with the experiment, and how far it is off."""
    trial, surface_share = material.trial, fitted.final.surface_share
    weight = np.ones(len(trial.outcome)) if aims.weight is None else aims.weight
    power = 0.0 if unbiased.power is None else float(unbiased.power.mean())
    refits, gaps = [], []
    for fit, rows in zip(
        fitted.bootstrap_fits or [fitted.final.reward] * len(fitted.samples), fitted.samples, strict=True
    ):
        q = material.cells.q(fit, surface_share)[trial.context]
        again = tuned_doubly_robust(*_columns(material, fitted, rows), weight=weight[rows], power=power)
        refits.append(np.average(q, axis=0, weights=weight))
        gaps.append(np.average(q[rows], axis=0, weights=weight[rows]) - again.estimate)
    moving = np.array(refits) if fitted.bootstrap_fits else None
    plain = direct(material.models, fitted.q, trial.cluster, refits=moving, weight=aims.weight)
    return with_reward_bias(plain, unbiased, np.array(gaps))


def _columns(material: StudyArrays, fitted: CrossFit[Family], rows: IntArray | slice = slice(None)) -> _Columns:
    """What ``powered``, ``cross_calibrated`` and ``routing`` all begin with, of some experiment rows."""
    trial = material.trial
    out_of_fold = (fitted.q[rows], trial.model[rows], trial.outcome[rows], fitted.prediction[rows])
    return (material.models, *out_of_fold, trial.propensity[rows], trial.cluster[rows])


def _policy(material: StudyArrays, fitted: CrossFit[Family], unbiased: Values, aims: _Aims) -> Policy:
    trial, final, cells = material.trial, fitted.final, material.cells
    counts = np.bincount(trial.context, aims.weight, len(cells.contexts)).astype(np.float64)
    if aims.may_look_elsewhere:
        counts[np.setdiff1d(np.arange(len(counts)), trial.context)] = 1.0
    calibration = fit_calibration(
        unbiased,
        fitted.q,
        trial.model,
        trial.outcome,
        trial.propensity,
        trial.cluster,
        cells=cells,
        reward=final.reward,
        surface_share=final.surface_share,
        weight=counts,
    )
    bootstrap_fits = fitted.bootstrap_fits
    return Policy(
        material.models, final.surface_share, final.reward, bootstrap_fits, unbiased.covariance, calibration, aims.cost
    )


def _routing(material: StudyArrays, fitted: CrossFit[Family], aims: _Aims) -> RoutingGain:
    columns, folds = _columns(material, fitted), group_folds(material.trial.together, FOLDS, aims.seed)
    leads = cross_fitted_calibrated_q(*columns, folds=folds, weight=aims.weight)
    return routing_gain(*columns, leads=leads, weight=aims.weight, cost=aims.cost, level=aims.level)


def _counts(table: Table, study: Study) -> TableCounts:
    _, model = encode(table.table["model"], (*study.models, *study.others))
    each = np.bincount(model, minlength=len(study.models))[: len(study.models)]
    return TableCounts(
        table.source, len(table), len(table.distinct("context_id")), tuple(int(n) for n in each), table.ignored
    )
