"""How many bytes a table may have once it is decompressed: a small file can hold more than any memory."""

from __future__ import annotations

import math
import os

from deconfound.errors import DataError, Problem, UsageError

LIMIT_VARIABLE = "DECONFOUND_MAX_INPUT_GB"
DEFAULT_LIMIT_GB = 4.0
GB = 10**9


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
