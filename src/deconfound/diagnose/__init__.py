"""Can the data carry the answer? Every assumption of the theorem as findings."""

from deconfound.diagnose.checks import check

__all__ = ["check"]
