"""Words and numbers that stand for a missing outcome, such as -1 and 999: as the user says, never by a guess."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask
from deconfound.data.encode import encode_by_appearance
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_noted_names, pluralize, shell_argument
from deconfound.loading.convert import Floats
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.loading.raw import Column, python_value

USUAL_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
MAX_CODES = 3  # different codes in one column; more values outside the range are rather outcomes


def without_missing_codes(column: Column, scale: OutcomeScale) -> tuple[Column, Finding | None]:
    """The column with a missing value for every cell that the user says stands for one, and a finding with counts."""
    kind = column.values.type.value_type if pa.types.is_dictionary(column.values.type) else column.values.type
    if not scale.missing or pa.types.is_nested(kind):
        return column, None
    distinct, code = encode_by_appearance(column.values.cast(kind))
    words = [scale.match(cell) for cell in map(python_value, distinct)]
    is_code = np.array([*(word in scale.missing for word in words), False])[code]  # the last: missing already
    if not is_code.any():
        return column, None
    rows = np.bincount(code[is_code], minlength=len(words))
    counts = [(str(word), int(rows[at])) for at, word in enumerate(words) if rows[at]]
    values = pc.if_else(pa.array(is_code), pa.scalar(None, kind), column.values.cast(kind))
    return replace(column, values=values), missing_code_finding(column.source, counts)


def missing_code_finding(source: str, counts: Sequence[tuple[str, int]]) -> Finding:
    """How many outcomes count as missing, by what the user says stands for that."""
    counted = join_noted_names((word, f" ({count:,})") for word, count in counts)
    message = f"{source}: {pluralize(sum(count for _, count in counts), 'outcome')} count as missing: {counted}."
    return Finding("missing codes", "pass", Notice(message))


def likely_codes(values: Floats, outside: Mask) -> list[float]:
    """Values outside the range that may stand for missing outcomes: a single one that repeats, or only usual codes."""
    distinct, counts = np.unique(values[outside], return_counts=True)
    usual = len(distinct) <= MAX_CODES and bool(np.isin(distinct, USUAL_CODES).all())
    single = len(distinct) == 1 and counts[0] > 1
    return [float(value) for value in distinct] if usual or single else []


def apart_codes(values: Collection[float]) -> list[float]:
    """Usual codes that lie apart from all other values: the only negative one, or more than twice the largest."""
    others = [value for value in values if value not in USUAL_CODES]
    if not others or min(others) < 0:
        return []
    return sorted(code for code in values if code in USUAL_CODES and (code < 0 or code > 2 * max(others)))


def missing_option(codes: Sequence[float]) -> str:
    """The option that declares these numbers missing."""
    return f"--outcome-values {shell_argument(','.join(f'{code:g}=missing' for code in codes))}"
