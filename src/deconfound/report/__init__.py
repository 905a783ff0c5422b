"""One result, and every form it is shown and kept in."""

from deconfound.result import FittedFamily, Result, TableCounts

__all__ = ["FittedFamily", "Result", "TableCounts"]
