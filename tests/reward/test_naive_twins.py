"""Each ridge family agrees with a naive re-implementation on every numerical path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import Rows
from deconfound.linalg import DEFAULT_LIMITS, FactorizationLimits, empty_source, factor, factorization, ridge
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
from deconfound.reward.training_data import ExperimentRidge
from tests.support import naive
from tests.support.random_rows import FEW, TALL, WIDE, Pair, Shape, make

AGREE = 1e-11  # exact paths: rounding of two well-conditioned solves of the same system; 2e-13 was observed
KRYLOV = 1e-9  # truncated paths: residual 1e-10 relative to the start block; 7e-11 was observed

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


def fit(candidate: Any, log: Rows, experiment: Rows, limits: FactorizationLimits) -> RewardFit:
    """What ``candidate.fit`` does, on the numerical path that ``limits`` select."""
    prepared = type(candidate).prepare(TrainingData(log, experiment, limits=limits), [candidate])
    fitted: RewardFit = prepared.fit(candidate, np.arange(len(experiment)))
    return fitted


def test_every_ridge_family_has_a_twin_and_a_candidate_here() -> None:
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
    fitted = fit(candidate, pair.log, pair.experiment, limits)
    atol = AGREE if limits.max_eigh == DEFAULT_LIMITS.max_eigh else KRYLOV
    for rows in (pair.log, pair.experiment, pair.fresh):
        twin = naive.predict(candidate, pair.log, pair.experiment, rows)
        np.testing.assert_allclose(fitted.predict(rows), twin, rtol=0, atol=atol)


def test_the_compared_predictions_are_neither_all_clipped_nor_all_equal() -> None:
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
def test_the_limits_select_the_path_they_name(path: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this the path tests above could all run the same code."""
    shape, limits = PATHS[path]
    called: set[str] = set()
    for name in ("lanczos_eigenpairs", "kernel_matrix", "kernel_operator"):
        monkeypatch.setattr(factorization, name, _recording(getattr(factorization, name), name, called))
    pair = make(shape)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment, limits=limits), [Cvci()])
    prepared.predict(Cvci(), [np.arange(len(pair.experiment))])
    assert called == expected


def _recording(function: Callable[..., Any], name: str, called: set[str]) -> Callable[..., Any]:
    def recorded(*arguments: object) -> object:
        called.add(name)
        return function(*arguments)

    return recorded


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_no_family_falls_back_to_the_default_limits(
    candidate: Any, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a family would run on one numerical path in all tests here; without defaults it fails."""
    for function in (factor, empty_source, ridge, ExperimentRidge.from_features.__func__):  # type: ignore[attr-defined]
        monkeypatch.setattr(function, "__defaults__", None)
    with pytest.raises(TypeError, match="limits"):
        ridge(pair.log.phi, pair.log.require_outcome(), 1.0, None)
    all_rows = np.arange(len(pair.experiment))
    prepared = type(candidate).prepare(TrainingData(pair.log, pair.experiment, limits=KRYLOV_LIMITS), [candidate])
    prepared.fit(candidate, all_rows)
    prepared.predict(candidate, [all_rows])


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_one_preparation_gives_every_subset_what_a_fit_to_it_alone_gives(candidate: Any, pair: Pair) -> None:
    train = np.arange(0, len(pair.experiment), 2)
    prepared = type(candidate).prepare(TrainingData(pair.log, pair.experiment), [candidate])
    (predicted,) = prepared.predict(candidate, [train])
    alone = candidate.fit(pair.log, pair.experiment.take(train)).predict(pair.experiment)
    np.testing.assert_allclose(predicted, alone, rtol=0, atol=AGREE)
    np.testing.assert_allclose(prepared.fit(candidate, train).predict(pair.experiment), alone, rtol=0, atol=AGREE)


@pytest.mark.parametrize("constant", [0.5, 0.4, 0.0, 1.0])
@pytest.mark.parametrize("family", FAMILIES + VARIANTS, ids=lambda family: family.name)
@pytest.mark.parametrize("path", PATHS)
def test_constant_outcomes_are_predicted_on_every_numerical_path(path: str, family: Any, constant: float) -> None:
    shape, limits = PATHS[path]
    pair = make(shape)
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    predicted = fit(family(), log, experiment, limits).predict(pair.fresh)
    np.testing.assert_allclose(predicted, constant, rtol=0, atol=KRYLOV)
