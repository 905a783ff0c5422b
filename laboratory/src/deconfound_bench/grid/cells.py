"""Which row of the outputs belongs to which context and model, where every cell must have exactly one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import IntArray
from deconfound.errors import Problem
from deconfound.formatting import join_names, pluralize, quote
from deconfound.loading.raw import row_examples
from deconfound_bench.grid.tables import Contexts, Outputs

LEAST_MODELS = 2
LEAST_CONTEXTS = 5  # as many as a benchmark cuts folds


@dataclass(frozen=True, slots=True)
class Cells:
    """The grid's two sides, and the row of each cell in the file of outputs."""

    context_ids: tuple[str, ...]
    models: tuple[str, ...]
    row: IntArray  # (contexts, models)


def arrange(contexts: Contexts, outputs: Outputs, problems: list[Problem]) -> Cells | None:
    """Sort contexts and models and place every output; None where a cell is missing or doubled.

    A context without any output is left out: nobody ran it, so no model is favoured.
    """
    known = set(contexts.ids)
    strange = np.array([name not in known for name in outputs.context_ids])
    if strange.any():
        fix = "Add the context, or remove the row."
        column = outputs.raw.column("context_id")
        problems.append(column.row_problem(strange, "names a context that the contexts do not have", fix))
    rows = np.flatnonzero(~strange)
    if not len(rows):
        return None
    ids, names = [outputs.context_ids[row] for row in rows], [outputs.models[row] for row in rows]
    context_ids, models = sorted(set(ids)), sorted(set(names))
    cell = _places(context_ids, ids) * len(models) + _places(models, names)
    count = np.bincount(cell, minlength=len(context_ids) * len(models)).reshape(-1, len(models))
    found = _too_few(contexts, outputs, context_ids, models)
    found += [_doubled(outputs, rows[_repeats(cell)])] if (count > 1).any() else []
    found += [_missing(outputs, context_ids, models, count)] if (count == 0).any() else []
    problems += found
    return None if found else Cells(tuple(context_ids), tuple(models), rows[np.argsort(cell)].reshape(count.shape))


def _places(names: Sequence[str], each: Sequence[str]) -> IntArray:
    place = {name: at for at, name in enumerate(names)}
    return np.array([place[name] for name in each], dtype=np.int64)


def _repeats(cell: IntArray) -> IntArray:
    """Find the rows whose cell an earlier row has taken."""
    return np.setdiff1d(np.arange(len(cell)), np.unique(cell, return_index=True)[1])


def _too_few(contexts: Contexts, outputs: Outputs, context_ids: Sequence[str], models: Sequence[str]) -> list[Problem]:
    found = []
    if len(context_ids) < LEAST_CONTEXTS:
        what = f"only {pluralize(len(context_ids), 'context')} with outputs"
        found.append(Problem(contexts.raw.source, what, f"A grid needs at least {LEAST_CONTEXTS}."))
    if len(models) < LEAST_MODELS:
        what = f"the only model is {quote(models[0])}"
        found.append(Problem(outputs.raw.source, what, f"A grid needs at least {LEAST_MODELS} models to compare."))
    return found


def _doubled(outputs: Outputs, again: IntArray) -> Problem:
    row = int(again[0])
    what = f"context {quote(outputs.context_ids[row])} has another output of model {quote(outputs.models[row])}"
    places = outputs.raw.row_numbers
    where = places.locate(outputs.raw.source, row)
    return Problem(where, what + row_examples(places, again), "Keep one output for each context and model.")


def _missing(outputs: Outputs, context_ids: Sequence[str], models: Sequence[str], count: IntArray) -> Problem:
    """Name the first cell, and count the rest by model: often a single one was not run to the end."""
    rows, columns = np.nonzero(count == 0)
    what = f"context {quote(context_ids[rows[0]])} has no output of model {quote(models[columns[0]])}"
    lacking = Counter(columns.tolist())
    model_effect = join_names(f"{models[at]}: {lacking[at]}" for at in sorted(lacking))
    what += f" (missing: {len(rows):,} of {count.size:,} cells; {model_effect})"
    fix = "Run the model there, or leave out this model or this context."
    return Problem(outputs.raw.source, what, fix)
