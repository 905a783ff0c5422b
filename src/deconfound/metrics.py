"""How far an estimate is from a truth that is known, as the paper defines it."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray


def argmax_model(q: FloatArray) -> IntArray:
    """Recommended model of each context: the column with the largest value, the first of equals."""
    return np.asarray(np.argmax(q, axis=1), dtype=np.int64)


def regret(estimated: FloatArray, truth: FloatArray) -> float:
    """Mean over contexts of the best true value minus the true value of the recommended model; both (n, k)."""
    picked = truth[np.arange(len(truth)), argmax_model(estimated)]
    return float(np.mean(truth.max(axis=1) - picked))


def rmse(estimated: FloatArray, truth: FloatArray) -> float:
    """Root mean squared error over all cells (n, k) of a table, or over the values (k,) of the models."""
    return float(np.sqrt(np.mean((estimated - truth) ** 2)))


def top_k_recall(estimated: FloatArray, truth: FloatArray, k: int) -> float:
    """Share of the truly k best models that are among the k estimated best; both (models,)."""
    k = min(k, len(truth))
    return len(set(_best(estimated, k)) & set(_best(truth, k))) / k


def ranks(scores: FloatArray) -> FloatArray:
    """Rank of each entry, 1 for the smallest, ties sharing their mean rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(scores), dtype=np.float64)


def _best(scores: FloatArray, k: int) -> list[int]:
    return [int(i) for i in np.argsort(-scores, kind="stable")[:k]]
