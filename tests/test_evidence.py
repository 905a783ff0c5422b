"""Studies that are too small to compare models are refused with what would be needed."""

from __future__ import annotations

import numpy as np
import pytest

import deconfound as dc
from deconfound.errors import EvidenceError, UsageError
from deconfound.evidence import require_information, require_rows


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ((1, 1, 1), "no model has 2 or more rows"),
        ((40, 0, 1), "only one model has 2 or more rows"),
        ((4, 4), "8 randomized rows cannot compare models"),
    ],
)
def test_an_experiment_without_enough_rows_is_refused(rows: tuple[int, ...], problem: str) -> None:
    with pytest.raises(EvidenceError, match=problem):
        require_rows(rows, "experiment.csv")


def test_ten_rows_of_two_models_are_accepted() -> None:
    require_rows((5, 5), "experiment.csv")


def test_intervals_that_span_the_scale_are_refused() -> None:
    wide = dc.Values(("ant", "bee"), np.array([0.5, 0.5]), np.diag([0.09, 0.09]), "doubly robust")
    with pytest.raises(EvidenceError, match="12 randomized rows"):
        require_information(wide, rows=12, level=0.95)
    require_information(dc.Values(wide.models, wide.estimate, wide.covariance / 4, wide.method), rows=12, level=0.95)


def test_a_path_in_place_of_a_study_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="not str"):
        dc.evaluate("experiment.csv")
