"""Several outcomes in one run: all are read first, and all must be on one scale."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deconfound.cli.options import load_study
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names

if TYPE_CHECKING:
    from deconfound.data import Study

ONE_SCALE = "Outcomes of one run share a scale: evaluate each by itself, with its own --outcome-range."


def load_outcomes(
    arguments: argparse.Namespace, names: Sequence[str], *, segments: Sequence[str] = ()
) -> dict[str, Study]:
    """The study of each outcome, by its column; outcomes on different scales raise before any is evaluated."""
    studies: dict[str, Study] = {}
    for name in names:
        try:
            studies[name] = load_study(argparse.Namespace(**{**vars(arguments), "outcome": [name]}), segments=segments)
        except DataError as error:
            outside = [problem for problem in error.problems if " is outside " in problem.what]
            if not outside:
                raise
            what = f"the outcomes are {join_names(names)}, and {name} is not on the scale"
            raise DataError([*error.problems, Problem("--outcome", what, ONE_SCALE)], error.remark) from None
    _refuse_other_scales(studies)
    return studies


def _refuse_other_scales(studies: dict[str, Study]) -> None:
    """Refuse outcomes that are 0 and 1 on a longer scale: 1 would be a poor outcome."""
    import numpy as np

    for name, study in studies.items():
        worst, best = study.outcome_range
        values = np.unique(worst + (best - worst) * study.experiment.arrow["outcome"].to_numpy())
        if {worst, best} != {0.0, 1.0} and np.isclose(values[:, None], [0.0, 1.0]).any(axis=1).all():
            what = f"{name} is only 0 or 1 in {study.experiment.source}, on a scale from {worst:g} to {best:g}"
            raise DataError([Problem("--outcome", what, ONE_SCALE)])
