"""From a study to its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.crossfit import BOOTSTRAP_REFITS, CrossFit, cross_fit
from deconfound.data import Study, Table
from deconfound.data.encode import encode
from deconfound.decide.calibration import cross_fitted_calibrated_q, fit_calibration
from deconfound.decide.recommendation import Policy
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, group_folds
from deconfound.diagnose import check
from deconfound.diagnose.alignment import REPLAY
from deconfound.diagnose.target import required, target_weights
from deconfound.errors import EvidenceError, UsageError
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.formatting import did_you_mean, quote
from deconfound.linalg import one_blas_thread
from deconfound.loading import load_contexts
from deconfound.loading.sources import TableLike
from deconfound.progress import Progress, no_progress
from deconfound.result import FittedFamily, Result, TableCounts
from deconfound.reward import FAMILIES, Family, family_by_name
from deconfound.surface_share import StudyTrainingData
from deconfound.value import (
    MIN_ROWS_PER_MODEL,
    ScoredExperiment,
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
    target: TableLike | None = None,
    cost: Mapping[str, float] | None = None,
    refits: int = BOOTSTRAP_REFITS,
    progress: Progress = no_progress,
) -> Result:
    """The value of each model with intervals, a recommendation per context, and every check of an assumption.

    ``family`` is "auto", which weighs both sources by their likelihood, one of the six, a variant, or a family object
    whose hyperparameters then serve as the defaults of its grid. ``balance`` fixes the share of the surface
    statistics in phi, which is otherwise chosen on the experiment; "auto" weighs them itself. ``target`` is a file or
    table of the contexts that values are wanted for, if not the experiment's. ``cost`` is what one output of a model
    costs, in units of the outcome; recommendations and routing are then net of it. ``refits`` is the number of
    bootstrap refits behind the intervals of direct values, the recommendations and the stability of the weights.
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
        refits=refits,
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
    target: TableLike | None = None,
    cost: Mapping[str, float] | None = None,
    refits: int = BOOTSTRAP_REFITS,
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
    if refits < 2:
        raise UsageError(f"--refits must be at least 2, not {refits}: one refit has no variance.")
    paid = None if cost is None else _costs(study, cost)
    _enough(study)
    contexts = None if target is None else load_contexts(target)
    progress("reading texts", 0.0)
    with one_blas_thread():
        material = StudyArrays.from_study(study, features or FeatureSpec())
        data = StudyTrainingData(material)
        checked = check(study, seed=seed, level=level, target=contexts, material=material, progress=progress)
        weights = None if contexts is None else target_weights(material, study, contexts, seed)
        if weights is not None:
            required(weights)
        aims = _Aims(level, seed, method, paid, None if weights is None else weights.weight, checked)
        results = []
        for each in named:
            fitted = cross_fit(data, each, FOLDS, seed, surface_share, progress, refits)
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
    checked: tuple[Finding, ...]

    @property
    def may_look_elsewhere(self) -> bool:
        """Whether contexts replayed beyond the experiment's were seen to be of the same kind."""
        return self.weight is None and any(f.check == REPLAY.check and f.verdict == "pass" for f in self.checked)


def _family(family: str | Family) -> Family:
    if not isinstance(family, str):
        return family
    return family_by_name(family)()


def _costs(study: Study, cost: Mapping[str, float]) -> FloatArray:
    for name in cost:
        if name not in study.models:
            near = did_you_mean(name, study.models) or "."
            raise UsageError(f"cost: there is no model {quote(name)}{near} There are {', '.join(study.models)}.")
    return np.array([float(cost.get(name, 0.0)) for name in study.models])


def _enough(study: Study) -> None:
    _, model = encode(study.experiment.arrow["model"], (*study.models, *study.uncompared_models))
    if np.bincount(model, minlength=len(study.models))[: len(study.models)].max() < MIN_ROWS_PER_MODEL:
        raise EvidenceError(
            f"{study.experiment.source}: no model has {MIN_ROWS_PER_MODEL} or more rows, so no value can be estimated. "
            "Randomize more contexts."
        )


def _result(study: Study, material: StudyArrays, fitted: CrossFit[Family], aims: _Aims) -> Result:
    trial, final, models = material.experiment, fitted.final, study.models
    data = _scored(material, fitted, aims)
    unbiased, plain = _values(material, fitted, data, aims)
    family = final.tuned.estimator
    values = shrink_toward(unbiased, plain.estimate) if family.shrinks_values else unbiased
    policy = _policy(material, fitted, data, unbiased, aims)
    logged = _logged(study)
    alone = experiment_only(models, trial.model, trial.outcome, trial.propensity, trial.cluster, weight=aims.weight)
    return Result(
        values=values if aims.method == "doubly robust" else plain,
        direct=plain,
        experiment=alone,
        raw_log=logged,
        recommendations=policy.recommend(material.replay, aims.level),
        routing=_routing(material, data, aims),
        log_bias=estimate_log_bias(logged, unbiased, aims.level),
        findings=(*study.findings, *material.featurizer.findings, *aims.checked, *_sampled(material, family)),
        choice=FittedFamily(family, final.tuned.mode, final.surface_share, material.featurizer.psi_source),
        attribution=fitted.attribution,
        counts={table.role: _counts(table, study) for table in (study.log, study.experiment, study.replay)},
        policy=policy,
        featurizer=material.featurizer,
        level=aims.level,
        seed=aims.seed,
    )


def _logged(study: Study) -> Values:
    """The log at face value; rows of one user, or else of one context, share their luck."""
    table = study.log.arrow
    _, model = encode(table["model"], (*study.models, *study.uncompared_models))
    _, cluster = encode(table["cluster" if "cluster" in table.column_names else "context_id"], None)
    return raw_log(study.models, model, table["outcome"].to_numpy(), cluster)


def _sampled(material: StudyArrays, family: Family) -> tuple[Finding, ...]:
    """What is left out of a log that is too long."""
    rows, limit = len(material.log.weight), family.max_log_rows
    if limit is None or rows <= limit:
        return ()
    message = (
        f"{family.name} learns from a random {limit:,} of the log's {rows:,} different rows; "
        "all checks see all of them."
    )
    return (Finding("long log", "warn", message, "Nothing has to be done; --family cvci uses every row."),)


def _values(
    material: StudyArrays, fitted: CrossFit[Family], data: ScoredExperiment, aims: _Aims
) -> tuple[Values, Values]:
    """The unbiased values, and the reward's own."""
    trial, cells = material.experiment, material.replay
    beyond = np.setdiff1d(np.arange(len(cells.contexts)), trial.context)
    elsewhere = fitted.q_all_contexts[beyond] if aims.may_look_elsewhere and len(beyond) else None
    unbiased = tuned_doubly_robust(data, extra_q=elsewhere)
    return unbiased, _direct(material, fitted, data, unbiased)


def _direct(material: StudyArrays, fitted: CrossFit[Family], data: ScoredExperiment, unbiased: Values) -> Values:
    """The reward's own values; their errors hold how far it moves with the experiment, and how far it is off."""
    trial, surface_share = material.experiment, fitted.final.surface_share
    reward_weight = 0.0 if unbiased.reward_weight is None else float(unbiased.reward_weight.mean())
    refits, gaps = [], []
    for fit, rows in zip(
        fitted.bootstrap_fits or [fitted.final.reward] * len(fitted.bootstrap_rows), fitted.bootstrap_rows, strict=True
    ):
        q = fit.mean_by_cell(material.replay.rows(surface_share))[trial.context]
        again = tuned_doubly_robust(data.take(rows), reward_weight=reward_weight)
        refits.append(np.average(q, axis=0, weights=data.weight))
        gaps.append(np.average(q[rows], axis=0, weights=data.weight[rows]) - again.estimate)
    moving = np.array(refits) if fitted.bootstrap_fits else None
    plain = direct(material.models, fitted.q, trial.cluster, refits=moving, weight=data.weight)
    return with_reward_bias(plain, unbiased, np.array(gaps))


def _scored(material: StudyArrays, fitted: CrossFit[Family], aims: _Aims) -> ScoredExperiment:
    """The experiment with its out-of-fold rewards."""
    trial = material.experiment
    return ScoredExperiment.from_arrays(
        material.models,
        fitted.q,
        fitted.prediction,
        trial.model,
        trial.outcome,
        propensity=trial.propensity,
        cluster=trial.cluster,
        weight=aims.weight,
    )


def _policy(
    material: StudyArrays, fitted: CrossFit[Family], data: ScoredExperiment, unbiased: Values, aims: _Aims
) -> Policy:
    trial, final, cells = material.experiment, fitted.final, material.replay
    counts = np.bincount(trial.context, aims.weight, len(cells.contexts)).astype(np.float64)
    if aims.may_look_elsewhere:
        counts[np.setdiff1d(np.arange(len(counts)), trial.context)] = 1.0
    calibration = fit_calibration(
        unbiased,
        data,
        replay=cells.rows(final.surface_share),
        reward=final.reward,
        context_weight=counts,
    )
    bootstrap_fits = fitted.bootstrap_fits
    return Policy(
        material.models, final.surface_share, final.reward, bootstrap_fits, unbiased.covariance, calibration, aims.cost
    )


def _routing(material: StudyArrays, data: ScoredExperiment, aims: _Aims) -> RoutingGain:
    folds = group_folds(material.experiment.fold_group, FOLDS, aims.seed)
    return routing_gain(data, cross_fitted_calibrated_q(data, folds), cost=aims.cost, level=aims.level)


def _counts(table: Table, study: Study) -> TableCounts:
    _, model = encode(table.arrow["model"], (*study.models, *study.uncompared_models))
    each = np.bincount(model, minlength=len(study.models))[: len(study.models)]
    return TableCounts(
        table.source,
        len(table),
        len(table.unique_values("context_id")),
        tuple(int(n) for n in each),
        table.unused_columns,
    )
