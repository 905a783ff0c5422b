"""Effect modifiers as the package computes them from tables of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from deconfound.data import Log
from deconfound.features import FeatureSpec

Texts = Sequence[tuple[str, str]]  # pairs of context and output


def package_modifiers(log: Texts, rows: Texts, buckets: int) -> np.ndarray:
    """Modifiers (rows, c) of texts by a featurizer that is fitted to a log of other texts."""
    contexts, outputs = zip(*log, strict=True)
    columns = {"context_id": contexts, "model": ["any"] * len(log), "outcome": np.zeros(len(log))}
    table = pa.table({**columns, "context": contexts, "output": outputs})
    featurizer = FeatureSpec(surface=False, buckets=buckets).fit(Log(table, "log"))
    contexts, outputs = zip(*rows, strict=True)
    blocks = featurizer.blocks(pa.table({"context": contexts, "output": outputs}))
    return blocks.modifiers[blocks.row_index]
