"""Tables of a benchmark's scores: contents, their layout and their renderers."""

from deconfound_bench.tables.budgets import Curve, Panel, by_budget, panels
from deconfound_bench.tables.estimate import Estimate
from deconfound_bench.tables.excess import excess, excess_table
from deconfound_bench.tables.layout import (
    curve_grid,
    curve_rows,
    differences_table,
    dr_curve_table,
    overall_table,
    ranking_table,
    values_table,
    winner_grid,
    winner_rows,
)
from deconfound_bench.tables.overall import Overall, Standing, overall
from deconfound_bench.tables.paired import AXES, Axis
from deconfound_bench.tables.table import Table, to_csv, to_markdown, to_text
from deconfound_bench.tables.values import (
    DirectAgainstDr,
    DrCurve,
    Order,
    Ranking,
    TwoWays,
    direct_against_dr,
    dr_curve,
    ranking,
)
from deconfound_bench.tables.winners import Difference, Differences, Win, WinnerMap, differences, winner_map
from deconfound_bench.tables.write import write_tables

__all__ = [
    "AXES",
    "Axis",
    "Curve",
    "Difference",
    "Differences",
    "DirectAgainstDr",
    "DrCurve",
    "Estimate",
    "Order",
    "Overall",
    "Panel",
    "Ranking",
    "Standing",
    "Table",
    "TwoWays",
    "Win",
    "WinnerMap",
    "by_budget",
    "curve_grid",
    "curve_rows",
    "differences",
    "differences_table",
    "direct_against_dr",
    "dr_curve",
    "dr_curve_table",
    "excess",
    "excess_table",
    "overall",
    "overall_table",
    "panels",
    "ranking",
    "ranking_table",
    "to_csv",
    "to_markdown",
    "to_text",
    "values_table",
    "winner_grid",
    "winner_map",
    "winner_rows",
    "write_tables",
]
