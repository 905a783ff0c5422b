"""Rows of numbers for the estimators, feature matrices, and ways to split rows into folds."""

from deconfound.design.arrays import BoolArray, FloatArray, IntArray
from deconfound.design.folds import Fold, connected_groups, group_folds
from deconfound.design.matrix import ColumnCovariance, EigenPairs, FeatureMatrix, GramOperator, stack
from deconfound.design.replay_rows import ReplayRows
from deconfound.design.rows import (
    UNKNOWN_MODEL,
    Rows,
    merge_duplicate_rows,
    number_distinct_rows,
    unanimous_code,
    without_agreeing_repeats,
)
from deconfound.design.spread import usable_sd
from deconfound.design.storage import CsrMatrix, DenseMatrix, RawMatrix, csr_inner_products, feature_matrix

__all__ = [
    "UNKNOWN_MODEL",
    "BoolArray",
    "ColumnCovariance",
    "CsrMatrix",
    "DenseMatrix",
    "EigenPairs",
    "FeatureMatrix",
    "FloatArray",
    "Fold",
    "GramOperator",
    "IntArray",
    "RawMatrix",
    "ReplayRows",
    "Rows",
    "connected_groups",
    "csr_inner_products",
    "feature_matrix",
    "group_folds",
    "merge_duplicate_rows",
    "number_distinct_rows",
    "stack",
    "unanimous_code",
    "usable_sd",
    "without_agreeing_repeats",
]
