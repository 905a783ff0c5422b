"""Calls, scores and an experiment -> the tables of a study: log, experiment and replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.traces.assigned_calls import unit_column
from deconfound.traces.call_table import CallSummary, CallTable
from deconfound.traces.experiment_rows import ExperimentRows, ExperimentRule, find_experiment
from deconfound.traces.score_join import JoinedScores, choose_outcomes, join_scores
from deconfound.traces.units import UNUSABLE, Unit, Units, choose_units

REPLAY_READERS = ("batch files", "promptfoo", "Inspect", "lm-evaluation-harness")
"""Readers whose calls are answers of several models to the same questions, not use by people."""

NO_RULE = ExperimentRule()
OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What the user decides about a conversion; the defaults are those of the command."""

    unit: Unit = "turn"
    outcomes: tuple[str, ...] = ()
    outcome_values: Mapping[str, float | None] | None = None
    rule: ExperimentRule = NO_RULE


@dataclass(frozen=True, slots=True, eq=False)
class StudyTables:
    """The tables that could be made (None where there are no rows), and how every call was used."""

    log: pa.Table | None
    experiment: pa.Table | None
    replay: pa.Table | None
    outcomes: dict[str, str]  # the column of each score that is an outcome
    units: Units
    joined: JoinedScores
    experiment_rows: ExperimentRows
    replay_left_out: int


def make_tables(table: CallTable, options: ConvertOptions) -> StudyTables:
    """Split calls into use and replay, choose the units, and join outcomes and assignments."""
    used = np.array([row for row, call in enumerate(table.calls) if call.reader not in REPLAY_READERS], dtype=np.int64)
    replayed = np.setdiff1d(np.arange(len(table)), used)
    calls = [table.calls[row] for row in used]
    units = choose_units(calls, options.unit)
    joined = join_scores(calls, units.rows, table.scores, options.outcome_values or {}, units.lost.tolist())
    outcomes = _outcome_columns(choose_outcomes(joined, options.outcomes))
    chosen = [calls[row] for row in units.rows]
    experiment = find_experiment(chosen, options.rule)
    columns = _columns(table, used[units.rows], chosen, joined, outcomes, experiment)
    in_log = ~(experiment.randomized | experiment.excluded)
    labels = tuple(name for name in columns.column_names if name.startswith("label_"))
    replay, left_out = _replay(table, replayed)
    return StudyTables(
        _filtered(columns, in_log, drop=("propensity",)),
        _filtered(_with_units(columns, chosen, options.rule), experiment.randomized, drop=labels),
        replay,
        outcomes,
        units,
        joined,
        experiment,
        left_out,
    )


def _columns(
    table: CallTable,
    rows: IntArray,
    calls: Sequence[CallSummary],
    joined: JoinedScores,
    outcomes: Mapping[str, str],
    experiment: ExperimentRows,
) -> pa.Table:
    """One row per unit; a column without any value is left out."""
    texts = table.read_texts(rows)
    outputs = [json.loads(text)[0] for text in texts["outputs"].to_pylist()]
    clusters = [call.user or call.conversation for call in calls]
    columns: dict[str, pa.Array] = {
        "context": texts["context"].cast(pa.string()),
        "model": pa.array([call.model for call in calls], pa.string()),
        "output": pa.array(outputs, pa.string()),
        **{column: pa.array(_nullable(joined.values[name]), pa.float64()) for name, column in outcomes.items()},
        "cluster": pa.array([name or f"call {i}" for i, name in enumerate(clusters)], pa.string()),
        "time": pa.array([call.time for call in calls], pa.float64()),
        "propensity": pa.array(_nullable(experiment.propensity), pa.float64()),
        "call_id": pa.array([call.call_id for call in calls], pa.string()),
        "origin": pa.array([call.origin for call in calls], pa.string()),
    }
    if not outcomes:
        columns[OUTCOME] = pa.nulls(len(calls), pa.float64())
    if not any(clusters):
        del columns["cluster"]
    for name, values in joined.values.items():
        if name not in outcomes and name not in joined.faults:
            columns[f"label_{name}"] = pa.array(_nullable(values), pa.float64())
    return pa.table(columns)


def _outcome_columns(names: Sequence[str]) -> dict[str, str]:
    """The only outcome is the column outcome; several have their names in those of their columns."""
    return {name: OUTCOME if len(names) == 1 else f"{OUTCOME}_{name}" for name in names}


def _with_units(columns: pa.Table, calls: Sequence[CallSummary], rule: ExperimentRule) -> pa.Table:
    """Add what an assignment drew for, under its own name."""
    for name, units in unit_column(calls, rule.assignment).items():
        if name not in columns.column_names:
            columns = columns.append_column(name, pa.array(units, pa.string()))
    return columns


def _nullable(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _filtered(table: pa.Table, mask: NDArray[np.bool_], drop: Sequence[str]) -> pa.Table | None:
    rows = table.filter(pa.array(mask)).drop_columns([name for name in drop if name in table.column_names])
    if not rows.num_rows:
        return None
    optional = [name for name in ("time", "propensity") if name in rows.column_names]
    empty = [name for name in optional if rows[name].null_count]
    return rows.drop_columns(empty)


def _replay(table: CallTable, rows: IntArray) -> tuple[pa.Table | None, int]:
    """One row per output; calls that failed or have no text are counted."""
    usable = [row for row in rows if not set(UNUSABLE) & table.calls[row].flags and table.calls[row].n_outputs]
    if not usable:
        return None, len(rows)
    texts = table.read_texts(np.array(usable, dtype=np.int64))
    columns: dict[str, list[str | None]] = {name: [] for name in ("context_id", "context", "model", "output")}
    for row, context, outputs in zip(usable, texts["context"].to_pylist(), texts["outputs"].to_pylist(), strict=True):
        call = table.calls[row]
        for output in json.loads(outputs):
            values = (call.context_id or None, context, call.model, output)
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    replay = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    if replay["context_id"].null_count:
        replay = replay.drop_columns(["context_id"])
    return replay, len(rows) - len(usable)
