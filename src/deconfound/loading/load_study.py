"""Read whole studies, or logs with replays; all problems come in one error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from deconfound.data import Experiment, IncompleteReplay, Log, Replay, Study, cross_table, split_unrated
from deconfound.data.log_counts import LogCounts
from deconfound.errors import DataError, Problem, merge_problems
from deconfound.findings import Finding
from deconfound.loading.canonical import CanonicalTable, align_contexts
from deconfound.loading.declared_assignment import DeclaredAssignment, ManifestLike
from deconfound.loading.draws import number_draws
from deconfound.loading.log_size import LongLog
from deconfound.loading.read_tables import read_canonical_tables
from deconfound.loading.reading_rules import ReadingRules, check_unit
from deconfound.loading.same_table import same_table_problems, share_a_file
from deconfound.loading.segment_columns import segment_mapping, without_segments
from deconfound.loading.segment_table import join_replay_segments
from deconfound.loading.sources import TableLike
from deconfound.loading.streamed_study import stream_log
from deconfound.progress import Progress, no_progress

DEFAULT_LONG_LOG = LongLog()
TableType = TypeVar("TableType", Log, Experiment, Replay)


def load(  # noqa: PLR0913  (each is an option of the command line)
    *,
    log: TableLike,
    experiment: TableLike,
    replay: TableLike,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    outcome_values: Mapping[str, float | None] | None = None,
    outcome_unit: str = "",
    models: Sequence[str] | None = None,
    where: Sequence[str] | str = (),
    ignore: Sequence[str] | str = (),
    rename_models: Mapping[str, str] | None = None,
    normalize_contexts: bool = False,
    assignment: ManifestLike | None = None,
    drop_missing: bool = True,  # noqa: ARG001
    incomplete: IncompleteReplay = "error",
    segments: Sequence[str] | str = (),
    long_log: LongLog = DEFAULT_LONG_LOG,
    progress: Progress = no_progress,
) -> Study:
    """Read a study from files (Parquet, CSV, JSONL), pandas or polars DataFrames, or Arrow tables.

    A path may be a folder, a pattern, or a list of files. ``columns`` maps canonical names to the user's:
    ``{"outcome": "thumbs_up"}``, or ``{"log.outcome": "thumbs_up"}`` for one table. ``where`` are conditions on rows,
    such as ``"country=DE"``, ``ignore`` columns that are not to be used, and ``rename_models`` gives models the names
    that they have in the replay. ``outcome_values`` says what words mean, ``{"good": 1, "bad": 0}``, and
    which words or numbers stand for no outcome, ``{"-1": None}``; yes and no, thumbs and percentages are known.
    ``outcome_range`` is the worst and the best outcome, by default 0 and 1; summaries are on this scale, numbers in
    Python from 0 to 1. ``outcome_unit`` follows values in sentences, ``"of 5 stars"``.
    ``normalize_contexts`` makes contexts the same that differ only in surrounding spaces, line ends or Unicode
    normalization. ``assignment`` is the manifest of the experiment, which gives its propensities and the model of every
    unit. Rows without an outcome are set aside and checked; ``drop_missing`` is for older code and changes nothing.
    ``segments`` are columns of the experiment, or of the replay, that divide contexts: values are reported by them.
    A log of at least the sizes in ``long_log`` is read in batches, and the study has it as ``log_stream``.
    Everything wrong in any of the three tables raises one ``DataError`` that lists it all.
    """
    rules = ReadingRules.from_options(
        columns=segment_mapping(segments, columns or {}),
        outcome_range=outcome_range,
        outcome_values=outcome_values,
        where=where,
        ignore=ignore,
        rename_models=rename_models,
        normalize_contexts=normalize_contexts,
    )
    unit = check_unit(outcome_unit)
    declared, rules = _declared(assignment, rules)
    sources = {"log": log, "experiment": experiment, "replay": replay}
    problems = same_table_problems(log, experiment, rules)
    streamed, aligned = None, list[CanonicalTable]()
    if not problems and long_log.applies_to(log):
        streamed = stream_log(sources, rules, problems, long_log, progress)
    else:
        aligned = _read_aligned(sources, rules, problems)
    others = aligned[1:] if streamed is None else [streamed.experiment, streamed.replay]
    numbered = number_draws(others[1], problems)
    experiment_table = others[0] if declared is None else declared.apply(others[0], problems)
    experiment_table, numbered = join_replay_segments(experiment_table, numbered, problems)
    try:
        study = Study.from_tables(
            _to_table(Log, aligned[0]) if streamed is None else streamed.log,
            _to_table(Experiment, experiment_table),
            _to_table(Replay, numbered),
            models=models,
            incomplete=incomplete,
            outcome_range=(0.0, 1.0) if outcome_range is None else (float(outcome_range[0]), float(outcome_range[1])),
            log_counts=None if streamed is None else streamed.stream.counts,
        )
    except DataError as error:
        problems += error.problems
    if problems:
        raise DataError(merge_problems(problems))
    study = replace(study, outcome_unit=unit, reading=rules.choices)
    return study if streamed is None else replace(study, log_stream=streamed.stream_for(study))


def _read_aligned(
    sources: Mapping[str, TableLike], rules: ReadingRules, problems: list[Problem]
) -> list[CanonicalTable]:
    """All tables with the same ids and texts of contexts."""
    tables = read_canonical_tables(sources, rules, problems)
    if len(tables) < len(sources):
        raise DataError(merge_problems(problems))
    problems += [] if problems else _shared_row_problems(sources["log"], sources["experiment"], tables)
    return align_contexts([tables[role] for role in sources], problems)


def _declared(assignment: ManifestLike | None, rules: ReadingRules) -> tuple[DeclaredAssignment | None, ReadingRules]:
    """The assignment, and the rules by which its units are read."""
    if assignment is None:
        return None, rules
    declared = DeclaredAssignment.read(assignment, rules.rename_models)
    return declared, replace(rules, columns={**declared.unit_column(rules.columns), **rules.columns})


@dataclass(frozen=True, slots=True, eq=False)
class LogAndReplay:
    """The data available before an experiment: ordinary use, and every candidate's outputs."""

    log: Log
    replay: Replay
    models: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings from reading both tables."""
        return (*self.log.findings, *self.replay.findings)

    def in_content_order(self) -> LogAndReplay:
        """The same rows in an order that depends on their content alone, as in a ``Study``."""
        return replace(self, log=self.log.in_content_order(), replay=self.replay.in_content_order())


def load_log_and_replay(  # noqa: PLR0913  (the arguments of ``load``)
    *,
    log: TableLike,
    replay: TableLike,
    columns: Mapping[str, str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    outcome_values: Mapping[str, float | None] | None = None,
    models: Sequence[str] | None = None,
    where: Sequence[str] | str = (),
    ignore: Sequence[str] | str = (),
    rename_models: Mapping[str, str] | None = None,
    normalize_contexts: bool = False,
) -> LogAndReplay:
    """Read a log and a replay without an experiment, with the arguments of ``load``."""
    rules = ReadingRules.from_options(
        columns=columns,
        outcome_range=outcome_range,
        outcome_values=outcome_values,
        where=where,
        ignore=ignore,
        rename_models=rename_models,
        normalize_contexts=normalize_contexts,
    )
    sources = {"log": log, "replay": replay}
    problems: list[Problem] = []
    tables = read_canonical_tables(sources, rules, problems)
    if problems or len(tables) < len(sources):
        raise DataError(merge_problems(problems))
    first, second = align_contexts([tables[role] for role in sources], problems)
    second = number_draws(replace(second, arrow=without_segments(second.arrow)), problems)
    if problems:
        raise DataError(merge_problems(problems))
    return _validate(_to_table(Log, first), _to_table(Replay, second), models)


def _validate(log: Log, replay: Replay, models: Sequence[str] | None) -> LogAndReplay:
    names = cross_table.resolve_models(replay, models)
    unrated = cross_table.unrated_log_findings(log.source, LogCounts.of(log))
    log = replace(split_unrated(log)[0], findings=(*log.findings, *unrated))
    tables = (log, replay)
    problems = [*cross_table.conflicting_context_ids(tables), *cross_table.feature_mismatches(tables)]
    if cross_table.missing_text_columns(tables):
        problems += cross_table.text_problems(tables)
        log, replay = log.drop_text(), replay.drop_text()
    problems += cross_table.too_few_models(replay, names)
    if problems:
        raise DataError(merge_problems(problems))
    return LogAndReplay(log, replay.for_models(names), names)


def _shared_row_problems(log: TableLike, experiment: TableLike, tables: Mapping[str, CanonicalTable]) -> list[Problem]:
    """Rows of one table that conditions put both into the log and into the experiment."""
    if not share_a_file(log, experiment):
        return []
    first, second = tables["log"], tables["experiment"]
    places = {first.row_numbers.label(row) for row in range(first.arrow.num_rows)}
    both = [row for row in range(second.arrow.num_rows) if second.row_numbers.label(row) in places]
    if not both:
        return []
    what = f"the row is in the log and in the experiment ({len(both):,} such rows)"
    return [Problem(second.locate(both[0]), what, "Write --where conditions that exclude each other.")]


def _to_table(kind: type[TableType], table: CanonicalTable) -> TableType:
    return kind(table.arrow, table.source, table.unused_columns, table.findings, table.row_numbers)
