"""Experiments of many rows: a narrower text, so that fits are systems of the size of the columns."""

from __future__ import annotations

from dataclasses import replace

from deconfound.features import FeatureSpec
from deconfound.findings import Finding, Notice
from deconfound.linalg import DEFAULT_LIMITS

LONG_EXPERIMENT = "long experiment"  # the finding's name

MAX_KERNEL_ROWS = DEFAULT_LIMITS.max_experiment_kernel
"""Randomized rows up to which fits use inner products between rows, at the full width of the text."""

LONG_EXPERIMENT_WIDTH = 2_048
"""Columns of hashed text beside a longer experiment (decision 0028)."""


def features_for(rows: int, features: FeatureSpec) -> FeatureSpec:
    """The features of a study with this many randomized rows."""
    if rows <= MAX_KERNEL_ROWS:
        return features
    return replace(features, buckets=min(features.buckets, LONG_EXPERIMENT_WIDTH))


def long_experiment_findings(rows: int, features: FeatureSpec) -> tuple[Finding, ...]:
    """What a reader should know about the features that were used beside this many randomized rows."""
    if rows <= MAX_KERNEL_ROWS or features.source == "columns":
        return ()
    size = f"The experiment has {rows:,} rows, more than {MAX_KERNEL_ROWS:,}"
    message = f"{size}: fits use every row of log and experiment, with text hashed into {features.buckets:,} columns."
    return (Finding(LONG_EXPERIMENT, "pass", Notice(message)),)
