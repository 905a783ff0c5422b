"""Whole evaluations of short answers: width and coverage of efficient and of doubly robust values.

    python -m benchmarks.short_answers --studies 200

Three models choose among four labels, so that they often write the same output. ``benchmarks.efficient`` simulates the
estimator alone; here tables are loaded, features computed and the default family is cross-fitted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import deconfound as dc
from benchmarks.simulation import covers
from deconfound.design import FloatArray
from deconfound.value import Values

MODELS = ("ant", "bee", "cat")
SKILL = (0.85, 0.7, 0.55)  # probability of the right label
BASE, GAIN = 0.25, 0.5  # probability of a good outcome with a wrong label, and what the right one adds
LABELS = ("refund", "invoice", "delivery", "account")
ROWS, LOG_ROWS = 360, 300


def answer_tables(
    seed: int = 0, *, direct_effect: float = 0.0, unique: bool = False, propensity: FloatArray | None = None
) -> dict[str, pa.Table]:
    """Log, experiment and replay with one draw per model, written by models that always give the same answer.

    ``direct_effect`` is added to the first model's probability of a good outcome. ``unique`` makes every output
    different. ``propensity`` (rows, models) is drawn from, and not declared.
    """
    rng = np.random.default_rng(seed)
    contexts = ROWS + LOG_ROWS
    number = rng.permutation(contexts)
    right = rng.integers(len(LABELS), size=contexts)
    knows = rng.random((contexts, len(MODELS))) < np.array(SKILL)
    wrong = (right[:, None] + rng.integers(1, len(LABELS), size=knows.shape)) % len(LABELS)
    answer = np.where(knows, right[:, None], wrong)
    probability = np.full((ROWS, len(MODELS)), 1 / 3) if propensity is None else propensity
    assigned = (rng.random((ROWS, 1)) > probability.cumsum(axis=1)[:, :-1]).sum(axis=1)
    chosen = rng.choice(len(MODELS), size=LOG_ROWS, p=[0.2, 0.3, 0.5])
    model = np.concatenate([assigned, chosen])
    good = answer[np.arange(contexts), model] == right
    success = BASE + GAIN * good + direct_effect * (model == 0)
    outcome = (rng.random(contexts) < success).astype(np.float64)

    def row(context: int, a: int) -> dict[str, object]:
        output = f"{LABELS[answer[context, a]]} {MODELS[a] if unique else ''}".strip()
        return {
            "context_id": f"c{context:04d}",
            "context": f"case {number[context]} about {LABELS[right[context]]}",
            "model": MODELS[a],
            "output": output,
        }

    rated = [row(i, int(model[i])) | {"outcome": outcome[i]} for i in range(contexts)]
    replayed = [row(i, a) | {"draw": 0} for i in range(ROWS) for a in range(len(MODELS))]
    tables = {"experiment": rated[:ROWS], "log": rated[ROWS:], "replay": replayed}
    return {name: pa.Table.from_pylist(rows) for name, rows in tables.items()}


def true_values(direct_effect: float = 0.0) -> FloatArray:
    """The value of each model over all contexts (k,)."""
    return np.asarray(BASE + GAIN * np.array(SKILL) + direct_effect * (np.arange(len(MODELS)) == 0))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Efficient against doubly robust values in whole evaluations.")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--direct-effect", type=float, default=0.0, help="of the first model on success")
    given = parser.parse_args(arguments)
    truth, obstacles = true_values(given.direct_effect), []
    found: dict[str, list[Values]] = {"doubly robust": [], "efficient": []}
    for seed in range(given.studies):
        study = dc.load(**answer_tables(seed, direct_effect=given.direct_effect))
        result = dc.evaluate(study, options=dc.EvaluationOptions(method="efficient", refits=2))
        if result.efficient is None or result.efficient.result is None:
            raise ValueError("efficient values were requested, and all propensities are known")
        obstacles.append(result.efficient.obstacle)
        found["doubly robust"].append(result.efficient.result.doubly_robust)
        found["efficient"].append(result.efficient.result.values)
    print(f"{given.studies} studies, {ROWS} randomized rows, direct effect {given.direct_effect:g}")
    for method, values in found.items():
        covered = np.mean([covers(one.interval(), truth) for one in values], axis=0)
        width = np.mean([one.half_width() for one in values])
        rmse = np.sqrt(np.mean([(one.center - truth) ** 2 for one in values]))
        print(f"{method:14s} half-width {width:.4f}  RMSE {rmse:.4f}  coverage {covered.round(3).tolist()}")
    print(f"used {obstacles.count(None)}, exclusion rejected {obstacles.count('exclusion rejected')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
