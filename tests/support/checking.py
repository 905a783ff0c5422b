"""Small studies in memory for the checks, each table changed by one argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from deconfound.data import Study
from deconfound.diagnose.multiplicity import PendingFinding, judge
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.loading import load

MODELS = ("ant", "bee", "cat")
WORDS = ("bill", "refund", "parcel", "login", "heating", "roof", "garden", "train", "visa", "lamp")

Row = dict[str, object]
Change = Callable[[list[Row]], object]


def make_study(
    seed: int = 0,
    rows: int = 90,
    *,
    log: Change | None = None,
    experiment: Change | None = None,
    replay: Change | None = None,
) -> Study:
    """A study of three models that violates nothing; each table can be changed by a function of its rows."""
    rng = np.random.default_rng(seed)
    logged = [_row(rng, f"log {i}", int(rng.choice(3, p=(0.6, 0.3, 0.1)))) for i in range(2 * rows)]
    drawn = [_row(rng, f"case {i}", int(rng.integers(3))) for i in range(rows)]
    for at, row in enumerate(drawn):
        row["time"] = float(at)
    replayed = [
        {"context_id": row["context_id"], "context": row["context"], "model": name, "output": _output(rng, at)}
        for row in drawn
        for at, name in enumerate(MODELS)
    ]
    tables = {"log": logged, "experiment": drawn, "replay": replayed}
    for name, change in (("log", log), ("experiment", experiment), ("replay", replay)):
        if change is not None:
            change(tables[name])
    return load(**{name: pa.Table.from_pylist(rows_of) for name, rows_of in tables.items()})


def _row(rng: np.random.Generator, name: str, model: int) -> Row:
    output = _output(rng, model)
    outcome = 0.2 + 0.2 * model + 0.02 * len(output.split()) + 0.2 * rng.random()
    context = " ".join(rng.choice(WORDS, int(rng.integers(3, 12))))
    return {
        "context_id": name,
        "context": f"{name}: {context}",
        "model": MODELS[model],
        "output": output,
        "outcome": float(min(outcome, 1.0)),
    }


def _output(rng: np.random.Generator, model: int) -> str:
    return " ".join(["well", *rng.choice(WORDS, int(rng.integers(1, 8)) + model)])


def study_arrays(study: Study) -> StudyArrays:
    return StudyArrays.from_study(study, FeatureSpec())


def by_check(results: Sequence[Finding | PendingFinding], level: float = 0.95) -> dict[str, Finding]:
    """The findings of some checks, judged together, by the name of the check."""
    return {finding.check: finding for finding in judge(results, level)}


def every(**cells: object) -> Change:
    """Set cells in every row."""
    return lambda rows: [row.update(cells) for row in rows]


def each(function: Callable[[int, Row], object]) -> Change:
    """Change every row by a function of its position."""
    return lambda rows: [function(at, row) for at, row in enumerate(rows)]
