"""Pictures of a result as matplotlib figures, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deconfound.errors import UsageError
from deconfound.escaping import escape_name
from deconfound.formatting import format_percent
from deconfound.report.figures import Frame, new_figure, style_context
from deconfound.report.scale import Scale
from deconfound.report.segment_text import shown_models
from deconfound.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, TOP, ROW = 7.0, 1.4, 0.34  # inches
VALUE, LOG, GRAY = "#0072b2", "#d55e00", "#8a96a3"  # of Okabe and Ito, for any kind of colour vision
MAX_LISTED_PAIRS = 45  # ten models


def plot_values(result: Result) -> Figure:
    """Dots and bars for values and intervals, diamonds for the raw log; with costs, all of it net of cost."""
    scale, rows = Scale.of(result), result.values.table(result.level)
    title = f"Value of each model with {format_percent(result.level)} intervals, and the raw log's mean"
    net = "" if result.values.cost is None else ", less the cost"
    with style_context():
        figure, axes = _figure(len(rows), title, f"Diamonds: mean outcome in the log, uncorrected{net}.")
        logged = result.raw_log.estimate - result.values.cost_or_zero
        for place, row in enumerate(rows):
            low, high, value = (_on_scale(scale, float(row[key])) for key in ("low", "high", "estimate"))
            if np.isfinite(float(row["standard_error"])):
                axes.plot([low, high], [place, place], color=VALUE, alpha=0.4, linewidth=5, solid_capstyle="round")
            axes.plot([value], [place], "o", color=VALUE)
            in_log = _on_scale(scale, float(logged[result.models.index(str(row["model"]))]))
            axes.plot([in_log], [place], "D", color=LOG, fillstyle="none", markeredgewidth=1.5)
        _label(
            axes,
            [str(row["model"]) for row in rows],
            scale.unit or ("value" if result.values.cost is None else "net value"),
        )
        if scale.width < 0:
            axes.invert_xaxis()
        return figure


def plot_contrasts(result: Result) -> Figure:
    """One line per pair, better model first; bars that cross zero are gray."""
    scale, pairs = Scale.of(result), result.contrasts()[:MAX_LISTED_PAIRS]
    title = f"Differences between models with simultaneous {format_percent(result.level)} intervals"
    left = len(result.contrasts()) - len(pairs)
    with style_context():
        figure, axes = _figure(len(pairs), title, f"{left:,} more pairs are not shown." if left else "")
        for place, pair in enumerate(pairs):
            color = VALUE if pair.significant else GRAY
            ends = [abs(scale.width) * end for end in (pair.low, pair.high)]
            axes.plot(ends, [place, place], color=color, alpha=0.5, linewidth=4, solid_capstyle="round")
            axes.plot([abs(scale.width) * pair.difference], [place], "o", color=color)
        axes.axvline(0.0, color="#444444", linewidth=1)
        _label(axes, [f"{pair.model} – {pair.reference}" for pair in pairs], _difference_label(scale))
        return figure


def plot_log_bias(result: Result) -> Figure:
    """Bias of the log's mean of each model; bars that cross zero are gray."""
    scale, biases = Scale.of(result), {bias.model: bias for bias in result.log_bias.biases}
    title = f"Raw log minus value, with simultaneous {format_percent(result.log_bias.level)} intervals"
    with style_context():
        figure, axes = _figure(len(biases), title, "Right of zero, the log overrates the model.")
        for place, name in enumerate(result.values.ranking()):
            bias = biases[name]
            if bias.is_estimable:
                color = LOG if bias.low > 0 else VALUE if bias.high < 0 else GRAY
                ends = [abs(scale.width) * end for end in (bias.low, bias.high)]
                axes.plot(ends, [place, place], color=color, alpha=0.5, linewidth=4, solid_capstyle="round")
                axes.plot([abs(scale.width) * bias.estimate], [place], "o", color=color)
        axes.axvline(0.0, color="#444444", linewidth=1)
        _label(axes, result.values.ranking(), _difference_label(scale))
        return figure


def plot_precision(result: Result) -> Figure:
    """Standard errors of each model's value, with the experiment alone and with log and replay."""
    scale, ranking = Scale.of(result), result.values.ranking()
    at = [result.models.index(name) for name in ranking]
    with style_context():
        figure, axes = _figure(len(ranking), "Standard errors of the values", "")
        sources = (
            (result.experiment, GRAY, "experiment alone", -0.2),
            (result.values, VALUE, "with log and replay", 0.2),
        )
        for values, color, label, offset in sources:
            errors = abs(scale.width) * values.standard_error[at]
            finite = np.where(np.isfinite(errors), errors, 0.0)
            axes.barh(np.arange(len(at)) + offset, finite, height=0.36, color=color, label=label)
        figure.legend(loc="outside lower center", ncols=2)
        _label(axes, ranking, f"standard error{f' ({scale.difference_unit})' if scale.difference_unit else ''}")
        return figure


def plot_segments(result: Result) -> Figure:
    """One line per segment and model; models that are not the best one of their segment are gray."""
    if not result.segments:
        raise UsageError('The result has no segments. Evaluate with segments, as in dc.load(..., segments="language").')
    scale, level = Scale.of(result), format_percent(result.level)
    rows = [
        (f"{one.column} {part.name}: {row['model']}", row, row["model"] in part.best_set)
        for one in result.segments
        for part in one.segments
        for row in part.table()
        if row["model"] in shown_models(part, one.overall_best)
    ]
    with style_context():
        title = f"Value of each model by segment, with {level} intervals that hold for all segments together"
        figure, axes = _figure(len(rows), title, "Gray: not the best model of its segment.")
        for place, (_, row, may_be_best) in enumerate(rows):
            low, high, value = (_on_scale(scale, float(row[key])) for key in ("low", "high", "estimate"))
            color = VALUE if may_be_best else GRAY
            if np.isfinite(float(row["standard_error"])):
                axes.plot([low, high], [place, place], color=color, alpha=0.4, linewidth=5, solid_capstyle="round")
            axes.plot([value], [place], "o", color=color)
        _label(axes, [label for label, *_ in rows], scale.unit or "value")
        if scale.width < 0:
            axes.invert_xaxis()
        return figure


def _figure(rows: int, title: str, footnote: str) -> tuple[Figure, Axes]:
    figure = new_figure(Frame(WIDTH, TOP + ROW * rows, title, footnote))
    axes: Axes = figure.subplots()
    return figure, axes


def _label(axes: Axes, names: Sequence[str], label: str) -> None:
    """Names from top to bottom."""
    axes.set_yticks(range(len(names)), [escape_name(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(label)


def _difference_label(scale: Scale) -> str:
    return scale.difference_unit or "difference in outcome"


def _on_scale(scale: Scale, value: float) -> float:
    return scale.low + scale.width * value
