"""Experiments of many rows: a narrower text, so that fits are systems of the size of the columns."""

from __future__ import annotations

from dataclasses import replace

from deconfound.data import Study
from deconfound.features import FeatureSpec
from deconfound.findings import Finding, Notice
from deconfound.linalg import DEFAULT_LIMITS
from deconfound.reward import Family

LONG_EXPERIMENT = "long experiment"  # the finding's name

MAX_KERNEL_ROWS = DEFAULT_LIMITS.max_experiment_kernel
"""Randomized rows up to which fits use inner products between rows, at the full width of the text."""

LONG_EXPERIMENT_WIDTH = 2_048
"""Columns of hashed text beside a longer experiment (decision 0028)."""

MAX_FEATURE_COLUMNS = 3_500
"""Feature columns up to which fits go through sums; with the text, ``FactorizationLimits`` allows no more."""

MAX_MODELS = 140
"""Models up to which ``auto`` goes through sums, as its ``MAX_MODEL_COLUMNS`` allows."""

MAX_UNSUMMED_ROWS = 5_000
"""Largest experiment with more feature columns or models: its time and memory grow much faster than its rows."""


def max_rows(study: Study, family: Family) -> int:
    """Randomized rows of the largest experiment that a family can be fitted to, beside this study's other tables."""
    is_summed = len(study.feature_names) <= MAX_FEATURE_COLUMNS and len(study.models) <= MAX_MODELS
    return family.max_experiment_rows if is_summed else min(family.max_experiment_rows, MAX_UNSUMMED_ROWS)


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
    message = f"{size}: its fits go through sums, with words hashed into {features.buckets:,} columns."
    return (Finding(LONG_EXPERIMENT, "pass", Notice(message)),)
