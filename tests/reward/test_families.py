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
    TrainingData,
)
from deconfound.reward.cvci import penalties
from tests.support.random_rows import Pair, Shape, make, repeated

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


def test_the_penalties_of_cvci_run_from_obs_only_to_exp_only(pair: Pair) -> None:
    """Per row, because the objective of cvci has means: with these ends its pooled extremes are those two families."""
    data = TrainingData(pair.log, pair.experiment)
    log, between, experiment = penalties(data)
    assert log == pytest.approx(ObsOnly().penalty / len(pair.log))
    assert experiment == pytest.approx(ExpOnly().penalty / len(pair.experiment))
    assert between**2 == pytest.approx(log * experiment)
    grid = Cvci().grid(data)
    assert len(grid) == 63
    assert {Cvci(1.0, log), Cvci(0.0, experiment), Cvci(0.5, between)} <= set(grid)


def test_the_smallest_penalty_of_cvci_is_halved_with_twice_the_log(pair: Pair) -> None:
    twice = pair.log.take(np.tile(np.arange(len(pair.log)), 2))
    before, after = (penalties(TrainingData(log, pair.experiment)) for log in (pair.log, twice))
    assert after[0] == pytest.approx(before[0] / 2)
    assert after[-1] == before[-1]


def test_the_penalties_of_cvci_count_observations_and_not_rows(shape: Shape) -> None:
    pair = make(replace(shape, weighted=True))
    written_out = TrainingData(repeated(pair.log), repeated(pair.experiment))
    assert penalties(TrainingData(pair.log, pair.experiment)) == penalties(written_out)


def test_a_log_no_longer_than_the_experiment_still_has_a_grid(pair: Pair) -> None:
    """Equal ends are one penalty, and a longer experiment has the smaller end."""
    equal = Cvci().grid(TrainingData(pair.experiment, pair.experiment))
    assert {candidate.penalty for candidate in equal} == {1 / len(pair.experiment)}
    assert len(equal) == 21
    short = penalties(TrainingData(pair.experiment, pair.log))
    assert short == tuple(sorted(short))
    assert short[0] == pytest.approx(1 / len(pair.log))
