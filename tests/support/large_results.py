"""Results of any size, made from a small one without an evaluation, and a replay with texts for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

import deconfound as dc
from deconfound.data import Replay
from deconfound.decide.recommendation import Recommendation
from deconfound.result import StudyCounts
from deconfound.value import Values
from deconfound.value.log_bias import ModelBias

WORDS = tuple(
    f"{first}{second}"
    for first in ("refund", "order", "screen", "invoice", "parcel", "battery")
    for second in ("", "s", " please", " error", " label")
)


def resized_result(result: dc.Result, models: Sequence[str], contexts: Sequence[str], seed: int = 0) -> dc.Result:
    """A result with other models and contexts; its numbers are invented and agree with each other."""
    rng, names, count = np.random.default_rng(seed), tuple(models), len(models)
    estimate = np.sort(rng.uniform(0.3, 0.75, count))[::-1]
    values = Values(names, estimate, np.diag(rng.uniform(0.02, 0.05, count) ** 2), "doubly robust")
    logged = replace(values, estimate=estimate + rng.normal(0, 0.08, count), covariance=values.covariance / 9)
    bias = logged.estimate - estimate
    biases = tuple(ModelBias(*row) for row in zip(names, bias, bias - 0.1, bias + 0.1, strict=True))
    q = np.clip(estimate + rng.normal(0, 0.1, (len(contexts), count)), 0, 1)
    order = np.argsort(-q, axis=1)
    rows = tuple(_recommendation(name, names, q[i], order[i]) for i, name in enumerate(contexts))
    log_best = logged.ranking()[0]
    return replace(
        result,
        values=values,
        direct=values,
        experiment=replace(values, covariance=2 * values.covariance),
        raw_log=logged,
        recommendations=rows,
        log_bias=replace(
            result.log_bias, biases=biases, log_best_model=log_best, best_set=names[:1], overrated=(), underrated=()
        ),
        routing=replace(result.routing, best=names[0], models=names),
        sensitivity=tuple(
            replace(one, leader=names[0], rival=names[-1], possible_rival=names[-1], observed_model=names[-1])
            for one in result.sensitivity
        ),
        counts=_counts(result.counts, count),
    )


def replay_of(models: Sequence[str], contexts: Sequence[str], texts: Sequence[str], outputs: Sequence[str]) -> Replay:
    """One draw per context and model; ``outputs`` are in the order of the contexts, models within them."""
    n, k = len(contexts), len(models)
    table = pa.table(
        {
            "context_id": pa.array(np.repeat(np.array(contexts, dtype=object), k), pa.string()),
            "context": pa.array(np.repeat(np.array(texts, dtype=object), k), pa.string()),
            "model": pa.array(list(models) * n, pa.string()),
            "output": pa.array(outputs, pa.string()),
            "draw": pa.array(np.zeros(n * k, dtype=np.int64)),
        }
    )
    return Replay(table, "replay.parquet")


def random_texts(count: int, words: int, seed: int = 0) -> list[str]:
    """Texts of invented words, all different."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 10_000, (count, 2))
    chosen = np.array(WORDS, dtype=object)[rng.integers(0, len(WORDS), (count, words))].tolist()
    return [f"{' '.join(row)} {a}-{b} {at}" for at, (row, (a, b)) in enumerate(zip(chosen, numbers, strict=True))]


def _recommendation(context: str, names: tuple[str, ...], q: np.ndarray, order: np.ndarray) -> Recommendation:
    best, runner_up = order[:2]
    margin = float(q[best] - q[runner_up])
    return Recommendation(
        context_id=context,
        model=names[best],
        q=float(q[best]),
        low=0.0,
        high=1.0,
        runner_up=names[runner_up],
        margin=margin,
        margin_low=-1.0,
        margin_high=1.0,
        verdict="clear" if margin > 0.05 else "cannot tell",
        error_probability_bound=0.04 if margin > 0.05 else 0.5,
        values=tuple(q.tolist()),
    )


def _counts(counts: StudyCounts, models: int) -> StudyCounts:
    per_model = tuple(40 + at for at in range(models))
    return StudyCounts(
        *(replace(each, rows_per_model=per_model) for each in (counts.log, counts.experiment, counts.replay))
    )
