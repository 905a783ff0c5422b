"""Small logs as rows and as the sums that stand in for a long log."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import Rows, feature_matrix
from deconfound.linalg.arrowhead import Arrowhead
from deconfound.reward.auto.component_kernels import KernelScale
from deconfound.reward.auto.linear_columns import LinearMoments, LinearRows
from deconfound.reward.auto.variance_components import prior_mean
from deconfound.reward.training_data import TrainingData

MODELS = 3


def random_rows(seed: int, count: int, *, width: int = 64, unknown_models: bool = True) -> Rows:
    """Rows with text, proxies, modifiers and a model each; some models are unknown."""
    rng = np.random.default_rng(seed)
    phi = sparse.random(count, width, 0.2, random_state=seed, format="csr")
    model = rng.integers(-1 if unknown_models else 0, MODELS, size=count)
    return Rows(
        feature_matrix(phi),
        rng.normal(size=(count, 5)),
        rng.random(count),
        model,
        modifiers=rng.normal(size=(count, 4)),
    )


def moments_of(data: TrainingData) -> LinearMoments:
    """The sums over the log, from its columns written out."""
    log, scale, mean = data.log_rows, KernelScale.from_log(data.log_rows), prior_mean(data)
    rows = LinearRows.from_rows(log, scale, MODELS)
    written, weight, residual = rows.toarray(), log.weight_or_ones, log.require_outcome() - mean
    common, effects = written[:, : rows.columns.shared], np.column_stack([np.ones(len(log)), rows.modifiers])
    of_model = [np.flatnonzero(rows.model == code) for code in range(MODELS)]
    gram = Arrowhead(
        (common * weight[:, None]).T @ common,
        np.stack([(common[at] * weight[at, None]).T @ effects[at] for at in of_model]),
        np.stack([(effects[at] * weight[at, None]).T @ effects[at] for at in of_model]),
    )
    square = float(weight @ residual**2)
    return LinearMoments(rows.columns, gram, written.T @ (weight * residual), square, float(weight.sum()), mean, scale)
