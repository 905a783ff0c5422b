"""Tests of the assumptions behind the values, as findings."""

from deconfound.diagnose.checks import CheckReport, check, run_checks

__all__ = ["CheckReport", "check", "run_checks"]
