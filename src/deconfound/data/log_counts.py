"""How many rows of a log have an outcome, by model; exact also where only a sample of its rows is in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deconfound.data.tables import Log


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Rows with and without an outcome, by model."""

    rated: Mapping[str, int]
    unrated: Mapping[str, int]

    @classmethod
    def of(cls, log: Log) -> LogCounts:
        """Count the rows of a log in memory."""
        missing = np.isnan(log.arrow["outcome"].to_numpy())
        rated, unrated = (count_models(log.arrow.filter(pa.array(mask))) for mask in (~missing, missing))
        return cls(rated, unrated)

    @property
    def rows(self) -> int:
        """Rows with an outcome."""
        return sum(self.rated.values())


def count_models(table: pa.Table) -> Counter[str]:
    """The rows of each model."""
    return Counter({row["values"]: row["counts"] for row in table["model"].value_counts().to_pylist()})
