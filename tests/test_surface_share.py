"""The share of surface statistics in phi goes to the features that predict the outcome."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.surface_share import SURFACE_SHARES, StudyTrainingData
from tests.support.study_arrays import random_study

ALL_ROWS = np.arange(120)


@pytest.mark.parametrize(("text", "dense", "share"), [(0.2, 0.0, 0.1), (0.0, 0.2, 0.9)])
def test_the_features_that_predict_outcomes_get_the_larger_share(text: float, dense: float, share: float) -> None:
    data = StudyTrainingData(random_study(text, dense))
    assert data.choose_surface_shares([ALL_ROWS, ALL_ROWS[:90]], seed=0) == [share, share]


def test_a_subset_too_small_to_split_gets_the_middle_share() -> None:
    data = StudyTrainingData(random_study(0.0, 0.2))
    assert data.choose_surface_shares([np.array([5]), ALL_ROWS], seed=0) == [0.5, 0.9]


def test_without_statistics_phi_is_text_alone() -> None:
    data = StudyTrainingData(random_study(0.2, 0.0, dense=False))
    assert data.choose_surface_shares([ALL_ROWS], seed=0) == [0.0]


def test_training_data_are_built_once_per_share_and_shares_chosen_once_per_subset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = StudyTrainingData(random_study(0.2, 0.1))
    first = data.choose_surface_shares([ALL_ROWS], seed=0)
    assert data.at(SURFACE_SHARES[0]) is data.at(SURFACE_SHARES[0])
    monkeypatch.setattr("deconfound.surface_share.tune_subsets", None)
    assert data.choose_surface_shares([ALL_ROWS, ALL_ROWS], seed=0) == first * 2
    with pytest.raises(TypeError):
        data.choose_surface_shares([ALL_ROWS], seed=1)
