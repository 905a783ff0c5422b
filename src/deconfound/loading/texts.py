"""A user's column -> text, with what is missing, blank or no text told by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask
from deconfound.errors import Problem
from deconfound.formatting import quote
from deconfound.loading.numbers import EXACT, is_text
from deconfound.loading.raw import Column


def texts(column: Column, problems: list[Problem], *, blank: bool, fix: str) -> pa.ChunkedArray | None:
    """Read text; numbers become their digits. Nothing may be missing, and empty only where ``blank`` allows it."""
    found = len(problems)
    values = _as_text(column, problems)
    if values is None:
        return None
    missing: Mask = values.is_null().to_numpy()
    if missing.any():
        problems.append(column.problem(missing, "is missing", fix, show=False))
    if not blank:
        hollow = empty(values) & ~missing
        if hollow.any():
            problems.append(column.problem(hollow, "is empty", fix, show=False))
    return values if len(problems) == found else None


def empty(values: pa.ChunkedArray) -> Mask:
    """Mark rows of no text or of nothing but white space."""
    hollow = pc.or_(pc.equal(pc.binary_length(values), 0), pc.utf8_is_space(values))
    mask: Mask = pc.fill_null(hollow, False).to_numpy()
    return mask


def _as_text(column: Column, problems: list[Problem]) -> pa.ChunkedArray | None:
    values, kind = column.values, column.values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_nested(kind):
        filled = values.is_valid().to_numpy()
        problems.append(
            column.problem(filled, "is a list or an object, not text", "Write it as one text.")
            if filled.any()
            else column.whole("is missing in every row", "Fill it in.")
        )
        return None
    if pa.types.is_floating(kind):
        return _digits(column, values, problems)
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _checked(column, values, problems)
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        problems.append(column.whole(f"is {quote(kind)}, which is no text", "Write it as text."))
        return None


def _digits(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> pa.ChunkedArray | None:
    """Write whole numbers without ".0": a missing cell turns a column of integers into floats."""
    numbers = pc.if_else(pc.is_nan(values), None, values).cast(pa.float64())
    known = np.array(pc.fill_null(numbers, 0.0).to_numpy())
    large = np.abs(known) >= EXACT
    if large.any():
        fix = "Write it as text: so large a number has lost its last digits."
        problems.append(column.problem(large, "is a number too large to be exact", fix))
        return None
    whole = bool((known == np.floor(known)).all())
    return numbers.cast(pa.int64()).cast(pa.string()) if whole else numbers.cast(pa.string())


def _checked(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> pa.ChunkedArray | None:
    try:
        chunks = [piece for chunk in values.chunks for piece in _pieces(chunk)]
        for chunk in chunks:
            chunk.validate(full=True)
    except pa.ArrowInvalid:
        bad = np.array([_is_broken(scalar) for scalar in values])
        problems.append(column.problem(bad, "is not UTF-8", "Write the text again as UTF-8.", show=False))
        return None
    return pa.chunked_array(chunks, type=pa.string())


def _pieces(chunk: pa.Array) -> list[pa.Array]:
    """Halve a chunk until its text can be addressed in 32 bits."""
    if pa.types.is_string(chunk.type):
        return [chunk]
    if pa.types.is_string_view(chunk.type):  # older Arrow cannot say how much text a view holds
        chunk = chunk.cast(pa.large_string())
    if chunk.nbytes < 1 << 31 or len(chunk) == 1:
        return [chunk.cast(pa.string())]
    half = len(chunk) // 2
    return [*_pieces(chunk[:half]), *_pieces(chunk[half:])]


def _is_broken(scalar: pa.Scalar) -> bool:
    data = scalar.as_buffer() if scalar.is_valid else None
    try:
        _ = None if data is None else data.to_pybytes().decode()
    except UnicodeDecodeError:
        return True
    return False
