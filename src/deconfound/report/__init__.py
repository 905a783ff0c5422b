"""One result, and every form it is shown and kept in."""

from deconfound.report.result import Choice, Counts, Result

__all__ = ["Choice", "Counts", "Result"]
