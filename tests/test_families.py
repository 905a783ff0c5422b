"""The contract that every family keeps, and its agreement with a naive twin on every numerical path."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import Rows
from deconfound.errors import UsageError
from deconfound.linalg import DEFAULT_LIMITS, FactorizationLimits, factorization
from deconfound.reward import (
    FAMILIES,
    VARIANTS,
    Cvci,
    CvciResidual,
    ExpOnly,
    Grounded,
    GroundedAnchor,
    GroundedLinear,
    ObsOnly,
    RepresentationExp,
    RewardFit,
    TrainingData,
)
from tests.support import naive
from tests.support.random_rows import FEW, TALL, WIDE, Pair, Shape, make

AGREE = 1e-11  # exact paths: rounding of two well-conditioned solves of the same system; 2e-13 was seen
KRYLOV = 1e-9  # truncated paths: residual 1e-10 relative to the start block; 7e-11 was seen

EVERY = [pytest.param(family, id=family.name) for family in FAMILIES + VARIANTS]

CANDIDATES: tuple[Any, ...] = (
    ExpOnly(0.3),
    ObsOnly(2.0),
    RepresentationExp(0.5),
    Grounded(penalty=0.4, strength=0.7, log_penalty=3.0),
    Grounded("quadratic", penalty=2.0, strength=1.0),
    GroundedLinear(penalty=0.1, strength=0.3, log_penalty=0.2),
    GroundedAnchor(penalty=0.4, pooling=0.3, log_penalty=1.5, strength=0.8),
    GroundedAnchor("quadratic", pooling=0.0, baseline_anchor=0.5, strength_anchor=0.1),
    GroundedAnchor(pooling=1.0),
    Cvci(0.3, 1e-2),
    Cvci(0.0, 1e-1),
    Cvci(1.0, 1e-2),
    Cvci(0.95, 1.0),
    CvciResidual(0.4, 1e-2, 2.0),
    CvciResidual(0.0, 1e-1),
    CvciResidual(1.0, 1e-2, 50.0),
)

KRYLOV_LIMITS = FactorizationLimits(max_eigh=3)
DUAL_LIMITS = FactorizationLimits(max_dense_kernel=3)
KRYLOV_DUAL_LIMITS = FactorizationLimits(max_eigh=3, max_dense_kernel=3)

PATHS: dict[str, tuple[Shape, FactorizationLimits]] = {
    "exact-primal": (TALL, DEFAULT_LIMITS),
    "exact-dual": (WIDE, DEFAULT_LIMITS),
    "krylov-primal": (TALL, KRYLOV_LIMITS),
    "krylov-dual-explicit": (WIDE, KRYLOV_LIMITS),
    "krylov-dual-implicit": (WIDE, KRYLOV_DUAL_LIMITS),
    "tall-in-the-dual": (TALL, DUAL_LIMITS),
    "tall-krylov-dual": (TALL, KRYLOV_DUAL_LIMITS),
    "experiment-smaller-than-psi": (FEW, DEFAULT_LIMITS),
    "experiment-smaller-than-psi-krylov": (FEW, KRYLOV_LIMITS),
}


def test_every_family_has_a_twin_and_a_candidate_here() -> None:
    names = {family.name for family in FAMILIES + VARIANTS}
    assert set(naive.TWINS) == names
    assert {candidate.name for candidate in CANDIDATES} == names


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("path", PATHS)
def test_a_fit_agrees_with_its_naive_twin(path: str, candidate: Any, stored: str, weighted: bool) -> None:
    shape, limits = PATHS[path]
    pair = make(replace(shape, sparse=stored == "sparse", weighted=weighted), seed=1)
    prepared = type(candidate).prepare(TrainingData(pair.log, pair.experiment, limits=limits), [candidate])
    fit = prepared.fit(candidate, np.arange(len(pair.experiment)))
    limit = AGREE if limits.max_eigh == DEFAULT_LIMITS.max_eigh else KRYLOV
    for rows in (pair.log, pair.experiment, pair.fresh):
        twin = naive.predict(candidate, pair.log, pair.experiment, rows)
        np.testing.assert_allclose(fit.predict(rows), twin, rtol=0, atol=limit)


def test_the_twins_see_predictions_that_are_neither_all_clipped_nor_all_equal() -> None:
    """Agreement on constants would prove nothing."""
    for shape in (TALL, WIDE, FEW):
        pair = make(shape, seed=1)
        for candidate in CANDIDATES:
            inside = naive.predict(candidate, pair.log, pair.experiment, pair.log)
            assert np.std(inside) > 1e-3
            assert np.mean((inside > 0) & (inside < 1)) > 0.3


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("exact-primal", set()),
        ("exact-dual", {"kernel_matrix"}),
        ("krylov-primal", {"lanczos_eigenpairs"}),
        ("krylov-dual-explicit", {"lanczos_eigenpairs", "kernel_matrix"}),
        ("krylov-dual-implicit", {"lanczos_eigenpairs", "kernel_operator"}),
        ("tall-in-the-dual", {"kernel_matrix"}),
        ("tall-krylov-dual", {"lanczos_eigenpairs", "kernel_operator"}),
    ],
)
def test_the_limits_lead_through_the_path_they_name(
    path: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this the path tests above could all run the same code."""
    shape, limits = PATHS[path]
    taken: set[str] = set()
    for name in ("lanczos_eigenpairs", "kernel_matrix", "kernel_operator"):
        monkeypatch.setattr(factorization, name, _noting(getattr(factorization, name), name, taken))
    pair = make(shape)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment, limits=limits), [Cvci()])
    prepared.predict(Cvci(), [np.arange(len(pair.experiment))])
    assert taken == expected


def _noting(function: Callable[..., Any], name: str, taken: set[str]) -> Callable[..., Any]:
    def noted(*arguments: object) -> object:
        taken.add(name)
        return function(*arguments)

    return noted


@pytest.mark.parametrize("family", EVERY)
def test_predictions_are_finite_and_stay_inside_the_unit_interval(family: Any, pair: Pair) -> None:
    wild = Rows(100 * pair.fresh.phi.toarray(), psi=100 * pair.fresh.require_psi())
    fit = family().fit(pair.log, pair.experiment)
    assert isinstance(fit, RewardFit)
    predicted = fit.predict(wild)
    assert predicted.shape == (len(wild),)
    assert np.isfinite(predicted).all()
    assert predicted.min() >= 0
    assert predicted.max() <= 1
    assert len(np.unique(predicted)) > 1


@pytest.mark.parametrize("family", EVERY)
def test_fitting_changes_neither_the_family_nor_the_rows(family: Any, pair: Pair) -> None:
    estimator = family()
    before = copy.deepcopy(pair.log)
    first = estimator.fit(pair.log, pair.experiment).predict(pair.fresh)
    np.testing.assert_array_equal(pair.log.phi.toarray(), before.phi.toarray())
    for name in (f.name for f in fields(Rows) if f.name != "phi"):
        np.testing.assert_array_equal(getattr(pair.log, name), getattr(before, name))
    assert estimator == family()
    assert first.tobytes() == estimator.fit(pair.log, pair.experiment).predict(pair.fresh).tobytes()
    with pytest.raises(FrozenInstanceError):
        estimator.penalty = 5.0


@pytest.mark.parametrize("family", EVERY)
def test_a_grid_holds_distinct_candidates_of_its_own_family(family: Any) -> None:
    grid = family(penalty=0.77).grid()
    assert all(type(candidate) is family for candidate in grid)
    assert len(set(grid)) == len(grid)
    assert len({candidate.regularization_order() for candidate in grid}) == len(grid), "a tie could not be broken"


@pytest.mark.parametrize("family", EVERY)
def test_more_penalty_is_more_rigid_whatever_the_rest(family: Any) -> None:
    grid = family().grid()
    for candidate in grid:
        stiffer = replace(candidate, penalty=candidate.penalty * 2)
        assert stiffer.regularization_order() > candidate.regularization_order()


def test_a_weaker_correction_and_more_of_the_log_are_more_rigid() -> None:
    assert Grounded(strength=0.1).regularization_order() > Grounded(strength=0.2).regularization_order()
    assert GroundedLinear(strength=0.0).regularization_order() > GroundedLinear(strength=1.0).regularization_order()
    assert Cvci(pooling=0.9).regularization_order() > Cvci(pooling=0.1).regularization_order()
    assert CvciResidual(pooling=0.9).regularization_order() > CvciResidual(pooling=0.1).regularization_order()
    assert GroundedAnchor(pooling=0.9).regularization_order() > GroundedAnchor(pooling=0.1).regularization_order()


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_one_preparation_gives_every_subset_what_a_fit_to_it_alone_gives(candidate: Any, pair: Pair) -> None:
    train = np.arange(0, len(pair.experiment), 2)
    prepared = type(candidate).prepare(TrainingData(pair.log, pair.experiment), [candidate])
    (quick,) = prepared.predict(candidate, [train])
    slow = candidate.fit(pair.log, pair.experiment.take(train)).predict(pair.experiment)
    np.testing.assert_allclose(quick, slow, rtol=0, atol=AGREE)
    finished = prepared.fit(candidate, train).predict(pair.experiment)
    np.testing.assert_allclose(finished, slow, rtol=0, atol=AGREE)


@pytest.mark.parametrize("family", EVERY)
def test_a_family_learns_from_the_experiment_exactly_when_it_says_so(family: Any, pair: Pair) -> None:
    turned = replace(pair.experiment, outcome=1.0 - pair.experiment.require_outcome())
    before = family().fit(pair.log, pair.experiment).predict(pair.fresh)
    after = family().fit(pair.log, turned).predict(pair.fresh)
    assert np.array_equal(before, after) is not family.learns_from_experiment


@pytest.mark.parametrize("family", [ExpOnly, RepresentationExp])
def test_a_family_of_the_experiment_never_looks_at_logged_outcomes(family: Any, pair: Pair) -> None:
    turned = replace(pair.log, outcome=1.0 - pair.log.require_outcome())
    before = family().fit(pair.log, pair.experiment).predict(pair.fresh)
    assert np.array_equal(before, family().fit(turned, pair.experiment).predict(pair.fresh))


@pytest.mark.parametrize("family", EVERY)
def test_missing_outcomes_are_refused_wherever_they_are_needed(family: Any, pair: Pair) -> None:
    silent = replace(pair.log if family is ObsOnly else pair.experiment, outcome=None)
    with pytest.raises(UsageError, match="no outcome"):
        family().fit(silent if family is ObsOnly else pair.log, silent if family is not ObsOnly else pair.experiment)


@pytest.mark.parametrize("family", EVERY)
def test_psi_is_asked_for_only_by_the_families_that_use_it(family: Any, pair: Pair) -> None:
    log, experiment = replace(pair.log, psi=None), replace(pair.experiment, psi=None)
    if family in (ExpOnly, ObsOnly, Cvci):
        family().fit(log, experiment).predict(replace(pair.fresh, psi=None))
    else:
        with pytest.raises(UsageError, match="psi"):
            family().fit(log, experiment)


@pytest.mark.parametrize("family", EVERY)
def test_sources_that_cannot_be_fitted_are_refused(family: Any, pair: Pair) -> None:
    none = np.arange(0)
    with pytest.raises(UsageError, match="at least one row"):
        family().fit(pair.log.take(none), pair.experiment)
    with pytest.raises(UsageError, match="at least one row"):
        family().fit(pair.log, pair.experiment.take(none))
    with pytest.raises(UsageError, match="same number of columns"):
        family().fit(replace(pair.log, phi=pair.log.phi.toarray()[:, 1:]), pair.experiment)


SHARES = ("pooling", "strength")


@pytest.mark.parametrize("family", EVERY)
def test_hyperparameters_without_a_meaning_are_refused(family: Any) -> None:
    for field in fields(family):
        if field.name == "basis":
            continue
        wrong = (-0.1, 1.1, np.nan) if field.name in SHARES else (0.0, -1.0, np.inf, np.nan)
        for value in wrong:
            with pytest.raises(UsageError, match=field.name):
                family(**{field.name: value})


@pytest.mark.parametrize("constant", [0.5, 0.4, 0.0, 1.0])
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("path", PATHS)
def test_constant_outcomes_are_predicted_to_be_that_constant(path: str, family: Any, constant: float) -> None:
    shape, limits = PATHS[path]
    pair = make(shape)
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    prepared = family.prepare(TrainingData(log, experiment, limits=limits), [family()])
    predicted = prepared.fit(family(), np.arange(len(experiment))).predict(pair.fresh)
    np.testing.assert_allclose(predicted, constant, rtol=0, atol=KRYLOV)


def test_a_single_row_on_each_side_is_enough_to_fit_every_family() -> None:
    pair = make(TALL)
    one = np.arange(1)
    for family in FAMILIES + VARIANTS:
        predicted = family().fit(pair.log.take(one), pair.experiment.take(one)).predict(pair.fresh)
        assert np.isfinite(predicted).all()
