"""Studies of short answers: three models choose among four labels, so that they often write the same output."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

import deconfound as dc

MODELS = ("ant", "bee", "cat")
SKILL = (0.85, 0.7, 0.55)  # probability of the right label
LABELS = ("refund", "invoice", "delivery", "account")
ROWS, LOG_ROWS = 360, 300


def answer_tables(
    seed: int = 0, *, direct_effect: float = 0.0, unique: bool = False, propensity: np.ndarray | None = None
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
    success = 0.25 + 0.5 * good + direct_effect * (model == 0)
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


@cache
def answer_study(*, direct_effect: float = 0.0, unique: bool = False) -> dc.Study:
    """The study with seed 0."""
    return dc.load(**answer_tables(direct_effect=direct_effect, unique=unique))


@cache
def answer_result(method: str = "efficient", *, direct_effect: float = 0.0, unique: bool = False) -> dc.Result:
    """That study by one method, with few refits."""
    options = dc.EvaluationOptions(method=method, refits=2)
    return dc.evaluate(answer_study(direct_effect=direct_effect, unique=unique), options=options)
