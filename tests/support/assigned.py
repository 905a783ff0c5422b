"""Small studies whose experiment was drawn by the hash of an assignment."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from deconfound.assignment import AssignmentManifest, AssignmentRule
from deconfound.data import Study
from deconfound.loading import load
from tests.support.checking import MODELS, WORDS

SHARES = {"ant": 0.5, "bee": 0.3, "cat": 0.2}
Row = dict[str, object]


def manifest(experiment: str = "prices", unit: str = "context_id", share: float = 1.0) -> AssignmentManifest:
    """Three models with different propensities."""
    return AssignmentManifest(AssignmentRule.from_models(experiment, SHARES, share), unit)


def assigned_tables(
    declared: AssignmentManifest,
    *,
    seed: int = 0,
    rows: int = 120,
    people: int = 40,
    contexts: int = 0,
    change: Callable[[list[Row]], object] | None = None,
) -> dict[str, pa.Table]:
    """Log, experiment and replay; a row's model is what its unit is assigned.

    ``contexts`` limits the number of different contexts; by default every row has its own.
    """
    rng = np.random.default_rng(seed)
    used = [_use(at % (contexts or rows), int(rng.integers(people))) for at in range(rows)]
    drawn = []
    for at, use in enumerate(used):
        model = declared.rule.draw(str(use[declared.unit])).model
        drawn.append({**use, **_answer(rng, model), "time": float(at)})
    logged = [{**_use(rows + at, 0), **_answer(rng, str(rng.choice(MODELS)))} for at in range(100)]
    texts = {str(use["context_id"]): use["context"] for use in used}
    replayed = [
        {"context_id": name, "context": text, "model": model, "output": _answer(rng, model)["output"]}
        for name, text in texts.items()
        for model in MODELS
    ]
    if change is not None:
        change(drawn)
    tables = {"log": logged, "experiment": drawn, "replay": replayed}
    return {name: pa.Table.from_pylist(rows_of) for name, rows_of in tables.items()}


def assigned_study(declared: AssignmentManifest, **options: object) -> Study:
    """The tables, read with the manifest."""
    return load(**assigned_tables(declared, **options), assignment=declared)


def _use(at: int, person: int) -> Row:
    words = np.random.default_rng(at).choice(WORDS, 6)  # the same text whenever the context occurs
    return {"context_id": f"q{at}", "context": f"case {at}: {' '.join(words)}", "user": f"u{person}"}


def _answer(rng: np.random.Generator, model: str) -> Row:
    output = " ".join(["well", *rng.choice(WORDS, int(rng.integers(1, 8)))])
    return {"model": model, "output": output, "outcome": float(rng.random())}
