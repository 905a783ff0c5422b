"""The result format of every benchmark: one score per cell, seed and family, in one tidy Parquet table.

Field names of ``Cell``, ``Hyperparameters`` and the metrics of ``Score`` are column names of ``results.parquet``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deconfound.atomic import write_bytes
from deconfound.errors import DataError, Problem
from deconfound_bench.artifact_dir import canonical_json, sha256_hex

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting of a benchmark."""

    confounding: float
    n_log: int
    n_experiment: int
    reward: str  # the reward map that defines the truth


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The values a family was fitted with; None where it has no hyperparameter of that name."""

    penalty: float | None = None
    pooling: float | None = None
    strength: float | None = None
    basis: str | None = None
    log_penalty: float | None = None
    mode: str | None = None  # how candidates were compared: "model", "sample", "holdout" or "fixed"


METRICS = ("regret", "rmse_context", "rmse_model_direct", "rmse_model_dr", "top1", "top3", "seconds")


@dataclass(frozen=True, slots=True)
class Score:
    """The metrics of one family in one cell with one seed."""

    benchmark: str
    cell: Cell
    seed: int
    family: str
    regret: float
    rmse_context: float  # over all (context, model) pairs of the evaluation contexts
    rmse_model_direct: float  # of the models' values
    rmse_model_dr: float
    top1: float
    top3: float
    seconds: float  # the only metric that differs between runs
    hyperparameters: Hyperparameters

    @property
    def key(self) -> tuple[Cell, int, str]:
        """Identifies a score within its benchmark."""
        return (self.cell, self.seed, self.family)

    def to_record(self) -> dict[str, Any]:
        """The score as one flat row."""
        metrics = {name: getattr(self, name) for name in METRICS}
        identity = {"benchmark": self.benchmark, **asdict(self.cell), "seed": self.seed, "family": self.family}
        return {**identity, **metrics, **asdict(self.hyperparameters)}

    @classmethod
    def from_record(cls, row: dict[str, Any]) -> Score:
        """The inverse of ``to_record``."""
        cell = Cell(**{field.name: row[field.name] for field in fields(Cell)})
        hyperparameters = Hyperparameters(**{field.name: row[field.name] for field in fields(Hyperparameters)})
        rest = {name: row[name] for name in ("benchmark", "seed", "family", *METRICS)}
        return cls(cell=cell, hyperparameters=hyperparameters, **rest)


COLUMNS = (
    "benchmark",
    *(field.name for field in fields(Cell)),
    "seed",
    "family",
    *METRICS,
    *(field.name for field in fields(Hyperparameters)),
)
INTEGER_COLUMNS = {"n_log", "n_experiment", "seed"}
STRING_COLUMNS = {"benchmark", "reward", "family", "basis", "mode"}


def results_schema() -> pa.Schema:
    """Columns of ``results.parquet``, in order."""
    import pyarrow as pa

    types = {**dict.fromkeys(INTEGER_COLUMNS, pa.int64()), **dict.fromkeys(STRING_COLUMNS, pa.string())}
    return pa.schema([pa.field(name, types.get(name, pa.float64())) for name in COLUMNS])


def to_table(scores: Iterable[Score], families: Sequence[str]) -> pa.Table:
    """Scores sorted by cell, seed and position in ``families``, so that the order of completion does not matter."""
    import pyarrow as pa

    position = {family: index for index, family in enumerate(families)}
    ordered = sorted(
        scores, key=lambda score: (score.cell, score.seed, position.get(score.family, len(position)), score.family)
    )
    rows = [score.to_record() for score in ordered]
    return pa.table({name: [row[name] for row in rows] for name in COLUMNS}, schema=results_schema())


def write_results(path: Path, benchmark: str, constants: str, scores: Sequence[Score], families: Sequence[str]) -> None:
    """Write the table with the benchmark's constants (JSON) as metadata; equal scores give equal bytes."""
    metadata = {"benchmark": benchmark, "constants": constants}
    write_parquet(path, to_table(scores, families).replace_schema_metadata(metadata))


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table in one step, with fixed settings so that equal tables give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", version="2.6")
    write_bytes(path, sink.getvalue().to_pybytes())


def read_scores(path: Path) -> tuple[Score, ...]:
    """The scores of a ``results.parquet``."""
    return tuple(Score.from_record(row) for row in read_parquet_rows(path, COLUMNS, "results"))


def unreadable_table(path: Path, error: Exception) -> DataError:
    """The error about a Parquet file that is missing or damaged."""
    if isinstance(error, FileNotFoundError):
        problem = Problem(str(path), "no such file", "Pass a file that `deconfound bench` wrote.")
    else:
        problem = Problem(
            str(path), f"cannot be read as a table ({error})", "Run the benchmark again with the same -o."
        )
    return DataError([problem])


def read_parquet_rows(path: Path, columns: Sequence[str], name: str) -> list[dict[str, Any]]:
    """The rows of a table that a benchmark wrote as ``name.parquet``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable_table(path, error) from error
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        what = f"is not a table of {name}: the columns {', '.join(missing)} are missing"
        raise DataError([Problem(str(path), what, f"Pass the {name}.parquet that `deconfound bench` wrote.")])
    return list(table.select(list(columns)).to_pylist())


def scores_digest(scores: Iterable[Score]) -> str:
    """A hash of everything except the times, independent of the order of the scores, to compare two runs."""
    ordered = sorted(scores, key=lambda score: score.key)
    return sha256_hex(canonical_json([_digest_row(score) for score in ordered]))


def _digest_row(score: Score) -> list[object]:
    """A row with every value in the type of its column, so that confounding 1 and 1.0 are equal."""
    row = score.to_record()
    return [_cast(name, row[name]) for name in COLUMNS if name != "seconds"]


def _cast(name: str, value: str | float | None) -> object:
    if value is None or name in STRING_COLUMNS:
        return value
    return int(value) if name in INTEGER_COLUMNS else float(value)
