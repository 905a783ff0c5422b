"""A user's column -> numbers or strings, with a problem for every value that is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.data import Mask
from deconfound.data.encode import UNKNOWN_CODE, encode_by_appearance
from deconfound.errors import Problem
from deconfound.formatting import quote
from deconfound.loading.decoded_size import decode_dictionary
from deconfound.loading.raw import Column

Floats = NDArray[np.float64]

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
MISSING_WORDS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
INFINITE_WORDS = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
BOOLEAN_WORDS = {"true": "1", "false": "0"}
MAX_EXACT_INTEGER = 2.0**53  # above it, a float cannot represent every integer
MAX_MAGNITUDE = 1e100

TOO_LONG = "has texts that are too long to be in one table: Arrow has at most 2 GB in one piece"
NOT_TEXT = "Write it as one text, or name the field of the object that is meant: --map NAME=COLUMN.FIELD."


# Numbers


def to_floats(column: Column, problems: list[Problem], fix: str) -> Floats:
    """Read numbers, booleans (as 1 and 0) and numbers written as text; a missing value is NaN.

    ``fix`` is the advice for any other value.
    """
    values, kind = decode_dictionary(column.values)
    if is_string_type(kind):
        return _parse_numbers(column, values.cast(pa.large_string()), problems, fix)
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        filled = values.is_valid().to_numpy()
        if filled.any():
            problems.append(column.row_problem(filled, "is not a number", fix))
        return np.full(len(values), np.nan)
    return _to_numpy(values.cast(pa.float64(), safe=False))


def to_finite_floats(column: Column, problems: list[Problem], fix: str) -> Floats:
    """Read numbers; a missing or infinite one is a problem."""
    before = len(problems)
    values = to_floats(column, problems, fix)
    missing = np.isnan(values)
    if missing.any() and len(problems) == before:
        problems.append(column.row_problem(missing, "has no value", fix, show_value=False))
    refuse_infinite(column, values, problems)
    return values


def to_moderate_floats(column: Column, problems: list[Problem], fix: str) -> Floats:
    """Read finite numbers whose squares are finite, too: features and labels are standardized."""
    values = to_finite_floats(column, problems, fix)
    huge = np.isfinite(values) & (np.abs(values) > MAX_MAGNITUDE)
    if huge.any():
        fix = f"Write numbers between {-MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}: divide the column by a constant."
        problems.append(column.row_problem(huge, "is too large", fix))
    return values


def refuse_infinite(column: Column, values: Floats, problems: list[Problem]) -> None:
    """Report infinite values."""
    infinite = np.isinf(values)
    if infinite.any():
        problems.append(column.row_problem(infinite, "is infinite", "Write a finite number."))


def is_string_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of the string types."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _parse_numbers(column: Column, texts: pa.ChunkedArray, problems: list[Problem], fix: str) -> Floats:
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    for word, number in BOOLEAN_WORDS.items():
        words = pc.if_else(pc.equal(words, word), number, words)
    numeric = pc.fill_null(pc.match_substring_regex(words, NUMBER), False)
    infinite = pc.is_in(words, value_set=pa.array(INFINITE_WORDS, pa.large_string()))
    missing = pc.or_(pc.is_null(words), pc.is_in(words, value_set=pa.array(MISSING_WORDS, pa.large_string())))
    bad: Mask = pc.invert(pc.or_(pc.or_(numeric, infinite), missing)).to_numpy()
    if bad.any():
        problems.append(column.row_problem(bad, "is not a number", fix))
    values = _to_numpy(pc.if_else(numeric, words, None).cast(pa.float64()))
    values[infinite.to_numpy()] = np.inf
    return values


def _to_numpy(values: pa.ChunkedArray) -> Floats:
    return np.array(pc.fill_null(values, float("nan")).to_numpy(), dtype=np.float64)


# Strings


def to_strings(column: Column, problems: list[Problem], *, allow_blank: bool, fix: str) -> pa.ChunkedArray | None:
    """Read text; numbers become their digits. None if a value is missing, or blank without ``allow_blank``."""
    before = len(problems)
    values = as_strings(column, problems)
    if values is None:
        return None
    missing: Mask = values.is_null().to_numpy()
    if missing.any():
        problems.append(column.row_problem(missing, "has no value", fix, show_value=False))
    if not allow_blank:
        blank = is_blank(values) & ~missing
        if blank.any():
            problems.append(column.row_problem(blank, "is blank", fix, show_value=False))
    return values if len(problems) == before else None


def without_missing_words(column: Column) -> Column:
    """The column with a missing value in place of words such as NA and null, which a CSV has for one."""
    values, kind = decode_dictionary(column.values)
    return replace(column, values=null_missing_words(values)) if is_string_type(kind) else column


def is_blank(values: pa.ChunkedArray) -> Mask:
    """Mark rows whose text is empty or only white space."""
    blank = pc.or_(pc.equal(pc.binary_length(values), 0), pc.utf8_is_space(values))
    mask: Mask = pc.fill_null(blank, False).to_numpy()
    return mask


def as_strings(column: Column, problems: list[Problem]) -> pa.ChunkedArray | None:
    """Read text as ``to_strings`` does; missing values stay missing."""
    values, kind = decode_dictionary(column.values)
    if pa.types.is_nested(kind):
        filled = values.is_valid().to_numpy()
        problems.append(
            column.row_problem(filled, "is a list or an object, not text", NOT_TEXT)
            if filled.any()
            else column.column_problem("has no value in any row", "Fill it in.")
        )
        return None
    if pa.types.is_floating(kind):
        return _floats_to_strings(column, values, problems)
    if pa.types.is_decimal(kind):
        return decimals_to_strings(values)
    if is_string_type(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _validated_strings(column, values, problems)
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        problems.append(column.column_problem(f"has type {quote(kind)}, which is not text", "Write it as text."))
        return None


def _floats_to_strings(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> pa.ChunkedArray | None:
    """Write whole numbers without ".0": a missing cell turns a column of integers into floats."""
    numbers = pc.if_else(pc.is_nan(values), None, values).cast(pa.float64())
    filled = np.array(pc.fill_null(numbers, 0.0).to_numpy())
    large = np.abs(filled) >= MAX_EXACT_INTEGER
    if large.any():
        fix = "Write it as text: a float of this size has lost its last digits."
        problems.append(column.row_problem(large, "is too large to be exact", fix))
        return None
    whole = bool((filled == np.floor(filled)).all())
    return numbers.cast(pa.int64()).cast(pa.string()) if whole else numbers.cast(pa.string())


def decimals_to_strings(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write decimals without zeros at their end, as databases store whole numbers with a fixed number of decimals."""
    distinct, code = encode_by_appearance(values)
    texts = pa.array([f"{number.normalize():f}" for number in distinct.to_pylist()], pa.string())
    return pa.chunked_array([texts.take(pa.array(code, mask=code == UNKNOWN_CODE))])


def _validated_strings(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> pa.ChunkedArray | None:
    try:
        chunks = [piece for chunk in values.chunks for piece in _split_chunk(chunk)]
        for chunk in chunks:
            chunk.validate(full=True)
    except pa.ArrowInvalid:
        bad = np.array([_is_invalid_utf8(scalar) for scalar in values])
        if not bad.any():
            problems.append(column.column_problem(TOO_LONG, "Shorten the longest texts, or split the file."))
            return None
        problems.append(column.row_problem(bad, "is not UTF-8", "Write the text again as UTF-8.", show_value=False))
        return None
    return pa.chunked_array(chunks, type=pa.string())


def _split_chunk(chunk: pa.Array) -> list[pa.Array]:
    """Halve a chunk until its text fits into the 32-bit offsets of Arrow's plain strings."""
    if pa.types.is_string(chunk.type):
        return [chunk]
    if pa.types.is_string_view(chunk.type):  # older Arrow cannot report the size of a view
        chunk = chunk.cast(pa.large_string())
    if chunk.nbytes < 1 << 31 or len(chunk) == 1:
        return [_to_plain(chunk)]
    half = len(chunk) // 2
    return [*_split_chunk(chunk[:half]), *_split_chunk(chunk[half:])]


def _to_plain(chunk: pa.Array) -> pa.Array:
    """Plain strings; a slice of a larger array is copied, where its offsets are beyond 32 bits."""
    try:
        return chunk.cast(pa.string())
    except pa.ArrowInvalid:
        return chunk.take(pa.array(np.arange(len(chunk)))).cast(pa.string())


def _is_invalid_utf8(scalar: pa.Scalar) -> bool:
    data = scalar.as_buffer() if scalar.is_valid else None
    try:
        _ = None if data is None else data.to_pybytes().decode()
    except UnicodeDecodeError:
        return True
    return False


def null_missing_words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without spaces around them; those that stand for a missing value are null."""
    words = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    missing = pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING_WORDS, pa.large_string()))
    return pc.if_else(missing, None, words)
