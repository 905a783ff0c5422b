"""What every estimator sees: rows of numbers, and ways to split them into folds."""

from deconfound.design.folds import Fold, connected_groups, group_folds
from deconfound.design.replay_rows import ReplayRows
from deconfound.design.rows import (
    TILE_ROWS,
    UNKNOWN_MODEL,
    FloatArray,
    IntArray,
    Matrix,
    Rows,
    merge_duplicate_rows,
    random_projection,
    stack,
    unanimous_code,
)

__all__ = [
    "TILE_ROWS",
    "UNKNOWN_MODEL",
    "FloatArray",
    "Fold",
    "IntArray",
    "Matrix",
    "ReplayRows",
    "Rows",
    "connected_groups",
    "group_folds",
    "merge_duplicate_rows",
    "random_projection",
    "stack",
    "unanimous_code",
]
