"""What one pass over a long log leaves behind; that of two parts adds up to that of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deconfound.array_archive import arrays_from_bytes, arrays_to_bytes
from deconfound.design import FloatArray, IntArray
from deconfound.design.outcome_sums import ClusterSums, OutcomeSums
from deconfound.errors import UsageError
from deconfound.linalg.log_sums import LogSums, ModelSums, SumsLayout, total

MODEL_ARRAYS = ("text", "shared", "modifiers")
WAY_ARRAYS = ("keys", "counts", "totals", "dropped_bits")
FINGERPRINT_MASK = (1 << 128) - 1


@dataclass(slots=True, eq=False)
class LogStatistics:
    """Sums over the rows of a log: for fits, for mean outcomes, and for counts.

    Rows on the contexts of an experiment's fold are summed apart, so that a fit can do without them: ``folds[f]`` are
    those of fold f, ``rest`` is every other row. None stands for sums without rows, which would be large.
    """

    layout: SumsLayout
    folds: list[LogSums | None]
    rest: LogSums | None
    outcomes: OutcomeSums
    missing_labels: IntArray  # (labels,) rows without each label
    fingerprint: int  # sum of 128-bit hashes of the rows

    @classmethod
    def zero(cls, layout: SumsLayout, folds: int, n_models: int, *, has_clusters: bool) -> Self:
        """No rows."""
        outcomes = OutcomeSums.zero(n_models, has_clusters=has_clusters)
        return cls(layout, [None] * folds, None, outcomes, np.zeros(layout.targets - 1, dtype=np.int64), 0)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return round(sum(sums.rows for sums in self._present()))

    def sums_of(self, fold: int) -> LogSums:
        """The sums of a fold, or of the rows in none where ``fold`` is negative, to be added to."""
        sums = self.rest if fold < 0 else self.folds[fold]
        if sums is None:
            sums = LogSums.zero(self.layout)
            if fold < 0:
                self.rest = sums
            else:
                self.folds[fold] = sums
        return sums

    def total(self) -> LogSums:
        """The sums over all rows."""
        return total(self._present())

    def without(self, fold: int) -> LogSums | None:
        """The sums over all rows but those of a fold; None if it has no rows, or if there are no others."""
        left_out, others = self.folds[fold], [sums for sums in self._present() if sums is not self.folds[fold]]
        return total(others) if left_out is not None and others else None

    def add(self, other: LogStatistics) -> None:
        """Add the rows of another part of the log."""
        if len(self.folds) != len(other.folds) or self.layout != other.layout:
            raise UsageError("Statistics of logs with different features or folds cannot be added.")
        for fold, sums in enumerate((*other.folds, other.rest)):
            if sums is not None:
                self.sums_of(fold if fold < len(self.folds) else -1).add(sums)
        self.outcomes.add(other.outcomes)
        self.missing_labels = self.missing_labels + other.missing_labels
        self.fingerprint = (self.fingerprint + other.fingerprint) & FINGERPRINT_MASK

    def merge(self, other: LogStatistics) -> LogStatistics:
        """``add``, for a fold over the statistics of parts; returns this object."""
        self.add(other)
        return self

    def _present(self) -> list[LogSums]:
        return [sums for sums in (*self.folds, self.rest) if sums is not None]

    def to_bytes(self) -> bytes:
        """All of it as arrays, without the half of every symmetric matrix that follows from the other."""
        layout, ways = self.layout, self.outcomes.ways
        arrays: dict[str, Any] = {
            "layout": np.array([layout.text, layout.dense, layout.targets, layout.modifiers, len(self.folds)]),
            "ways": np.array(len(ways)),
            "lowest": self.outcomes.lowest,
            "squares": self.outcomes.squares,
            "missing_labels": self.missing_labels,
            "fingerprint": np.array(f"{self.fingerprint:032x}"),
        }
        for number, way in enumerate(ways):
            arrays |= {f"way{number}_{name}": np.asarray(getattr(way, name)) for name in WAY_ARRAYS}
        for number, sums in enumerate((*self.folds, self.rest)):
            if sums is not None:
                arrays |= {f"sums{number}_{name}": array for name, array in _sums_to_arrays(sums).items()}
        return arrays_to_bytes(arrays)

    @classmethod
    def from_bytes(cls, content: bytes, models: tuple[str, ...], folds: int) -> Self:
        """The inverse of ``to_bytes``; a ``ValueError`` if the content is damaged."""
        arrays = arrays_from_bytes(content, _known_arrays(len(models), folds))
        try:
            *widths, count = arrays["layout"].tolist()
            layout = SumsLayout(*widths)
            if count != folds:
                raise ValueError("it has another number of folds")
            sums = [_sums_from_arrays(layout, arrays, f"sums{number}_") for number in range(folds + 1)]
            ways = tuple(_way_from_arrays(arrays, f"way{number}_") for number in range(int(arrays["ways"])))
            outcomes = OutcomeSums(ways, arrays["lowest"], arrays["squares"])
            fingerprint = int(str(arrays["fingerprint"]), 16)
        except (LookupError, TypeError) as error:
            raise ValueError(f"it is not the statistics of a log ({error})") from error
        return cls(layout, sums[:-1], sums[-1], outcomes, arrays["missing_labels"], fingerprint)


def _known_arrays(n_models: int, folds: int) -> list[str]:
    of_model = [f"model{number}_{name}" for number in range(n_models) for name in MODEL_ARRAYS]
    of_sums = ["text", "text_by_shared", "shared", "models", *of_model]
    return [
        *("layout", "ways", "lowest", "squares", "missing_labels", "fingerprint"),
        *(f"way{number}_{name}" for number in range(3) for name in WAY_ARRAYS),
        *(f"sums{number}_{name}" for number in range(folds + 1) for name in of_sums),
    ]


def _sums_to_arrays(sums: LogSums) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "text": sums.text[np.triu_indices(len(sums.text))],
        "text_by_shared": sums.text_by_shared,
        "shared": sums.shared,
        "models": np.array(list(sums.models), dtype=np.str_) if sums.models else np.zeros(0, dtype="<U1"),
    }
    for number, of_model in enumerate(sums.models.values()):
        arrays |= {f"model{number}_{name}": getattr(of_model, name) for name in MODEL_ARRAYS}
    return arrays


def _sums_from_arrays(layout: SumsLayout, arrays: Mapping[str, Any], prefix: str) -> LogSums | None:
    if f"{prefix}shared" not in arrays:
        return None
    text: FloatArray = np.zeros((layout.text, layout.text))
    text[np.triu_indices(layout.text)] = arrays[f"{prefix}text"]
    sums = LogSums(layout, text, arrays[f"{prefix}text_by_shared"], arrays[f"{prefix}shared"])
    for number, name in enumerate(arrays[f"{prefix}models"].tolist()):
        sums.models[name] = ModelSums(*(arrays[f"{prefix}model{number}_{part}"] for part in MODEL_ARRAYS))
    return sums


def _way_from_arrays(arrays: Mapping[str, Any], prefix: str) -> ClusterSums:
    keys, counts, totals, bits = (arrays[f"{prefix}{name}"] for name in WAY_ARRAYS)
    return ClusterSums(keys, counts, totals, int(bits))
