"""Figures of a benchmark's scores, drawn from the same results as its tables."""

from deconfound_bench.figures.curve_figures import dr_figure, regret_figure
from deconfound_bench.figures.style import Style, styles_for, text_colour
from deconfound_bench.figures.value_figure import values_figure
from deconfound_bench.figures.winner_figure import winner_figure

__all__ = ["Style", "dr_figure", "regret_figure", "styles_for", "text_colour", "values_figure", "winner_figure"]
