"""A result beside a truth that is known: what the demo prints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deconfound.formatting import format_percent
from deconfound.metrics import rmse
from deconfound.report.text import aligned, shown
from deconfound.result import Result
from deconfound.value import Values


def against_truth(result: Result, truth: Mapping[str, float]) -> str:
    """What the log says, what the experiment alone can say, what the three together say, and what is true."""
    order = sorted(truth, key=lambda name: -truth[name])
    level = result.level
    heads = ("", "model", "truth", "raw log", "experiment alone", "log + experiment + replay")
    rows = [
        (
            str(place),
            name,
            f"{truth[name]:.3f}",
            shown(_estimate(result.raw_log, name)),
            _spoken(result.experiment, name, level),
            _spoken(result.values, name, level),
        )
        for place, name in enumerate(order, start=1)
    ]
    sources = (result.raw_log, result.experiment, result.values)
    true = np.array([truth[name] for name in result.models])
    error = ["", "error", "", *(f"{rmse(source.estimate, true):.3f}" for source in sources)]
    best = ["", "best", order[0], *(source.ranking()[0] for source in sources)]
    story = "\n".join(_story(result, order))
    return f"{story}\n\n{aligned([heads, *rows, best, error])}\n\n{_legend(level)}\n\n{result.summary()}"


def _story(result: Result, order: list[str]) -> list[str]:
    favourite, alone, together = (s.ranking()[0] for s in (result.raw_log, result.experiment, result.values))
    place = order.index(favourite) + 1
    tied, still = (_rivals(values, result.level) for values in (result.experiment, result.values))
    unsure = f", but the best may also be {', '.join(tied)}" if tied else ""
    sure = (
        f", but the best may also be {', '.join(still)}"
        if still
        else f", and at {format_percent(result.level)} no other"
    )
    return [
        f"The log's favourite is {favourite}; in truth it is number {place} of {len(order)}.",
        f"The experiment alone favours {alone}{unsure}.",
        f"Log, experiment and replay together say {together}{sure}. The truth is {order[0]}.",
    ]


def _rivals(values: Values, level: float) -> list[str]:
    """Models besides the first that may be the best."""
    first = values.ranking()[0]
    return [name for name in values.best_set(level) if name != first]


def _estimate(values: Values, name: str) -> float:
    return float(values.estimate[values.models.index(name)])


def _spoken(values: Values, name: str, level: float) -> str:
    at = values.models.index(name)
    low, high = values.interval(level)[at]
    return f"{shown(float(values.estimate[at]))} ({low:.3f} to {high:.3f})"


def _legend(level: float) -> str:
    return f"In brackets {format_percent(level)} intervals; error is the root mean squared error over the models."
