"""Facts about single families that the contract of all families does not state."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from deconfound.errors import UsageError
from deconfound.reward import (
    EVERY,
    FAMILIES,
    VARIANTS,
    Auto,
    Cvci,
    CvciResidual,
    ExpOnly,
    Grounded,
    GroundedAnchor,
    GroundedLinear,
    ObsOnly,
    RepresentationExp,
)
from tests.support.random_rows import Pair

IN_UNIT_INTERVAL = ("pooling", "strength")


@pytest.mark.parametrize("family", FAMILIES + VARIANTS, ids=lambda family: family.name)
def test_hyperparameters_out_of_range_are_rejected(family: Any) -> None:
    for field in fields(family):
        if field.name == "basis":
            continue
        wrong = (-0.1, 1.1, np.nan) if field.name in IN_UNIT_INTERVAL else (0.0, -1.0, np.inf, np.nan)
        for value in wrong:
            with pytest.raises(UsageError, match=field.name):
                family(**{field.name: value})


def test_a_weaker_correction_and_more_of_the_log_are_more_regularized() -> None:
    assert Grounded(strength=0.1).regularization_order() > Grounded(strength=0.2).regularization_order()
    assert GroundedLinear(strength=0.0).regularization_order() > GroundedLinear(strength=1.0).regularization_order()
    assert Cvci(pooling=0.9).regularization_order() > Cvci(pooling=0.1).regularization_order()
    assert CvciResidual(pooling=0.9).regularization_order() > CvciResidual(pooling=0.1).regularization_order()
    assert GroundedAnchor(pooling=0.9).regularization_order() > GroundedAnchor(pooling=0.1).regularization_order()


@pytest.mark.parametrize("family", [ExpOnly, RepresentationExp])
def test_a_family_of_the_experiment_ignores_logged_outcomes(family: Any, pair: Pair) -> None:
    inverted = replace(pair.log, outcome=1.0 - pair.log.require_outcome())
    before = family().fit(pair.log, pair.experiment).predict(pair.fresh)
    assert np.array_equal(before, family().fit(inverted, pair.experiment).predict(pair.fresh))


@pytest.mark.parametrize("family", [ExpOnly, ObsOnly, Cvci, Auto])
def test_families_over_phi_work_without_psi(family: Any, pair: Pair) -> None:
    fit = family().fit(replace(pair.log, psi=None), replace(pair.experiment, psi=None))
    assert np.isfinite(fit.predict(replace(pair.fresh, psi=None))).all()


@pytest.mark.parametrize("family", [RepresentationExp, Grounded, GroundedLinear, GroundedAnchor, CvciResidual])
def test_families_over_psi_say_when_it_is_missing(family: Any, pair: Pair) -> None:
    with pytest.raises(UsageError, match="psi"):
        family().fit(replace(pair.log, psi=None), replace(pair.experiment, psi=None))


def test_only_auto_has_a_fixed_surface_share_and_samples_a_long_log() -> None:
    special = [f for f in EVERY if f.surface_share is not None or f.max_log_rows is not None]
    assert special == [Auto]
    assert (Auto.surface_share, Auto.max_log_rows) == (0.0, 6000)
