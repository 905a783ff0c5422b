"""Numbers with a decimal comma or a percent sign, as spreadsheets write them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data.encode import UNKNOWN_CODE, encode_by_appearance
from deconfound.findings import Finding, Notice
from deconfound.formatting import quote
from deconfound.loading.convert import MISSING_WORDS, is_string_type
from deconfound.loading.raw import Column

WITH_COMMA = re.compile(r"[+-]?\d+,\d+")
WHOLE = re.compile(r"[+-]?\d+")
PERCENTAGE = re.compile(r"(\d+(?:[.,]\d+)?)\s*%")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234 may be either


def read_decimal_commas(column: Column) -> tuple[Column, list[Finding]]:
    """The column with decimal points, and findings; each file of a table may write its numbers in its own way."""
    numbers = column.row_numbers
    if not _is_text(column) or not _has_comma(column):
        return column, []
    if numbers.file is None:
        read, finding = _read_commas(column)
        return read, [] if finding is None else [finding]
    files = np.unique(numbers.file).tolist()  # a batch of a long log has rows of one or two of them
    parts = [_of_file(column, at) for at in files]
    read_parts = [_read_commas(part) for part in parts]
    findings = [finding for _, finding in read_parts if finding is not None]
    if not findings:
        return column, []
    order = np.argsort(np.concatenate([np.flatnonzero(numbers.file == at) for at in files]))
    texts = pa.chunked_array([chunk for part, _ in read_parts for chunk in part.values.cast(pa.large_string()).chunks])
    return replace(column, values=texts.take(pa.array(order))), findings


def _is_text(column: Column) -> bool:
    kind = column.values.type
    return is_string_type(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _has_comma(column: Column) -> bool:
    return bool(pc.any(pc.match_substring(column.values.cast(pa.large_string()), ",")).as_py())


def _of_file(column: Column, at: int) -> Column:
    """The rows of one file of a table, under its name."""
    numbers = column.row_numbers
    rows = np.flatnonzero(numbers.file == at)
    return Column(column.name, column.values.take(pa.array(rows)), numbers.files[at], numbers.take(rows))


def _read_commas(column: Column) -> tuple[Column, Finding | None]:
    """The column with decimal points, and a finding; unchanged if a number has a point or may have thousands.

    Every cell must be a number with a comma, a whole number or missing, and at least one comma must be a decimal one.
    """
    texts, code = encode_by_appearance(column.values.cast(pa.string()))
    distinct = [text.strip() for text in texts.to_pylist()]
    numbers = [text for text in distinct if text.lower() not in MISSING_WORDS]
    commas = [text for text in numbers if WITH_COMMA.fullmatch(text)]
    decimal = [text for text in commas if not THOUSANDS.fullmatch(text)]
    if not decimal or not all(WITH_COMMA.fullmatch(text) or WHOLE.fullmatch(text) for text in numbers):
        return column, None
    points = pa.array([text.replace(",", ".") for text in distinct], pa.string())
    values = points.take(pa.array(code, mask=code == UNKNOWN_CODE))
    example = f"{quote(decimal[0])} is read as {decimal[0].replace(',', '.')}"
    message = f"{column.source}: {column.name} has decimal commas; {example}."
    return replace(column, values=pa.chunked_array([values])), Finding("decimal commas", "pass", Notice(message))


def read_percentages(column: Column) -> tuple[Column, list[Finding]]:
    """The column with shares instead of percentages, and findings; unchanged unless every number has the sign."""
    if not _is_text(column):
        return column, []
    texts, code = encode_by_appearance(column.values.cast(pa.string()))
    distinct = [text.strip() for text in texts.to_pylist()]
    found = [PERCENTAGE.fullmatch(text) for text in distinct if text.lower() not in MISSING_WORDS]
    if not found or not all(found):
        return column, []
    matches = [PERCENTAGE.fullmatch(text) for text in distinct]
    shares = pa.array([None if one is None else float(one[1].replace(",", ".")) / 100 for one in matches], pa.float64())
    values = shares.take(pa.array(code, mask=code == UNKNOWN_CODE))
    message = f"{column.source}: {column.name} has percentages; {quote(distinct[0])} is read as {shares[0].as_py():g}."
    return replace(column, values=pa.chunked_array([values])), [Finding("percentages", "pass", Notice(message))]
