"""Compare a result with the true values: what `deconfound demo` prints first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.formatting import format_percent, join_names, text_table, wrap
from deconfound.metrics import rmse
from deconfound.report.scale import UNIT
from deconfound.result import Result
from deconfound.value import Values

HEADINGS = ("", "model", "truth", "raw log", "experiment alone", "log + experiment + replay")


@dataclass(frozen=True, slots=True)
class Estimate:
    """One set of values and how well it agrees with the truth."""

    values: Values
    best: str  # the model it ranks first
    true_rank: int  # of that model; 1 is the best
    rivals: tuple[str, ...]  # other models that may be the best at the confidence level
    rmse: float  # over all models
    covered: int  # intervals that contain the true value

    @classmethod
    def from_values(cls, values: Values, truth: Mapping[str, float], level: float) -> Self:
        """Compare with the true values by model name."""
        best, true_values = values.ranking()[0], np.array([truth[name] for name in values.models])
        low, high = values.interval(level).T
        return cls(
            values=values,
            best=best,
            true_rank=1 + sum(value > truth[best] for value in truth.values()),
            rivals=tuple(name for name in values.best_set(level) if name != best),
            rmse=rmse(values.estimate, true_values),
            covered=int(((low <= true_values) & (true_values <= high)).sum()),
        )


@dataclass(frozen=True, slots=True)
class TruthComparison:
    """The raw log, the experiment alone and the full evaluation, each compared with the truth."""

    truth: dict[str, float]  # best model first
    raw_log: Estimate
    experiment: Estimate
    evaluation: Estimate
    level: float

    @classmethod
    def from_result(cls, result: Result, truth: Mapping[str, float]) -> Self:
        """Compare the values of a result with the true values by model name."""
        raw_log, experiment, evaluation = (
            Estimate.from_values(values, truth, result.level)
            for values in (result.raw_log, result.experiment, result.values)
        )
        ordered = dict(sorted(truth.items(), key=lambda item: -item[1]))
        return cls(ordered, raw_log, experiment, evaluation, result.level)


def comparison_text(comparison: TruthComparison) -> str:
    """Three sentences and a table with one row per model."""
    level = format_percent(comparison.level)
    count = f"{comparison.evaluation.covered} of {len(comparison.truth)}"
    legend = (
        f"{count} intervals of log + experiment + replay contain the true value; {level} do on average.\n"
        f"In brackets: {level} intervals. RMSE: typical error of a value (root mean square over the models)."
    )
    return "\n\n".join([wrap(_narrative(comparison)), _table(comparison), wrap(legend)])


def _narrative(comparison: TruthComparison) -> str:
    log, experiment, evaluation = comparison.raw_log, comparison.experiment, comparison.evaluation
    level = format_percent(comparison.level)
    return "\n".join(
        [
            f"The raw log ranks {log.best} first; its true rank is {log.true_rank} of {len(comparison.truth)}.",
            f"The experiment alone ranks {experiment.best} first; {_rivals(experiment)} ({level} confidence).",
            f"Log, experiment and replay rank {evaluation.best} first; {_rivals(evaluation)} ({level} confidence).",
            f"The truly best model is {next(iter(comparison.truth))}.",
        ]
    )


def _rivals(estimate: Estimate) -> str:
    return (
        f"{join_names(estimate.rivals)} may also be the best" if estimate.rivals else "no other model can be the best"
    )


def _table(comparison: TruthComparison) -> str:
    estimates = (comparison.raw_log, comparison.experiment, comparison.evaluation)
    best = ("", "best", next(iter(comparison.truth)), *(estimate.best for estimate in estimates))
    error = ("", "RMSE", "", *(f"{estimate.rmse:.3f}" for estimate in estimates))
    rows = [
        (
            str(rank),
            name,
            f"{value:.3f}",
            UNIT.value(_value(comparison.raw_log.values, name)),
            _value_with_interval(comparison.experiment.values, name, comparison.level),
            _value_with_interval(comparison.evaluation.values, name, comparison.level),
        )
        for rank, (name, value) in enumerate(comparison.truth.items(), start=1)
    ]
    return text_table([HEADINGS, *rows, best, error], left=(1,))


def _value(values: Values, name: str) -> float:
    return float(values.estimate[values.models.index(name)])


def _value_with_interval(values: Values, name: str, level: float) -> str:
    low, high = values.interval(level)[values.models.index(name)]
    return f"{UNIT.value(_value(values, name))} ({low:.3f} to {high:.3f})"
