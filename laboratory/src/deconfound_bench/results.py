"""What a benchmark reports: one score a cell, seed and family, in one tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deconfound.errors import DataError, Problem

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting of a benchmark."""

    confounding: float
    n_log: int
    n_experiment: int
    reward: str  # which reward map the truth comes from


@dataclass(frozen=True, slots=True)
class Choice:
    """Hyperparameters a family ended with; None where it has none of that name."""

    penalty: float | None = None
    pooling: float | None = None
    strength: float | None = None
    basis: str | None = None
    log_penalty: float | None = None
    mode: str | None = None  # how they were compared: "model", "sample", "holdout" or "fixed"


@dataclass(frozen=True, slots=True)
class Score:
    """How one family did in one cell with one seed."""

    benchmark: str
    cell: Cell
    seed: int
    family: str
    regret: float
    rmse_context: float  # over (context, model) cells of the evaluation contexts
    rmse_model_direct: float  # of the models' values
    rmse_model_dr: float
    top1: float
    top3: float
    seconds: float  # the only entry that is not the same on every run
    choice: Choice

    @property
    def key(self) -> tuple[Cell, int, str]:
        """What tells one score of a benchmark from another."""
        return (self.cell, self.seed, self.family)


METRICS = ("regret", "rmse_context", "rmse_model_direct", "rmse_model_dr", "top1", "top3", "seconds")
COLUMNS = (
    "benchmark",
    *(field.name for field in fields(Cell)),
    "seed",
    "family",
    *METRICS,
    *(field.name for field in fields(Choice)),
)
INTEGERS = {"n_log", "n_experiment", "seed"}
STRINGS = {"benchmark", "reward", "family", "basis", "mode"}


def schema() -> pa.Schema:
    """Columns of ``results.parquet``, in order."""
    import pyarrow as pa

    kinds = {**dict.fromkeys(INTEGERS, pa.int64()), **dict.fromkeys(STRINGS, pa.string())}
    return pa.schema([pa.field(name, kinds.get(name, pa.float64())) for name in COLUMNS])


def record(score: Score) -> dict[str, Any]:
    """A score as one flat row."""
    metrics = {name: getattr(score, name) for name in METRICS}
    flat = {"benchmark": score.benchmark, **asdict(score.cell), "seed": score.seed, "family": score.family}
    return {**flat, **metrics, **asdict(score.choice)}


def score(row: dict[str, Any]) -> Score:
    """The score that ``record`` flattened."""
    cell = Cell(**{field.name: row[field.name] for field in fields(Cell)})
    choice = Choice(**{field.name: row[field.name] for field in fields(Choice)})
    plain = {name: row[name] for name in ("benchmark", "seed", "family", *METRICS)}
    return Score(cell=cell, choice=choice, **plain)


def to_table(scores: Iterable[Score], families: Sequence[str]) -> pa.Table:
    """Scores in one order, whatever order they were finished in: by cell, seed and place in ``families``."""
    import pyarrow as pa

    place = {family: at for at, family in enumerate(families)}
    ordered = sorted(scores, key=lambda one: (one.cell, one.seed, place.get(one.family, len(place)), one.family))
    rows = [record(one) for one in ordered]
    return pa.table({name: [row[name] for row in rows] for name in COLUMNS}, schema=schema())


def read_scores(path: Path) -> tuple[Score, ...]:
    """The scores of a ``results.parquet``."""
    return tuple(score(row) for row in read_rows(path, COLUMNS, "results"))


def read_rows(path: Path, columns: Sequence[str], name: str) -> list[dict[str, Any]]:
    """The rows of a table that a benchmark wrote as ``name.parquet``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        what = f"cannot be read as a table ({error})"
        raise DataError([Problem(str(path), what, "Run the benchmark again with the same -o.")]) from error
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        what = f"is no table of {name}: it lacks the columns {', '.join(missing)}"
        raise DataError([Problem(str(path), what, f"Name the {name}.parquet that `deconfound bench` wrote.")])
    return list(table.select(list(columns)).to_pylist())
