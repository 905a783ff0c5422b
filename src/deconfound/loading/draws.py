"""The draws of a replay: numbered where the user did not, and no draw twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import describe_context
from deconfound.errors import Problem
from deconfound.formatting import quote
from deconfound.loading.align import ORDER
from deconfound.loading.drafts import Draft
from deconfound.loading.raw import others

KEY = ("context_id", "model", "draw")


def with_draws(draft: Draft, problems: list[Problem]) -> Draft:
    """Number the rows of each context and model in order of appearance, unless the user numbered them."""
    if draft.has("draw"):
        _refuse_duplicates(draft, problems)
        return draft
    counts = appearance(_codes(draft, KEY[:2]))
    table = draft.table.append_column("draw", pa.array(counts))
    names = [name for name in ORDER if name in table.column_names]
    return replace(draft, table=table.select(names + sorted(set(table.column_names) - set(names))))


def appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count, for each row, the earlier rows with the same code."""
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    counts = np.empty(len(codes), dtype=np.int64)
    counts[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    return counts


def _codes(draft: Draft, names: tuple[str, ...]) -> NDArray[np.int64]:
    codes = np.zeros(draft.table.num_rows, dtype=np.int64)
    for name in names:
        column = draft.table[name].combine_chunks().dictionary_encode()
        # Renumbered after each column, so that the product cannot overflow.
        mixed = codes * len(column.dictionary) + column.indices.to_numpy()
        codes = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
    return codes


def _refuse_duplicates(draft: Draft, problems: list[Problem]) -> None:
    again = np.flatnonzero(appearance(_codes(draft, KEY)) > 0)
    if not len(again):
        return
    row = int(again[0])
    values = [draft.table[name][row].as_py() for name in KEY]
    context = describe_context(draft.table, row)
    what = f"draw {values[2]} of model {quote(values[1])} on context {context} stands here a second time"
    fix = "Number the draws of each context and model, or leave the draw column out and they are numbered in order."
    where = f"{draft.source} {draft.places.unit} {draft.places.number(row)}"
    problems.append(Problem(where, what + others(draft.places, again), fix))
