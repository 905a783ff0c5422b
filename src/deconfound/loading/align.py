"""Contexts under one name in all tables: ids from text, and text from ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import text_ids
from deconfound.errors import Problem
from deconfound.formatting import pluralize, quote
from deconfound.loading.drafts import Draft

ORDER = ("context_id", "context", "model", "output", "outcome", "propensity", "cluster", "time", "draw")


def align(drafts: Sequence[Draft], problems: list[Problem]) -> list[Draft]:
    """Give every table a context_id, and its contexts' text where another table has it."""
    named = _with_ids(drafts)
    texts = [d.table.select(["context_id", "context"]) for d in named if d.has("context")]
    if not texts:
        return [_ordered(d) for d in named]
    known = pa.concat_tables(texts)
    return [_ordered(d if d.has("context") else _with_text(d, known, problems)) for d in named]


def _with_ids(drafts: Sequence[Draft]) -> list[Draft]:
    """A text that another table names goes by that name (the first in order, if it has several), else by its hash."""
    if all(d.has("context_id") for d in drafts):
        return list(drafts)
    tables = [
        pa.table({"text": text_ids(d.table["context"]), "id": d.table["context_id"]})
        for d in drafts
        if d.has("context") and d.has("context_id")
    ]
    names = pa.concat_tables(tables).group_by("text").aggregate([("id", "min")]) if tables else None
    return [d if d.has("context_id") else _with_id(d, names) for d in drafts]


def _with_id(draft: Draft, names: pa.Table | None) -> Draft:
    ids = text_ids(draft.table["context"])
    if names is not None:
        found = pc.index_in(ids, value_set=names["text"].combine_chunks())
        ids = pc.coalesce(names["id_min"].combine_chunks().take(found), ids)
    return replace(draft, table=draft.table.append_column("context_id", ids))


def _with_text(draft: Draft, known: pa.Table, problems: list[Problem]) -> Draft:
    """Join the text by id. A table with features can do without it; another cannot."""
    ids = known["context_id"].combine_chunks()
    found = pc.index_in(draft.table["context_id"], value_set=ids)
    lacking = np.flatnonzero(found.is_null().to_numpy())
    if len(lacking) and any(name.startswith("feature_") for name in draft.table.column_names):
        return draft
    if len(lacking):
        row = int(lacking[0])
        name = draft.table["context_id"][row].as_py()
        what = f"context {quote(name)} has no text, here or in another table ({pluralize(len(lacking), 'row')})"
        fix = "Add a context column, or rows with this context_id and its text to the replay."
        where = f"{draft.source} {draft.places.unit} {draft.places.number(row)}"
        problems.append(Problem(where, what, fix))
    texts = pc.fill_null(known["context"].take(found), "")
    return replace(draft, table=draft.table.append_column("context", texts))


def _ordered(draft: Draft) -> Draft:
    names = draft.table.column_names
    return replace(draft, table=draft.table.select([n for n in ORDER if n in names] + sorted(set(names) - set(ORDER))))
