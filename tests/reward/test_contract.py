"""What every family in the registry must do; a new family is tested here as soon as it is registered."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from deconfound.design import IntArray, ReplayRows, Rows
from deconfound.errors import UsageError
from deconfound.reward import EVERY, Attribution, RewardFit, TrainingData
from deconfound.tune import tune
from tests.support.random_rows import TALL, Pair, make, mild

AGREE = 1e-9  # two well-conditioned solves of the same system; 3e-12 was observed
REGISTERED = [pytest.param(family, id=family.name) for family in EVERY]
SUBSETS = {"half of the rows": np.arange(0, 30, 2), "repeated rows": np.array([3, 3, 5, 7, 7, 7, 20, 21, 22])}


def resolved(family: Any, pair: Pair) -> Any:
    return family().resolve(TrainingData(pair.log, pair.experiment))


def grid_of(family: Any, pair: Pair) -> Any:
    return family().grid(TrainingData(pair.log, pair.experiment))


def replay_of(pair: Pair) -> ReplayRows:
    """Ten contexts and two models, one draw each."""
    distinct = pair.fresh.take(np.arange(20))
    return ReplayRows(distinct, np.arange(20), np.arange(20) // 2, np.arange(20) % 2, 10, 2)


def test_names_are_unique_and_can_be_typed_on_a_command_line() -> None:
    names = [family.name for family in EVERY]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


@pytest.mark.parametrize("family", REGISTERED)
def test_the_class_attributes_are_in_range(family: Any) -> None:
    assert isinstance(family.learns_from_experiment, bool)
    assert family.surface_share is None or 0.0 <= family.surface_share <= 1.0
    assert family.max_log_rows is None or family.max_log_rows > 0
    assert family.max_experiment_rows > 0


@pytest.mark.parametrize("family", REGISTERED)
def test_predictions_are_finite_and_stay_inside_the_unit_interval(family: Any, pair: Pair) -> None:
    extreme = Rows(100 * pair.fresh.phi.toarray(), psi=100 * pair.fresh.require_psi())
    fit = family().fit(pair.log, pair.experiment)
    assert isinstance(fit, RewardFit)
    predicted = fit.predict(extreme)
    assert predicted.shape == (len(extreme),)
    assert np.isfinite(predicted).all()
    assert predicted.min() >= 0
    assert predicted.max() <= 1
    assert len(np.unique(predicted)) > 1


@pytest.mark.parametrize("family", REGISTERED)
def test_fitting_changes_neither_the_family_nor_the_rows(family: Any, pair: Pair) -> None:
    estimator = family()
    before = copy.deepcopy(pair)
    first = estimator.fit(pair.log, pair.experiment).predict(pair.fresh)
    for rows, rows_before in ((pair.log, before.log), (pair.experiment, before.experiment)):
        np.testing.assert_array_equal(rows.phi.toarray(), rows_before.phi.toarray())
        for name in (field.name for field in fields(Rows) if field.name != "phi"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(rows_before, name))
    assert estimator == family()
    assert first.tobytes() == estimator.fit(pair.log, pair.experiment).predict(pair.fresh).tobytes()


@pytest.mark.parametrize("family", REGISTERED)
def test_hyperparameters_cannot_be_assigned(family: Any) -> None:
    estimator = family()
    for field in fields(family):
        with pytest.raises(FrozenInstanceError):
            setattr(estimator, field.name, getattr(estimator, field.name))


@pytest.mark.parametrize("family", REGISTERED)
def test_hyperparameters_that_are_not_numbers_are_rejected_by_name(family: Any) -> None:
    for field in fields(family):
        if isinstance(getattr(family(), field.name), float):
            with pytest.raises(UsageError, match=field.name):
                family(**{field.name: np.nan})


@pytest.mark.parametrize("family", REGISTERED)
def test_a_grid_has_distinct_candidates_of_the_same_family_in_a_strict_order(family: Any, pair: Pair) -> None:
    grid = grid_of(family, pair)
    assert all(type(candidate) is family for candidate in grid)
    assert len(set(grid)) == len(grid)
    assert len({candidate.regularization_order() for candidate in grid}) == len(grid), "a tie could not be broken"


@pytest.mark.parametrize("family", REGISTERED)
def test_a_grid_does_not_depend_on_outcomes(family: Any, pair: Pair) -> None:
    """It is one for all folds, so an outcome that changed it would be used for rows that it should be held out from."""
    log, experiment = (replace(rows, outcome=1.0 - rows.require_outcome()) for rows in (pair.log, pair.experiment))
    assert family().grid(TrainingData(log, experiment)) == grid_of(family, pair)


@pytest.mark.parametrize("family", REGISTERED)
def test_a_larger_penalty_is_more_regularized_whatever_the_rest(family: Any, pair: Pair) -> None:
    for candidate in grid_of(family, pair):
        if hasattr(candidate, "penalty"):
            larger = replace(candidate, penalty=candidate.penalty * 2)
            assert larger.regularization_order() > candidate.regularization_order()


@pytest.mark.parametrize("family", REGISTERED)
def test_tuning_chooses_a_candidate_and_fits_it_to_all_rows(family: Any, pair: Pair) -> None:
    tuned = tune(family(), pair.log, pair.experiment)
    assert tuned.estimator in tuned.candidates
    assert (tuned.mode == "fixed") == (len(tuned.candidates) == 1)
    assert tuned.fit is not None
    expected = tuned.estimator.fit(pair.log, pair.experiment).predict(pair.fresh)
    np.testing.assert_allclose(tuned.fit.predict(pair.fresh), expected, rtol=0, atol=AGREE)


@pytest.mark.parametrize("train", SUBSETS.values(), ids=SUBSETS)
@pytest.mark.parametrize("family", REGISTERED)
def test_one_preparation_gives_every_subset_what_a_fit_to_it_alone_gives(
    family: Any, train: IntArray, pair: Pair
) -> None:
    calm = mild(pair)  # ``auto`` clips in another order in ``predict`` and in ``fit``
    candidate = resolved(family, calm)
    prepared = family.prepare(TrainingData(calm.log, calm.experiment), [candidate])
    alone = candidate.fit(calm.log, calm.experiment.take(train)).predict(calm.experiment)
    (predicted,) = prepared.predict(candidate, [train])
    np.testing.assert_allclose(predicted, alone, rtol=0, atol=AGREE)
    np.testing.assert_allclose(prepared.fit(candidate, train).predict(calm.experiment), alone, rtol=0, atol=AGREE)
    assert np.ptp(alone) > 1e-6


@pytest.mark.parametrize("family", REGISTERED)
def test_a_family_learns_from_the_experiment_exactly_when_it_says_so(family: Any, pair: Pair) -> None:
    inverted = replace(pair.experiment, outcome=1.0 - pair.experiment.require_outcome())
    before = family().fit(pair.log, pair.experiment).predict(pair.fresh)
    after = family().fit(pair.log, inverted).predict(pair.fresh)
    assert np.array_equal(before, after) is not family.learns_from_experiment


@pytest.mark.parametrize("family", REGISTERED)
def test_resolving_twice_is_resolving_once_and_fits_alike(family: Any, pair: Pair) -> None:
    data = TrainingData(pair.log, pair.experiment)
    once = family().resolve(data)
    assert type(once) is family
    assert once.resolve(data) == once
    fits = [estimator.fit(pair.log, pair.experiment).predict(pair.fresh) for estimator in (family(), once)]
    assert fits[0].tobytes() == fits[1].tobytes()


@pytest.mark.parametrize("family", REGISTERED)
def test_hyperparameters_survive_json(family: Any, pair: Pair) -> None:
    for candidate in (*grid_of(family, pair), resolved(family, pair)):
        assert family.from_document(json.loads(json.dumps(candidate.to_document()))) == candidate


@pytest.mark.parametrize("family", REGISTERED)
def test_an_attribution_if_there_is_one_has_shares_that_sum_to_one(family: Any, pair: Pair) -> None:
    candidate = resolved(family, pair)
    prepared = family.prepare(TrainingData(pair.log, pair.experiment), [candidate])
    attribution = prepared.attribution(replay_of(pair), [np.arange(5), np.arange(5, 12)])
    if attribution is not None:
        assert isinstance(attribution, Attribution)
        assert attribution.shares.sum() == pytest.approx(1.0)
        assert (attribution.bootstrap_sd >= 0).all()


@pytest.mark.parametrize("family", REGISTERED)
def test_missing_outcomes_are_rejected_wherever_they_are_needed(family: Any, pair: Pair) -> None:
    log, experiment = pair.log, pair.experiment
    if family.learns_from_experiment:
        experiment = replace(experiment, outcome=None)
    else:
        log = replace(log, outcome=None)
    with pytest.raises(UsageError, match="no outcome"):
        family().fit(log, experiment)


@pytest.mark.parametrize("family", REGISTERED)
def test_without_psi_a_family_fits_or_says_that_psi_is_missing(family: Any, pair: Pair) -> None:
    log, experiment = replace(pair.log, psi=None), replace(pair.experiment, psi=None)
    try:
        fit = family().fit(log, experiment)
    except UsageError as error:
        assert "psi" in str(error)  # noqa: PT017  (both branches are allowed)
    else:
        assert np.isfinite(fit.predict(replace(pair.fresh, psi=None))).all()


@pytest.mark.parametrize("family", REGISTERED)
def test_sources_that_cannot_be_fitted_are_rejected(family: Any, pair: Pair) -> None:
    none = np.arange(0)
    with pytest.raises(UsageError, match="at least one row"):
        family().fit(pair.log.take(none), pair.experiment)
    with pytest.raises(UsageError, match="at least one row"):
        family().fit(pair.log, pair.experiment.take(none))
    with pytest.raises(UsageError, match="same number of columns"):
        family().fit(replace(pair.log, phi=pair.log.phi.toarray()[:, 1:]), pair.experiment)


@pytest.mark.parametrize("constant", [0.5, 0.4, 0.0, 1.0])
@pytest.mark.parametrize("family", REGISTERED)
def test_constant_outcomes_are_predicted_to_be_that_constant(family: Any, constant: float, pair: Pair) -> None:
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    predicted = family().fit(log, experiment).predict(pair.fresh)
    np.testing.assert_allclose(predicted, constant, rtol=0, atol=AGREE)


@pytest.mark.parametrize("family", REGISTERED)
def test_one_row_of_each_source_is_enough_for_a_fit(family: Any) -> None:
    pair = make(TALL)
    one = np.arange(1)
    predicted = family().fit(pair.log.take(one), pair.experiment.take(one)).predict(pair.fresh)
    assert np.isfinite(predicted).all()
