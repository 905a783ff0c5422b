"""Distance between estimates and a known truth, as the paper defines it."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray


def argmax_model(q: FloatArray) -> IntArray:
    """Model with the largest value on each context (n,), from q (n, k); the first of equals."""
    return np.asarray(np.argmax(q, axis=1), dtype=np.int64)


def regret(estimated: FloatArray, truth: FloatArray) -> float:
    """Mean over contexts of the best true value minus the true value of the recommended model; both (n, k)."""
    recommended = truth[np.arange(len(truth)), argmax_model(estimated)]
    return float(np.mean(truth.max(axis=1) - recommended))


def rmse(estimated: FloatArray, truth: FloatArray) -> float:
    """Root mean squared error over all entries: contexts and models (n, k), or models (k,)."""
    return float(np.sqrt(np.mean((estimated - truth) ** 2)))


def top_k_recall(estimated: FloatArray, truth: FloatArray, k: int) -> float:
    """Share of the k truly best models that are among the k best by estimate; both (models,)."""
    k = min(k, len(truth))
    return len(set(_top_k(estimated, k)) & set(_top_k(truth, k))) / k


def _top_k(scores: FloatArray, k: int) -> list[int]:
    return [int(i) for i in np.argsort(-scores, kind="stable")[:k]]
