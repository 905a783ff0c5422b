"""Each ridge family agrees with a naive re-implementation on every numerical path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import Rows
from deconfound.errors import UsageError
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
    """The shape of data that, with these limits, leads through one numerical path."""
    shape, exact, explicit = PATHS[request.param]
    monkeypatch.setattr(factorization, "EXACT", exact)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)
    return shape


def test_every_family_has_a_twin_and_a_candidate_here() -> None:
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
    shape, exact, explicit = PATHS[path]
    monkeypatch.setattr(factorization, "EXACT", exact)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)
    taken: set[str] = set()
    for name in ("lanczos_eigenpairs", "kernel_matrix", "kernel_operator"):
        monkeypatch.setattr(factorization, name, _noting(getattr(factorization, name), name, taken))
    pair = make(shape)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment), [Cvci()])
    prepared.predict(Cvci(), [np.arange(len(pair.experiment))])
    assert taken == expected


def _noting(function: Callable[..., Any], name: str, taken: set[str]) -> Callable[..., Any]:
    def noted(*arguments: object) -> object:
        taken.add(name)
        return function(*arguments)

    return noted


def test_a_weaker_correction_and_more_of_the_log_are_more_rigid() -> None:
    assert Grounded(strength=0.1).regularization_order() > Grounded(strength=0.2).regularization_order()
    assert GroundedLinear(strength=0.0).regularization_order() > GroundedLinear(strength=1.0).regularization_order()
    assert Cvci(pooling=0.9).regularization_order() > Cvci(pooling=0.1).regularization_order()
    assert CvciResidual(pooling=0.9).regularization_order() > CvciResidual(pooling=0.1).regularization_order()
    assert GroundedAnchor(pooling=0.9).regularization_order() > GroundedAnchor(pooling=0.1).regularization_order()


@pytest.mark.parametrize("family", [ExpOnly, RepresentationExp])
def test_a_family_of_the_experiment_never_looks_at_logged_outcomes(family: Any, pair: Pair) -> None:
    turned = replace(pair.log, outcome=1.0 - pair.log.outcomes)
    before = family().fit(pair.log, pair.experiment).predict(pair.fresh)
    assert np.array_equal(before, family().fit(turned, pair.experiment).predict(pair.fresh))


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
def test_constant_outcomes_are_predicted_to_be_that_constant(forced: Shape, family: Any, constant: float) -> None:
    pair = make(forced)
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    predicted = family().fit(log, experiment).predict(pair.fresh)
    np.testing.assert_allclose(predicted, constant, rtol=0, atol=KRYLOV)


