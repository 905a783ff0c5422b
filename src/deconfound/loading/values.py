"""Python values that may not agree on a type -> one Arrow column that later checks can judge."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pyarrow as pa

NESTED = pa.struct([("json", pa.string())])  # holds a value only where the user's cell was a list or an object


def column_from_values(values: Sequence[object]) -> pa.Array:
    """Keep one type where there is one; where types are mixed, keep what was written, as text.

    A column with a list or an object somewhere becomes ``NESTED``: fit to be ignored, or to be refused by row.
    """
    if any(isinstance(value, dict | list | tuple | set) for value in values):
        return pa.array([{"json": _written(v)} if isinstance(v, dict | list) else None for v in values], NESTED)
    kinds = {type(value) for value in values if value is not None}
    try:
        if len(kinds) <= 1 or kinds == {int, float}:
            return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        pass  # integers beyond 64 bits, or objects of a foreign class: their text is exact
    return pa.array([None if _missing(value) else _written(value) for value in values], pa.string())


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
