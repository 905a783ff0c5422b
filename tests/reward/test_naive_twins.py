"""Each ridge family agrees with a naive re-implementation on every numerical path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deconfound.linalg import factorization
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
    TrainingData,
)
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

PATHS: dict[str, tuple[Shape, int, int]] = {
    "exact-primal": (TALL, 1500, 6000),
    "exact-dual": (WIDE, 1500, 6000),
    "krylov-primal": (TALL, 3, 6000),
    "krylov-dual-explicit": (WIDE, 3, 6000),
    "krylov-dual-implicit": (WIDE, 3, 3),
    "tall-in-the-dual": (TALL, 1500, 3),
    "tall-krylov-dual": (TALL, 3, 3),
    "experiment-smaller-than-psi": (FEW, 1500, 6000),
    "experiment-smaller-than-psi-krylov": (FEW, 3, 6000),
}


@pytest.fixture(params=PATHS, ids=list(PATHS))
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shape:
    """The shape of data for which these limits select one numerical path."""
    shape, exact, explicit = PATHS[request.param]
    monkeypatch.setattr(factorization, "EXACT", exact)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)
    return shape


def test_every_ridge_family_has_a_twin_and_a_candidate_here() -> None:
    names = {family.name for family in FAMILIES + VARIANTS}
    assert set(naive.TWINS) == names
    assert {candidate.name for candidate in CANDIDATES} == names


@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_fit_agrees_with_its_naive_twin(forced: Shape, candidate: Any, stored: str, weighted: bool) -> None:
    pair = make(replace(forced, sparse=stored == "sparse", weighted=weighted), seed=1)
    fit = candidate.fit(pair.log, pair.experiment)
    limit = KRYLOV if factorization.EXACT < 1500 else AGREE
    for rows in (pair.log, pair.experiment, pair.fresh):
        twin = naive.predict(candidate, pair.log, pair.experiment, rows)
        np.testing.assert_allclose(fit.predict(rows), twin, rtol=0, atol=limit)


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
    shape, exact, explicit = PATHS[path]
    monkeypatch.setattr(factorization, "EXACT", exact)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)
    called: set[str] = set()
    for name in ("lanczos_eigenpairs", "kernel_matrix", "kernel_operator"):
        monkeypatch.setattr(factorization, name, _recording(getattr(factorization, name), name, called))
    pair = make(shape)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment), [Cvci()])
    prepared.predict(Cvci(), [np.arange(len(pair.experiment))])
    assert called == expected


def _recording(function: Callable[..., Any], name: str, called: set[str]) -> Callable[..., Any]:
    def recorded(*arguments: object) -> object:
        called.add(name)
        return function(*arguments)

    return recorded


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
def test_constant_outcomes_are_predicted_on_every_numerical_path(forced: Shape, family: Any, constant: float) -> None:
    pair = make(forced)
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    predicted = family().fit(log, experiment).predict(pair.fresh)
    np.testing.assert_allclose(predicted, constant, rtol=0, atol=KRYLOV)
