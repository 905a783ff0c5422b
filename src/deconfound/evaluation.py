"""From a study to its answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.crossfit import CrossFit, Progress, cross_fit
from deconfound.data import Study, Table
from deconfound.errors import EvidenceError, UsageError
from deconfound.features import Features
from deconfound.linalg import one_blas_thread
from deconfound.material import Material, coded
from deconfound.recommend import Policy
from deconfound.report import Choice, Counts, Result
from deconfound.reward import EVERY, FAMILIES, Family
from deconfound.value import FEWEST, direct, doubly_robust, experiment_alone, raw_log

CROSS_FITS = 5
METHODS = ("doubly robust", "direct")
PAPER_SIX = tuple(each.name for each in FAMILIES)


def _silent(stage: str, done: float) -> None:
    """Tell nobody."""


def evaluate(
    study: Study,
    family: str | Family = "auto",
    level: float = 0.95,
    seed: int = 0,
    *,
    features: Features | None = None,
    balance: float | None = None,
    method: str = "doubly robust",
    progress: Progress = _silent,
) -> Result:
    """The value of each model with intervals, a recommendation per context, and what the raw log would have said.

    ``family`` is "auto", which weighs both sources by their likelihood, one of the six, a variant, or a family object
    whose hyperparameters then serve as the defaults of its grid. ``balance`` fixes the share of the surface
    statistics in phi, which is otherwise chosen on the experiment; "auto" weighs them itself.
    """
    return evaluate_families(
        study, [family], level, seed, features=features, balance=balance, method=method, progress=progress
    )[0]


def evaluate_families(
    study: Study,
    families: Sequence[str | Family] = PAPER_SIX,
    level: float = 0.95,
    seed: int = 0,
    *,
    features: Features | None = None,
    balance: float | None = None,
    method: str = "doubly robust",
    progress: Progress = _silent,
) -> tuple[Result, ...]:
    """``evaluate`` for several families that share features and factorizations."""
    named = [_family(family) for family in families]
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie strictly between 0 and 1, not {level!r}.")
    _enough(study)
    progress("reading texts", 0.0)
    with one_blas_thread():
        material = Material.of(study, features or Features())
        results = []
        for each in named:
            fitted = cross_fit(material, each, CROSS_FITS, seed, balance, progress)
            results.append(_result(study, material, fitted, level, seed, method))
    return tuple(results)


def _family(family: str | Family) -> Family:
    if not isinstance(family, str):
        return family
    known: dict[str, type[Family]] = {each.name: each for each in EVERY}
    if family not in known:
        raise UsageError(f'There is no family "{family}"; choose {", ".join(known)}.')
    return known[family]()


def _enough(study: Study) -> None:
    _, model = coded(study.experiment.table["model"], (*study.models, *study.others))
    if np.bincount(model, minlength=len(study.models))[: len(study.models)].max() < FEWEST:
        raise EvidenceError(
            f"{study.experiment.source}: no model has {FEWEST} or more rows, so nothing can be said of any of them. "
            "Randomize more contexts."
        )


def _result(study: Study, material: Material, fitted: CrossFit[Family], level: float, seed: int, method: str) -> Result:
    trial, final = material.trial, fitted.final
    corrected = doubly_robust(
        study.models, fitted.q, trial.model, trial.outcome, fitted.prediction, trial.propensity, trial.cluster
    )
    plain = direct(study.models, fitted.q, trial.cluster)
    policy = Policy(study.models, final.balance, final.reward, fitted.replicates, corrected.covariance)
    _, log_model = coded(study.log.table["model"], (*study.models, *study.others))
    return Result(
        values=corrected if method == "doubly robust" else plain,
        direct=plain,
        experiment=experiment_alone(study.models, trial.model, trial.outcome, trial.propensity, trial.cluster),
        raw_log=raw_log(study.models, log_model, study.log.table["outcome"].to_numpy()),
        recommendations=policy.recommend(material.cells, level),
        findings=(*study.findings, *material.featurizer.findings),
        choice=Choice(final.tuned.estimator, final.tuned.mode, final.balance, material.featurizer.psi_source),
        counts={table.role: _counts(table, study) for table in (study.log, study.experiment, study.replay)},
        policy=policy,
        featurizer=material.featurizer,
        level=level,
        seed=seed,
    )


def _counts(table: Table, study: Study) -> Counts:
    _, model = coded(table.table["model"], (*study.models, *study.others))
    each = np.bincount(model, minlength=len(study.models))[: len(study.models)]
    return Counts(
        table.source, len(table), len(table.distinct("context_id")), tuple(int(n) for n in each), table.ignored
    )
