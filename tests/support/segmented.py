"""A study of feature columns in which the best model depends on the language, evaluated once per test run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

import deconfound as dc
from deconfound.evaluation_options import MIN_REFITS, EvaluationOptions

MODELS = ("ant", "bee")
LANGUAGES = ("de", "en")
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m=1+1"
QUICK = EvaluationOptions(refits=MIN_REFITS)


def segmented_tables(*, effect: float = 0.35, rows: int = 120, seed: int = 0) -> dict[str, pa.Table]:
    """Each model is better in one language by twice the effect; users have three rows each.

    Every other row has no ``tier``; ``hostile`` has a name that no page or terminal should obey.
    """
    rng = np.random.default_rng(seed)

    def rated(prefix: str, count: int) -> pa.Table:
        language, model = rng.integers(2, size=count), rng.integers(2, size=count)
        outcome = rng.random(count) < 0.5 + effect * np.where(language == model, 1, -1)
        return pa.table(
            {
                "context_id": [f"{prefix}{row}" for row in range(count)],
                "model": [MODELS[code] for code in model],
                "outcome": outcome.astype(np.float64),
                "feature_x": rng.normal(size=count),
                "feature_size": sizes(count),
                "cluster": [f"{prefix}{row // 3}" for row in range(count)],
                "language": [LANGUAGES[code] for code in language],
                "tier": [None if row % 2 else "gold" for row in range(count)],
                "hostile": [HOSTILE if row % 3 else "plain" for row in range(count)],
            }
        )

    experiment = rated("e", rows)
    replay = pa.table(
        {
            "context_id": np.repeat(experiment["context_id"].to_pylist(), 2),
            "model": list(MODELS) * rows,
            "feature_x": rng.normal(size=2 * rows),
            "feature_size": np.repeat(sizes(rows), 2),
        }
    )
    return {"log": rated("l", 2 * rows), "experiment": experiment, "replay": replay}


def sizes(count: int) -> np.ndarray:
    """A feature of contexts, from 0 to 1."""
    return np.arange(count) * 37 % 101 / 101


@cache
def segmented_result() -> dc.Result:
    """By language, tier and hostile names."""
    study = dc.load(**segmented_tables(), segments=("language", "tier", "hostile"))
    return dc.evaluate(study, "exp-only", options=QUICK)
