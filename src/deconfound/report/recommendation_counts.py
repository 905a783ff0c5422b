"""How many contexts each model is recommended for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from deconfound.result import Result


def recommendation_counts(result: Result) -> dict[str, Any]:
    """Contexts per recommended model: where it is clearly best, and where it is the most likely best."""
    clear = [row for row in result.recommendations if row.verdict == "clear"]
    return {
        "contexts": len(result.recommendations),
        "cannot_tell": len(result.recommendations) - len(clear),
        "clear": dict(sorted(Counter(row.model for row in clear).items())),
        "most_likely": dict(sorted(Counter(row.model for row in result.recommendations).items())),
        "assumes_small_differences": result.policy.assumes_small_differences,
    }
