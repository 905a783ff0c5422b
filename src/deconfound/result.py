"""The answer to a study, with everything that later questions need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deconfound import __version__
from deconfound.atomic import write_text
from deconfound.data import NO_CHOICES, ReadingChoices, Replay
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.decide.routing import RoutingGain
from deconfound.errors import DataError, Problem
from deconfound.features import Featurizer
from deconfound.features.study_arrays import ReplayArrays
from deconfound.findings import Finding
from deconfound.formatting import join_names
from deconfound.frames import Records
from deconfound.loading import load_replay
from deconfound.loading.sources import TableLike
from deconfound.reward import Attribution, Family
from deconfound.tune import Mode
from deconfound.value import Contrast, Values
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.log_bias import LogBias
from deconfound.value.population import Population
from deconfound.value.segments import NO_SEGMENTS, SegmentedColumns
from deconfound.value.sensitivity import Sensitivity
from deconfound.value.unrated_rows import MissingOutcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Size and origin of one table."""

    source: str
    rows: int
    contexts: int
    rows_per_model: tuple[int, ...]  # in the order of the models
    unused_columns: tuple[str, ...]
    fingerprint: str  # of the content, see ``data.fingerprint``


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """Sizes and origins of the three tables."""

    log: TableCounts
    experiment: TableCounts
    replay: TableCounts


@dataclass(frozen=True, slots=True)
class FittedFamily:
    """The family that was used, its hyperparameters, and how they were chosen."""

    estimator: Family
    mode: Mode
    surface_share: float
    psi_source: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """Values, recommendations and findings of one evaluation.

    ``values`` is the answer. For comparison, ``direct`` is the mean of the same reward without the experiment's
    correction, ``experiment`` uses the experiment alone and ``raw_log`` the uncorrected log. With a cost, ``values``
    and ``direct`` are net of it; ``experiment``, ``raw_log`` and ``log_bias`` are about outcomes before cost. All
    numbers are on a scale from 0 to 1; ``outcome_range`` is what 0 and 1 were in the tables, and summaries are printed
    on that scale.
    """

    values: Values
    direct: Values
    experiment: Values
    raw_log: Values
    recommendations: Records[Recommendation]
    routing: RoutingGain
    log_bias: LogBias
    findings: Records[Finding]
    family: FittedFamily
    attribution: Attribution | None  # None if the family has none
    efficient: EfficientSummary | None  # None if efficient values were not requested and promise no gain
    missing: MissingOutcomes | None  # None if every randomized row has an outcome
    sensitivity: tuple[Sensitivity, ...]  # to violations of replay fidelity and of outcome consistency
    counts: StudyCounts
    population: Population
    outcome_range: tuple[float, float]
    outcome_unit: str
    policy: Policy
    featurizer: Featurizer
    level: float
    seed: int
    reading: ReadingChoices = NO_CHOICES  # of names in the tables, also for new ones
    segments: SegmentedColumns = NO_SEGMENTS  # one for each column that divides the contexts
    command: str = ""  # that computed it; empty if it was called from Python
    version: str = __version__  # of deconfound that computed it
    replay: Replay | None = None  # the outputs, for a report that shows them; not saved

    def __post_init__(self) -> None:
        object.__setattr__(self, "recommendations", Records(self.recommendations))
        object.__setattr__(self, "findings", Records(self.findings))
        object.__setattr__(self, "segments", SegmentedColumns(self.segments))

    def __repr__(self) -> str:
        return f"Result(models={self.models}, best={self.values.ranking()[0]!r}, family={self.family.estimator.name!r})"

    @property
    def models(self) -> tuple[str, ...]:
        """The models compared."""
        return self.values.models

    def contrasts(self) -> Records[Contrast]:
        """Every pair of models, better one first, with simultaneous intervals."""
        return self.values.contrasts(self.level)

    def recommend(
        self,
        contexts: TableLike | Replay,
        *,
        columns: Mapping[str, str] | None = None,
        rename_models: Mapping[str, str] | None = None,
    ) -> Records[Recommendation]:
        """The best model for new contexts, given as their replay: files, a DataFrame or an Arrow table.

        Names that the study was read with (``columns``, ``rename_models`` and ``ignore`` of ``load``) are used again;
        others go first.
        """
        study = replace(self.reading, columns={**self.reading.columns, **(columns or {})})
        replay = (
            contexts
            if isinstance(contexts, Replay)
            else load_replay(contexts, rename_models=rename_models, models=self.models, study=study)
        )
        missing = sorted(set(self._required_columns()) - set(replay.arrow.column_names))
        if missing:
            verb, pronoun = ("is no column", "it") if len(missing) == 1 else ("are no columns", "them")
            what, fix = f"there {verb} {join_names(missing)}", f"Add {pronoun}: the study was fitted on {pronoun}."
            raise DataError([Problem(replay.source, what, fix)])
        arrays = ReplayArrays.from_replay(replay.in_content_order(), self.models, self.featurizer)
        return self.policy.recommend(arrays, self.level)

    def _required_columns(self) -> tuple[str, ...]:
        layout = self.featurizer.layout
        return (*(("context", "output") if layout.reads_text else ()), *layout.columns)

    def summary(self, *, verbose: bool = False) -> str:
        """The answer in plain text; ``verbose`` adds how it was computed."""
        from deconfound.report.text import summary

        return summary(self, verbose=verbose)

    def _repr_html_(self) -> str:
        from deconfound.report.page.notebook import notebook_html

        return notebook_html(self)

    def plot_values(self) -> Figure:
        """Values with intervals beside the raw log, as a matplotlib figure."""
        from deconfound.report.result_figures import plot_values

        return plot_values(self)

    def plot_contrasts(self) -> Figure:
        """The difference of every pair of models with its simultaneous interval, as a matplotlib figure."""
        from deconfound.report.result_figures import plot_contrasts

        return plot_contrasts(self)

    def plot_log_bias(self) -> Figure:
        """How far the raw log overrates or underrates each model, as a matplotlib figure."""
        from deconfound.report.result_figures import plot_log_bias

        return plot_log_bias(self)

    def plot_precision(self) -> Figure:
        """Standard errors with the experiment alone and with all sources, as a matplotlib figure."""
        from deconfound.report.result_figures import plot_precision

        return plot_precision(self)

    def plot_segments(self) -> Figure:
        """Values by segment with intervals that hold for all segments together, as a matplotlib figure."""
        from deconfound.report.result_figures import plot_segments

        return plot_segments(self)

    def document(self) -> dict[str, Any]:
        """Everything but coefficients, ready for JSON."""
        from deconfound.report.document import document

        return document(self)

    def to_json(self, path: Path | str) -> None:
        """Write ``document()`` to a file."""
        from deconfound.report.document import write_json

        write_json(self, Path(path))

    def to_html(self, path: Path | str) -> None:
        """Write a self-contained page with the answer, the pictures, the checks and the contexts to explore."""
        from deconfound.report.page.render_page import render_html

        write_text(Path(path), render_html(self, self.replay))

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        """Save the result for ``Result.load`` and ``deconfound recommend``.

        A saved result in the folder is replaced in one step. Another ``result.json`` is replaced only with
        ``overwrite``.
        """
        from deconfound.report.persistence import save

        save(self, Path(directory), overwrite=overwrite)

    @staticmethod
    def load(directory: Path | str) -> Result:
        """Read a saved result."""
        from deconfound.report.persistence import load

        return load(Path(directory))
