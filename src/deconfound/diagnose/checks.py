"""Run every check on one study, and judge all of its tests together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from deconfound.data import Study
from deconfound.diagnose.compliance import check_compliance
from deconfound.diagnose.context_shift import check_context_shift
from deconfound.diagnose.missing_outcomes import check_missing_outcomes
from deconfound.diagnose.multiplicity import PendingFinding, judge
from deconfound.diagnose.outcome_consistency import check_outcome_consistency
from deconfound.diagnose.output_mechanism import check_output_mechanism
from deconfound.diagnose.randomization import check_randomization
from deconfound.diagnose.replay_fidelity import check_replay_fidelity
from deconfound.diagnose.sanity import check_sanity
from deconfound.errors import check_seed
from deconfound.features import FeatureSpec
from deconfound.features.log_pass import long_log_width
from deconfound.features.study_arrays import StudyArrays
from deconfound.features.summed_study import streamed_if_long
from deconfound.findings import Finding
from deconfound.loading import load_contexts
from deconfound.loading.sources import TableLike
from deconfound.long_experiment import features_for
from deconfound.progress import Progress, no_progress
from deconfound.threads import one_blas_thread
from deconfound.value.multiple_comparisons import check_level
from deconfound.value.transport import TransportWeights, transport_weights

STAGES = 6
DEFAULT_FEATURES = FeatureSpec()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings of one study, and what the estimation needs to know from them."""

    findings: tuple[Finding, ...]
    transport_weights: TransportWeights | None  # toward the target; None without one, or without context features


def check(
    study: Study,
    *,
    seed: int = 0,
    level: float = 0.95,
    features: FeatureSpec = DEFAULT_FEATURES,
    target: TableLike | None = None,
    progress: Progress = no_progress,
) -> tuple[Finding, ...]:
    """Test the assumptions A1 to A5 and the sanity of the tables; notices from loading are in ``study.findings``.

    If every assumption holds, at most 1 - level of studies show a warning from the tests. ``target`` is a file or
    table of the contexts to generalize to, by default the experiment's.
    """
    check_level(level)
    check_seed(seed)
    progress("reading texts", 0.0)
    study = streamed_if_long(study.in_content_order(), features)
    features = features_for(len(study.experiment), features)
    if study.log_stream is not None:  # the columns that an evaluation has, or its numbers would be others
        features = replace(features, buckets=long_log_width(features.buckets))
    arrays = StudyArrays.from_study(study, features)
    contexts = None if target is None else load_contexts(target)
    return run_checks(study, arrays, seed=seed, level=level, target=contexts, progress=progress).findings


def run_checks(
    study: Study,
    arrays: StudyArrays,
    *,
    seed: int = 0,
    level: float = 0.95,
    target: pa.Table | None = None,
    progress: Progress = no_progress,
) -> CheckReport:
    """``check`` for a study that is ordered by content and featurized, with the results that the estimation uses."""
    check_level(level)
    results: list[Finding | PendingFinding] = []
    with one_blas_thread():
        progress("checking for constants, duplicates and leaks", 0 / STAGES)
        results += check_sanity(study)
        progress("checking the randomization", 1 / STAGES)
        results += check_compliance(study)
        results += check_randomization(replace(study, experiment=study.randomized), seed)
        results += check_missing_outcomes(study, arrays, seed)
        progress("checking the replay", 2 / STAGES)
        results += check_replay_fidelity(arrays, seed, level)
        progress("checking the outcomes", 3 / STAGES)
        results += check_outcome_consistency(study, arrays, seed, level)
        progress("checking the log's outputs", 4 / STAGES)
        results += check_output_mechanism(arrays, study, seed, level)
        progress("checking the contexts", 5 / STAGES)
        weights = None if target is None else transport_weights(arrays, study, target, seed)
        results += check_context_shift(study, target, weights, seed)
    return CheckReport(judge(results, level), weights)
