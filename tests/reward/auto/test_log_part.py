"""``auto`` without some of the log's rows: from the factorization of the whole log, and anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.design import Rows, merge_duplicate_rows, stack
from deconfound.reward import Auto, TrainingData
from deconfound.reward.auto import family
from deconfound.reward.auto.family import PreparedAuto
from deconfound.reward.training_data import LogPart
from tests.support.auto import SOME_VARIANCES
from tests.support.random_rows import TALL, make

AUTO = Auto(SOME_VARIANCES)
LOG, EXPERIMENT = merge_duplicate_rows(make(TALL, seed=3).log), make(TALL, seed=3).experiment


def first_rows(count: int, log: Rows = LOG) -> np.ndarray:
    return np.arange(len(log)) < count


def whole_and_part(log: Rows, is_removed: np.ndarray) -> tuple[PreparedAuto, LogPart]:
    whole = TrainingData(log, EXPERIMENT)
    prepared = Auto.prepare(whole, (AUTO,))
    assert isinstance(prepared, PreparedAuto)
    return prepared, LogPart.from_rows(whole, log, is_removed)


def repeating(log: Rows, count: int) -> Rows:
    """The log with its first rows once more, at other outcomes."""
    again = log.take(np.arange(count))
    return Rows(
        stack([log.phi, again.phi]),
        np.vstack([log.require_psi(), again.require_psi()]),
        np.append(log.require_outcome(), 1.0 - again.require_outcome()),
        np.append(log.model, again.model),
        np.append(log.weight_or_ones, again.weight_or_ones),
        modifiers=np.vstack([log.modifiers, again.modifiers]),
    )


@pytest.mark.parametrize("count", [1, 5, len(LOG) // 4])
def test_a_part_with_the_factorization_of_the_whole_agrees_with_one_of_its_own(count: int) -> None:
    prepared, part = whole_and_part(LOG, first_rows(count))
    shared = AUTO.prepare_part(part, prepared)
    direct = PreparedAuto.condition_on_log(part.data, SOME_VARIANCES, None)
    assert isinstance(shared, PreparedAuto)
    assert shared.posterior.triangle is prepared.posterior.triangle
    train = np.arange(0, len(EXPERIMENT), 2)
    one, other = shared.fit(AUTO, train), direct.fit(AUTO, train)
    for name in ("intercept", "phi_coef", "psi_coef", "model_effect", "modifier_coef"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-10, err_msg=name)


def test_a_part_has_the_units_of_the_whole_and_a_mean_of_its_own() -> None:
    """Variances were estimated in those units; outcomes of removed rows influence nothing."""
    is_removed = first_rows(10)
    changed = replace(LOG, outcome=np.where(is_removed, 1.0 - LOG.require_outcome(), LOG.require_outcome()))
    fits = []
    for log in (LOG, changed):
        prepared, part = whole_and_part(log, is_removed)
        assert part.data.kernel_scale is prepared.scale
        fits.append(AUTO.prepare_part(part, prepared).fit(AUTO, np.arange(len(EXPERIMENT))))
    np.testing.assert_allclose(fits[0].predict(EXPERIMENT), fits[1].predict(EXPERIMENT), rtol=0, atol=1e-12)


def test_without_most_rows_the_part_is_factored_anew() -> None:
    prepared, part = whole_and_part(LOG, first_rows(len(LOG) // 2))
    anew = AUTO.prepare_part(part, prepared)
    assert isinstance(anew, PreparedAuto)
    assert len(anew.log) == len(LOG) - len(LOG) // 2


def test_a_part_of_a_merged_row_is_factored_anew() -> None:
    """The merged row remains, with less weight and another mean outcome."""
    log = repeating(LOG, 3)
    prepared, part = whole_and_part(log, first_rows(3, log))
    assert len(prepared.log) == len(LOG)
    assert part.removed is None
    anew = AUTO.prepare_part(part, prepared)
    assert isinstance(anew, PreparedAuto)
    assert anew.log.total_weight == LOG.total_weight


def test_merged_rows_that_are_removed_as_a_whole_share_the_factorization() -> None:
    log = repeating(LOG, 3)
    is_removed = first_rows(3, log) | (np.arange(len(log)) >= len(LOG))
    prepared, part = whole_and_part(log, is_removed)
    assert part.removed is not None
    assert len(part.removed) == 3
    shared, direct = AUTO.prepare_part(part, prepared), PreparedAuto.condition_on_log(part.data, SOME_VARIANCES, None)
    predictions = [each.fit(AUTO, np.arange(20)).predict(EXPERIMENT) for each in (shared, direct)]
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=0, atol=1e-10)


def test_a_part_of_a_sampled_log_is_factored_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Auto, "max_log_rows", len(LOG) - 1)
    prepared, part = whole_and_part(LOG, first_rows(1))
    assert len(prepared.log) == len(LOG) - 1
    anew = AUTO.prepare_part(part, prepared)
    assert isinstance(anew, PreparedAuto)
    assert anew.posterior is not prepared.posterior


def test_a_part_beside_a_long_experiment_is_factored_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "MAX_FACTORED_ROWS", 1)
    prepared, part = whole_and_part(LOG, first_rows(2))
    anew = AUTO.prepare_part(part, prepared)
    assert isinstance(anew, PreparedAuto)
    assert len(anew.log) == len(LOG) - 2
