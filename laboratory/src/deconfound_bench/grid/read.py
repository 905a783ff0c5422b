"""Read a folder with contexts and outputs into a complete grid, or report everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deconfound.design import IntArray
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, join_noted_names, pluralize, quote
from deconfound.loading.files import file_error
from deconfound.loading.raw import row_examples
from deconfound_bench.grid.grid import Grid, with_digest
from deconfound_bench.grid.source_tables import (
    ContextTable,
    OutputTable,
    RequiredComponents,
    read_context_table,
    read_output_table,
    read_table,
)

MIN_MODELS = 2
MIN_CONTEXTS = 5  # a benchmark cuts this many folds by context


@dataclass(frozen=True, slots=True)
class GridIndex:
    """The sorted contexts and models, and the row of each (context, model) pair in the table of outputs."""

    context_ids: tuple[str, ...]
    models: tuple[str, ...]
    row: IntArray  # (contexts, models)


def read_grid(
    directory: Path, required: Sequence[str] = (), bounds: Mapping[str, tuple[float, float]] | None = None
) -> Grid:
    """Read a grid with exactly one output per (context, model) pair.

    The folder contains ``contexts`` (context_id, context, other text columns) and ``outputs`` (context_id, model,
    output, components), each as .parquet, .csv or .jsonl. ``required`` components must be finite everywhere, and
    within ``bounds`` (ends included) where bounds are given. An output may be empty: a model may return nothing.
    """
    directory = Path(directory)
    components = RequiredComponents(tuple(required), dict(bounds or {}))
    if not directory.is_dir():
        what = "this is a file, not a folder" if directory.exists() else "there is no such folder"
        raise file_error(directory.name, what, "Pass the folder that contains contexts.parquet and outputs.parquet.")
    problems: list[Problem] = []
    tables = [read_table(directory, role, problems) for role in ("contexts", "outputs")]
    contexts = read_context_table(tables[0], problems) if tables[0] else None
    outputs = read_output_table(tables[1], components, problems) if tables[1] else None
    index = index_grid(contexts, outputs, problems) if contexts and outputs else None
    if problems or not (contexts and outputs and index):
        raise DataError(problems)
    return _assemble(directory.resolve().name, contexts, outputs, index)


def _assemble(name: str, contexts: ContextTable, outputs: OutputTable, index: GridIndex) -> Grid:
    row_of_id = {context_id: row for row, context_id in enumerate(contexts.ids)}
    order = [row_of_id[context_id] for context_id in index.context_ids]
    context_texts = tuple(contexts.texts[row] for row in order)
    output_texts = tuple(tuple(outputs.texts[row] for row in rows) for rows in index.row.tolist())
    unused = sorted(set(contexts.ids) - set(index.context_ids))
    omitted = (
        [f"omitted {pluralize(len(unused), 'context')} without any output: {join_names(unused)}"] if unused else []
    )
    grid = Grid(
        name=name,
        context_ids=index.context_ids,
        contexts=context_texts,
        models=index.models,
        outputs=output_texts,
        components={name: values[index.row] for name, values in outputs.components.items()},
        context_columns={n: tuple(values[row] for row in order) for n, values in contexts.other_columns.items()},
        digest="",
        omissions=(*omitted, *contexts.omissions, *outputs.omissions),
        notes=(*_empty_outputs(index.models, output_texts), *_repeated_contexts(context_texts)),
    )
    return with_digest(grid)


def _empty_outputs(models: Sequence[str], outputs: Sequence[Sequence[str]]) -> list[str]:
    empty = Counter(model for row in outputs for model, text in zip(models, row, strict=True) if not text.strip())
    if not empty:
        return []
    model_effect = join_noted_names((model, f": {empty[model]}") for model in models if empty[model])
    return [f"{pluralize(empty.total(), 'empty output')} ({model_effect})"]


def _repeated_contexts(texts: Sequence[str]) -> list[str]:
    repeated = len(texts) - len(set(texts))
    if not repeated:
        return []
    what = "the same text as another one, which may fall on the other side of a split"
    return [f"{pluralize(repeated, 'context')} with {what}"]


def index_grid(contexts: ContextTable, outputs: OutputTable, problems: list[Problem]) -> GridIndex | None:
    """Locate the output of every (context, model) pair; None if one is missing or duplicated.

    A context without any output is omitted: no model ran on it, so the comparison stays fair.
    """
    known_ids = set(contexts.ids)
    unknown = np.array([context_id not in known_ids for context_id in outputs.context_ids])
    if unknown.any():
        column = outputs.raw.column("context_id")
        what = "is not among the contexts"
        problems.append(column.row_problem(unknown, what, "Add the context, or remove the row."))
    rows = np.flatnonzero(~unknown)
    if not len(rows):
        return None
    ids, names = [outputs.context_ids[row] for row in rows], [outputs.models[row] for row in rows]
    context_ids, models = sorted(set(ids)), sorted(set(names))
    pair = _encode(context_ids, ids) * len(models) + _encode(models, names)
    count = np.bincount(pair, minlength=len(context_ids) * len(models)).reshape(-1, len(models))
    faults = _too_small(contexts, outputs, context_ids, models)
    faults += [_duplicate_output(outputs, rows[_repeats(pair)])] if (count > 1).any() else []
    faults += [_missing_output(outputs, context_ids, models, count)] if (count == 0).any() else []
    problems += faults
    return None if faults else GridIndex(tuple(context_ids), tuple(models), rows[np.argsort(pair)].reshape(count.shape))


def _encode(names: Sequence[str], values: Sequence[str]) -> IntArray:
    code = {name: number for number, name in enumerate(names)}
    return np.array([code[value] for value in values], dtype=np.int64)


def _repeats(pair: IntArray) -> IntArray:
    """Positions of the rows whose pair occurred in an earlier row."""
    return np.setdiff1d(np.arange(len(pair)), np.unique(pair, return_index=True)[1])


def _too_small(
    contexts: ContextTable, outputs: OutputTable, context_ids: Sequence[str], models: Sequence[str]
) -> list[Problem]:
    problems = []
    if len(context_ids) < MIN_CONTEXTS:
        what = f"only {pluralize(len(context_ids), 'context')} with outputs"
        problems.append(Problem(contexts.raw.source, what, f"A grid needs at least {MIN_CONTEXTS}."))
    if len(models) < MIN_MODELS:
        what = f"the only model is {quote(models[0])}"
        problems.append(Problem(outputs.raw.source, what, f"A grid needs at least {MIN_MODELS} models to compare."))
    return problems


def _duplicate_output(outputs: OutputTable, duplicates: IntArray) -> Problem:
    row = int(duplicates[0])
    what = f"context {quote(outputs.context_ids[row])} has another output of model {quote(outputs.models[row])}"
    numbers = outputs.raw.row_numbers
    return Problem(
        numbers.locate(outputs.raw.source, row),
        what + row_examples(numbers, duplicates),
        "Leave one output per context and model.",
    )


def _missing_output(
    outputs: OutputTable, context_ids: Sequence[str], models: Sequence[str], count: IntArray
) -> Problem:
    """Name the first missing pair and count the rest by model: often a single model was not run to the end."""
    rows, columns = np.nonzero(count == 0)
    what = f"context {quote(context_ids[rows[0]])} has no output of model {quote(models[columns[0]])}"
    missing = Counter(columns.tolist())
    model_effect = join_noted_names((models[model], f": {missing[model]}") for model in sorted(missing))
    what += f" (missing: {len(rows):,} of {count.size:,} outputs; {model_effect})"
    return Problem(outputs.raw.source, what, "Run the model there, or remove this model or this context.")
