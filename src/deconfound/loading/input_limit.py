"""How large a table may be once it is decompressed: a small file can hold more than any memory."""

from __future__ import annotations

import math
import os

from deconfound.errors import DataError, Problem, UsageError

LIMIT_VARIABLE = "DECONFOUND_MAX_INPUT_GB"
DEFAULT_LIMIT_GB = 4.0
GB = 10**9
MAX_COLUMNS = 100_000
BYTES_PER_CELL = 8


def max_input_bytes() -> int:
    """The limit for one file: ``DECONFOUND_MAX_INPUT_GB`` where it is set, otherwise ``DEFAULT_LIMIT_GB``."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    try:
        limit = float(text) if text else DEFAULT_LIMIT_GB
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit > 0):
        raise UsageError(f"{LIMIT_VARIABLE} must be a number of gigabytes above 0, such as 8, not {text!r}.")
    return int(limit * GB)


def require_size(source: str, size: int) -> None:
    """Refuse a file whose content has more than ``max_input_bytes``; ``size`` may be that of the part read so far."""
    limit = max_input_bytes()
    if size <= limit:
        return
    what = f"the decompressed table has more than {limit / GB:g} GB, the limit for one file"
    fix = (
        "Remove columns or rows that are not needed, or raise the limit with the environment variable "
        f"{LIMIT_VARIABLE}={math.ceil(2 * limit / GB)} if the memory is larger."
    )
    raise DataError([Problem(source, what, fix)])


def max_cells() -> int:
    """The limit for rows times columns: 500 million at 4 GB, and in proportion."""
    return max_input_bytes() // BYTES_PER_CELL


def require_columns(source: str, columns: int) -> None:
    """Refuse a table of more than ``MAX_COLUMNS`` columns, each of which needs memory of its own."""
    if columns <= MAX_COLUMNS:
        return
    what = f"the table has {columns:,} columns, and at most {MAX_COLUMNS:,} can be read"
    raise DataError([Problem(source, what, "Remove the columns that are not needed; keys must not differ by row.")])


def require_cells(source: str, rows: int, columns: int) -> None:
    """Refuse a table that is too wide, or has more cells than ``max_cells``, empty ones included."""
    require_columns(source, columns)
    if rows * columns <= max_cells():
        return
    what = f"{rows:,} rows with {columns:,} columns are more than {max_cells():,} cells, the limit for one file"
    fix = (
        "Remove columns that are not needed (every key of a JSON line is a column of all lines), or raise the limit "
        f"with the environment variable {LIMIT_VARIABLE} if the memory is larger."
    )
    raise DataError([Problem(source, what, fix)])
