"""From a study to its answer: prepare once, then evaluate one or several families."""

from __future__ import annotations

from dataclasses import replace

from deconfound.data import Study
from deconfound.data.segment_codes import SegmentCodes
from deconfound.decide.cost import costs_by_model
from deconfound.diagnose.checks import run_checks
from deconfound.diagnose.context_shift import require_overlap
from deconfound.errors import UsageError, check_seed
from deconfound.evaluation_options import EvaluationOptions
from deconfound.evidence import require_feasible_size, require_rows
from deconfound.features.study_arrays import StudyArrays
from deconfound.features.summed_study import long_study_arrays, streamed_if_long
from deconfound.loading import load_contexts, with_segments
from deconfound.loading.sources import source_name
from deconfound.long_experiment import features_for
from deconfound.prepared_study import FOLDS, PreparedStudy, resolve_family
from deconfound.progress import Progress, no_progress
from deconfound.result import Result
from deconfound.reward import FAMILIES, Family
from deconfound.study_summary import rows_per_model
from deconfound.threads import one_blas_thread
from deconfound.value.multiple_comparisons import check_level
from deconfound.value.population import describe_population, require_extra_contexts

PAPER_FAMILY_NAMES = tuple(family.name for family in FAMILIES)
DEFAULTS = EvaluationOptions()


def evaluate(
    study: Study,
    family: str | Family = "auto",
    level: float = 0.95,
    seed: int = 0,
    *,
    options: EvaluationOptions = DEFAULTS,
    progress: Progress = no_progress,
) -> Result:
    """The value of each model with intervals, a recommendation per context, and every assumption check.

    ``family`` is "auto", one of the paper's six, a variant, or a family object, which is tuned over its grid.
    """
    if isinstance(study, Study):
        require_feasible_size(study, resolve_family(family))
    return prepare(study, level, seed, options=options, progress=progress).evaluate(family)


def prepare(
    study: Study,
    level: float = 0.95,
    seed: int = 0,
    *,
    options: EvaluationOptions = DEFAULTS,
    progress: Progress = no_progress,
) -> PreparedStudy:
    """Compute the features of a study and check its assumptions, once for all families to be evaluated on it."""
    check_level(level)
    check_seed(seed)
    if not isinstance(study, Study):
        raise UsageError(f"study must be a Study from dc.load, not {type(study).__name__}.")
    cost = None if options.cost is None else costs_by_model(study, options.cost)
    require_rows(rows_per_model(study.experiment, study), study.experiment.source)
    if options.extra_contexts:
        require_extra_contexts(study)
    target = None
    if options.target is not None:
        normalize = study.reading.normalize_contexts
        target = load_contexts(options.target, columns=options.target_columns, normalize_contexts=normalize)
    own_columns = study.experiment.segment_names
    if options.segments is not None:
        study = with_segments(study, options.segments, options.segment_columns)
    progress("reading texts", 0.0)
    study = streamed_if_long(study.in_content_order(), options.features)
    table = source_name(options.segments, "segments")
    segments = tuple(
        SegmentCodes.from_experiment(study.experiment, name, "" if name in own_columns else table)
        for name in study.experiment.segment_names
    )
    with one_blas_thread():
        features = features_for(len(study.experiment), options.features)
        arrays = _study_arrays(study, replace(options, features=features), seed, progress)
        checks = run_checks(study, arrays, seed=seed, level=level, target=target, progress=progress)
    if target is not None:
        require_overlap(checks.transport_weights)
    source = source_name(options.target, "target")
    population = describe_population(study, target, source, checks.transport_weights, options.extra_contexts)
    return PreparedStudy(study, arrays, checks, cost, population, segments, level, seed, options, progress)


def _study_arrays(study: Study, options: EvaluationOptions, seed: int, progress: Progress) -> StudyArrays:
    if study.log_stream is None:
        return StudyArrays.from_study(study, options.features)
    return long_study_arrays(study, study.log_stream, options.features, FOLDS, seed, progress, options.engine)
