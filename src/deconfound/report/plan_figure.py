"""A plan as a figure: interval width, probability of the best model and regret by rows per model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from deconfound.formatting import format_percent
from deconfound.planning.experiment_plan import PlanRow
from deconfound.report.figures import Frame, new_figure, style_context, to_png, to_svg
from deconfound.report.scale import UNIT, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 9.0, 3.4  # inches
TICK_STEP = 2  # every second row count is labelled; all labels would overlap
COLOR = "#1f5f8b"

ImageFormat: TypeAlias = Literal["svg", "png"]


def plan_figure(level: float, rows: Sequence[PlanRow], image_format: ImageFormat, scale: Scale = UNIT) -> bytes:
    """The table of a plan as three panels; shaded areas show the uncertainty of the variance."""
    unit, width = f" ({scale.difference_unit})" if scale.difference_unit else "", abs(scale.width)
    panels = {
        "rms_width": (f"width of {format_percent(level)} intervals{unit}", width),
        "probability_best": ("probability to select the best", 1.0),
        "expected_regret": (f"expected regret{unit}", width),
    }
    title = "Projected precision by number of randomized rows"
    footnote = "Shaded: variances at both ends of their plausible interval."
    with style_context():
        figure = new_figure(Frame(WIDTH, HEIGHT, title, footnote))
        for axes, (quantity, (heading, factor)) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
            _draw_panel(axes, rows, quantity, factor)
            axes.set_title(heading)
        return to_svg(figure) if image_format == "svg" else to_png(figure)


def _draw_panel(axes: Axes, rows: Sequence[PlanRow], quantity: str, factor: float) -> None:
    per_model = [row.expected.rows_per_model for row in rows]
    expected = [factor * getattr(row.expected, quantity) for row in rows]
    low = [factor * getattr(row.low, quantity) for row in rows]
    high = [factor * getattr(row.high, quantity) for row in rows]
    axes.fill_between(per_model, low, high, color=COLOR, alpha=0.2, linewidth=0)
    axes.plot(per_model, expected, color=COLOR, marker="o", markersize=3)
    axes.set_xscale("log")
    axes.set_xticks(per_model[::TICK_STEP], [f"{number:,.0f}" for number in per_model[::TICK_STEP]])
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("rows per model")
