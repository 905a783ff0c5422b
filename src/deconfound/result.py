"""The answer to a study, with everything that later questions need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.data import Replay
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.decide.routing import RoutingGain
from deconfound.errors import DataError, Problem
from deconfound.features import Featurizer
from deconfound.features.study_arrays import ReplayArrays
from deconfound.findings import Finding
from deconfound.reward import Attribution, Family
from deconfound.tune import Mode
from deconfound.value import Contrast, Values
from deconfound.value.log_bias import LogBias


@dataclass(frozen=True, slots=True)
class TableCounts:
    """What a table brought."""

    source: str
    rows: int
    contexts: int
    rows_per_model: tuple[int, ...]  # in the order of the models
    ignored: tuple[str, ...]  # columns nobody asked for


@dataclass(frozen=True, slots=True)
class FittedFamily:
    """The family that was used, its hyperparameters, and how they were chosen."""

    estimator: Family
    mode: Mode
    surface_share: float
    psi_source: str


@dataclass(frozen=True, slots=True)
class Result:
    """Values, recommendations and findings of one evaluation.

    ``values`` is the answer; ``direct`` the same reward without the experiment's correction; ``experiment`` and
    ``raw_log`` are what those sources say alone, for comparison.
    """

    values: Values
    direct: Values
    experiment: Values
    raw_log: Values
    recommendations: tuple[Recommendation, ...]
    routing: RoutingGain  # what the policy of the recommendations is worth
    log_bias: LogBias  # of the raw log
    findings: tuple[Finding, ...]
    choice: FittedFamily
    attribution: Attribution | None  # shares of the sources, where the family has them
    counts: dict[str, TableCounts]  # log, experiment, replay
    policy: Policy
    featurizer: Featurizer
    level: float
    seed: int

    @property
    def models(self) -> tuple[str, ...]:
        """The models compared."""
        return self.values.models

    def contrasts(self) -> tuple[Contrast, ...]:
        """Every pair of models, better first, with intervals that hold together."""
        return self.values.contrasts(self.level)

    def recommend(self, contexts: object) -> tuple[Recommendation, ...]:
        """The best model for new contexts, given as a replay table of them: a file, a DataFrame or an Arrow table."""
        from deconfound.loading import load_replay

        replay = contexts if isinstance(contexts, Replay) else load_replay(contexts, models=self.models)
        held = set(replay.arrow.column_names)
        if not set(self._needs()) <= held:
            missing = ", ".join(sorted(set(self._needs()) - held))
            raise DataError([Problem(replay.source, f"there is no column {missing}", "The study was fitted on it.")])
        cells = ReplayArrays.from_replay(replay, self.models, self.featurizer)
        return self.policy.recommend(cells, self.level)

    def _needs(self) -> tuple[str, ...]:
        shape = self.featurizer.layout
        return (*(("context", "output") if shape.reads_text else ()), *shape.columns)

    def summary(self) -> str:
        """The answer first, then what it was computed from."""
        from deconfound.report.text import summary

        return summary(self)

    def document(self) -> dict[str, Any]:
        """Everything of the result that is not an array of coefficients, ready for JSON."""
        from deconfound.report.document import document

        return document(self)

    def to_json(self, path: Path | str) -> None:
        """Write ``document()``."""
        from deconfound.report.document import write_json

        write_json(self, Path(path))

    def to_html(self, path: Path | str) -> None:
        """Write a page that a browser shows by itself: the answer, the intervals, the table, what to know."""
        from deconfound.report.html import page
        from deconfound.report.text import presentable

        Path(path).write_text(page(presentable(self)), encoding="utf-8")

    def save(self, directory: Path | str) -> None:
        """Keep the result so that ``Result.load`` and ``deconfound recommend`` can use it later."""
        from deconfound.report.persistence import save

        save(self, Path(directory))

    @staticmethod
    def load(directory: Path | str) -> Result:
        """A kept result, whole."""
        from deconfound.report.persistence import load

        return load(Path(directory))
