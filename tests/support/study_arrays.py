"""Study arrays built from random numbers, without text."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray
from deconfound.features import FeatureBlocks
from deconfound.features.study_arrays import ExperimentArrays, LogArrays, ReplayArrays, StudyArrays

NO_FEATURIZER: Any = None


def random_study(
    text_coef: float, dense_coef: float, n: int = 120, seed: int = 0, *, dense: bool = True
) -> StudyArrays:
    """Twelve contexts and two models; outcomes depend linearly on one text column and on one dense column."""
    rng = np.random.default_rng(seed)

    def blocks() -> tuple[FeatureBlocks, FloatArray]:
        text, statistics = rng.standard_normal((n, 4)) / 2, rng.standard_normal((n, 4)) / 2
        outcome = 0.5 + text_coef * text[:, 0] + dense_coef * statistics[:, 0] + 0.02 * rng.standard_normal(n)
        csr = sparse.csr_matrix(text)
        return FeatureBlocks(np.arange(n), csr, statistics if dense else None, statistics), outcome

    context, model, ones = np.arange(n) % 12, np.arange(n) // 12 % 2, np.ones(n)
    (log, logged), (experiment, outcome), (replay, _) = blocks(), blocks(), blocks()
    return StudyArrays(
        ("a", "b"),
        NO_FEATURIZER,
        LogArrays(log, logged, ones, context, model),
        ExperimentArrays(experiment, outcome, model, context, context, ones / 2, context),
        ReplayArrays(replay, tuple("abcdefghijkl"), context, model, 2),
        np.full(n, -1),
    )
