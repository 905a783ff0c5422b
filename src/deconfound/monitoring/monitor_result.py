"""What one look at a running experiment shows: values and differences that hold at every look, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.atomic import write_text
from deconfound.design import FloatArray
from deconfound.findings import Finding
from deconfound.monitoring.monitor_settings import MonitorSettings
from deconfound.monitoring.monitor_state import PastLook
from deconfound.monitoring.sequences import Sequences
from deconfound.monitoring.stopping import Verdict
from deconfound.result import Result


@dataclass(frozen=True, slots=True, eq=False)
class NextBatch:
    """How to draw the rows to come."""

    propensity: FloatArray  # (k,) zero for models that were dropped on request
    changed: bool  # whether it differs from the propensities so far
    expected_rows: int | None  # further rows until the rule is expected to stop; None: not before the horizon


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MonitorResult:
    """What one look shows; its intervals and its verdict are valid however often one looks.

    ``result`` is the evaluation of the rows so far. Its own intervals are for one look at a finished experiment.
    """

    settings: MonitorSettings
    result: Result
    rows: int  # of all models of the settings
    sequences: Sequences
    verdict: Verdict
    next_batch: NextBatch
    looks: tuple[PastLook, ...]  # this one last
    findings: tuple[Finding, ...]  # about the looks first, then the assumption checks

    def __repr__(self) -> str:
        reason = self.verdict.reason or "go on"
        return f"MonitorResult({self.choice!r}, reason={reason!r}, rows={self.rows}, looks={len(self.looks)})"

    @property
    def models(self) -> tuple[str, ...]:
        """The models compared."""
        return self.result.models

    @property
    def choice(self) -> str:
        """The model to use if the experiment ended now."""
        return self.models[self.verdict.choice]

    @property
    def stop(self) -> bool:
        """Whether the experiment may end."""
        return self.verdict.stop

    def table(self) -> list[dict[str, str | float]]:
        """One row per model, best first, with the interval of its value that holds at every look."""
        values, by_look = self.result.values, self.sequences
        rows: list[dict[str, str | float]] = []
        for row in values.table(self.settings.level):
            i = self.models.index(str(row["model"]))
            low, high = (float(end) for end in by_look.interval[i])
            rows.append({"model": row["model"], "estimate": row["estimate"], "low": low, "high": high})
        return rows

    def differences(self) -> list[dict[str, str | float]]:
        """Every pair, the better model first; the intervals of all pairs hold together at every look."""
        values, ranking = self.result.values, self.result.values.ranking()
        rows: list[dict[str, str | float]] = []
        for place, model in enumerate(ranking):
            for reference in ranking[place + 1 :]:
                i, j = self.models.index(model), self.models.index(reference)
                low, high = (float(end) for end in self.sequences.difference[i, j])
                difference = float(values.estimate[i] - values.estimate[j])
                rows.append(
                    {"model": model, "reference": reference, "difference": difference, "low": low, "high": high}
                )
        return rows

    def propensities(self) -> dict[str, float]:
        """Propensities of the next batch, by model; models that were dropped are not in it."""
        pairs = zip(self.models, self.next_batch.propensity.tolist(), strict=True)
        return {name: share for name, share in pairs if share > 0}

    def summary(self) -> str:
        """The verdict first, then the values, the differences, the next batch and warnings, in plain text."""
        from deconfound.report.monitor_text import monitor_text

        return monitor_text(self)

    def document(self) -> dict[str, Any]:
        """Every number, ready for JSON."""
        from deconfound.report.monitor_document import monitor_document

        return monitor_document(self)

    def to_json(self, path: Path | str) -> None:
        """Write ``document()`` to a file; `deconfound assign --from-plan` reads its propensities."""
        from deconfound.report.monitor_document import monitor_json

        write_text(Path(path), monitor_json(self))
