"""Averages over studies with Monte Carlo standard errors, and whether they meet a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.stress_scores import Measure, Measures
from deconfound.design import FloatArray

Status = Literal["met", "open", "low", "high"]

MISS_Z = 2.0  # a target is missed if the average is outside by more than this number of standard errors
MARKS: dict[Status, str] = {"met": "✓", "open": "≈", "low": "✗ low", "high": "✗ high"}


@dataclass(frozen=True, slots=True)
class Summary:
    """An average over studies."""

    mean: float
    standard_error: float
    studies: int
    entries: int = 1  # numbers averaged in each study
    compared: int = 1  # averages that this one is the smallest of


@dataclass(frozen=True, slots=True)
class Target:
    """A range for an average; an average inside it meets the target.

    Averages outside it by at most ``MISS_Z`` standard errors stay open. Near a rate of 0 or 1 the observed standard
    error can be zero by chance, so it is at least that of independent trials at the edge of the range.
    """

    low: float = -np.inf
    high: float = np.inf

    def status(self, summary: Summary) -> Status:
        """Whether the target is met. The smallest of several averages gets Bonferroni's allowance."""
        if self.low <= summary.mean <= self.high:
            return "met"
        edge = self.low if summary.mean < self.low else self.high
        trials = summary.studies * summary.entries
        at_edge = float(np.sqrt(edge * (1 - edge) / trials)) if 0 < edge < 1 else 0.0
        z = float(-ndtri(float(ndtr(-MISS_Z)) / summary.compared))
        if abs(summary.mean - edge) <= z * max(summary.standard_error, at_edge):
            return "open"
        return "low" if summary.mean < self.low else "high"


def column(studies: Sequence[Measures], name: str) -> list[Measure]:
    """One measure of all studies that have it."""
    return [study[name] for study in studies if study.get(name) is not None]


def by_model(studies: Sequence[Measures], name: str) -> FloatArray:
    """A measure per model (studies, k), NaN where it does not exist."""
    rows = [row for row in column(studies, name) if isinstance(row, list)]
    return np.array([[np.nan if x is None else x for x in row] for row in rows], dtype=np.float64)


def numbers(studies: Sequence[Measures], name: str) -> FloatArray:
    """One number per study: the measure, or its mean over models. Studies without it are left out."""
    values = [_mean(value) for value in column(studies, name)]
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _mean(value: Measure) -> float | None:
    if isinstance(value, list):
        present = [x for x in value if x is not None]
        return float(np.mean(present)) if present else None
    return value


def average(studies: Sequence[Measures], name: str, entries: int = 1) -> Summary | None:
    """Mean of a measure over studies."""
    return _summarize(numbers(studies, name), entries)


def _summarize(values: FloatArray, entries: int = 1) -> Summary | None:
    if len(values) == 0:
        return None
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Summary(float(values.mean()), spread / np.sqrt(len(values)), len(values), entries)


def models(studies: Sequence[Measures]) -> int:
    """The number of models."""
    rows = by_model(studies, "headline")
    return rows.shape[1] if rows.ndim == 2 else 1


def worst_model(studies: Sequence[Measures], name: str) -> Summary | None:
    """The smallest mean of any model."""
    rows = by_model(studies, name)
    if rows.ndim != 2 or np.isnan(rows).all(axis=0).any():
        return None
    means = np.nanmean(rows, axis=0)
    at = int(np.argmin(means))
    count = int((~np.isnan(rows[:, at])).sum())
    mean = float(means[at])
    return Summary(mean, float(np.sqrt(mean * (1 - mean) / count)), count, compared=rows.shape[1])


def difference(studies: Sequence[Measures], one: str, other: str) -> Summary | None:
    """Mean of one measure minus another, paired by study."""
    pairs = [(study[one], study[other]) for study in studies if one in study and other in study]
    return _summarize(np.array([a - b for a, b in pairs if isinstance(a, float) and isinstance(b, float)]))


def ratio(
    studies: Sequence[Measures], top: str, bottom: str, transform: Callable[[float], float] = float
) -> Summary | None:
    """transform(mean of one measure / mean of another), with a jackknife standard error; None for 0 / 0."""
    rows = [(study[top], study[bottom]) for study in studies if top in study and bottom in study]
    pairs = np.array([row for row in rows if None not in row], dtype=np.float64).reshape(-1, 2)
    total, n = pairs.sum(axis=0), len(pairs)
    if n == 0 or total[1] == 0:
        return None
    estimate = transform(float(total[0] / total[1]))
    without = total - pairs
    usable = without[:, 1] != 0
    leave_one_out = np.array([transform(float(a / b)) for a, b in without[usable]])
    spread = float(((leave_one_out - leave_one_out.mean()) ** 2).sum()) if usable.all() and n > 1 else np.nan
    return Summary(estimate, float(np.sqrt(spread * (n - 1) / n)) if n > 1 else np.nan, n)
