"""A study with a long log as arrays: its log leaves sums behind, and a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from deconfound.data import LogStream, Study, stream_rows
from deconfound.data.encode import encode
from deconfound.design import IntArray, connected_groups, group_folds
from deconfound.engines import EngineOptions
from deconfound.errors import UsageError
from deconfound.features.distinct_rows import ExtractedFeatures
from deconfound.features.featurizer import FeatureSpec
from deconfound.features.log_pass import BATCH_ROWS, LogPass, find_label_centers, long_log_width
from deconfound.features.log_statistics import LogStatistics
from deconfound.features.spread_pass import run_pass
from deconfound.features.study_arrays import LongLogArrays, StudyArrays, experiment_groups
from deconfound.features.summed_proxy import with_proxy_of_sums
from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize
from deconfound.progress import Progress

MAX_ROWS_IN_MEMORY = 6_000
"""Distinct log rows up to which fits work with the rows themselves, at full width; ``auto`` would sample more."""


MAX_SUMS = 50_000_000
"""Numbers in the sums over a log, of which there may be one set per fold and one for other rows: 400 MB each."""


def streamed_if_long(study: Study, features: FeatureSpec) -> Study:
    """The study in content order, with its log as a stream if it has too many distinct rows.

    With very many columns or models, the sums would be larger than the rows, and the log stays as it is.
    """
    if study.log_stream is not None or len(study.log) <= MAX_ROWS_IN_MEMORY:
        return study
    if _sums_size(study, features) > MAX_SUMS or features.count_distinct(study.log) <= MAX_ROWS_IN_MEMORY:
        return study
    contexts = study.replay.arrow["context_id"].unique().to_pylist()
    stream, sample = stream_rows(study.log, contexts, BATCH_ROWS)
    unrated = study.unrated_log
    if unrated is not None:  # as many of them as of the rated rows, or models would seem to be rated less often
        unrated = unrated.filter(np.arange(len(unrated)) < len(unrated) * len(sample) / len(study.log))
    return replace(study, log=sample, log_stream=stream, unrated_log=unrated)


def _sums_size(study: Study, features: FeatureSpec) -> int:
    """Numbers in one set of sums."""
    layout = replace(features, buckets=long_log_width(features.buckets)).layout_of(study.log)
    columns = layout.buckets + sum(layout.block_widths) + 2 + len(study.label_names)
    own = 1 + sum(layout.modifier_widths)
    return columns**2 + (len(study.models) + len(study.uncompared_models)) * (columns + own) * own


def long_study_arrays(
    study: Study,
    stream: LogStream,
    features: FeatureSpec,
    folds: int,
    seed: int,
    progress: Progress,
    engine: EngineOptions | None = None,
) -> StudyArrays:
    """One pass over the log; scales are fitted to the sample, which checks use."""
    planned = plan_pass(study, features, folds, seed)
    statistics = run_pass(planned.log_pass, stream, progress, engine)
    return planned.finish(study, statistics)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedPass:
    """The pass over a log, and the features of its sample."""

    log_pass: LogPass
    extracted: ExtractedFeatures

    def finish(self, study: Study, statistics: LogStatistics) -> StudyArrays:
        """The study as arrays; proxies are learned from the sums where every row has every label."""
        featurizer, labels = self.log_pass.featurizer, self.log_pass.labels
        if labels and not statistics.missing_labels.any():
            featurizer = with_proxy_of_sums(featurizer, statistics, labels, self.log_pass.label_centers)
        elif labels:
            featurizer = featurizer.with_proxy_of_rows(study.log, self.extracted)
            note = Notice(
                f"Some rows of the log lack a label; proxies are learned from {len(study.log):,} of its rows."
            )
            featurizer = replace(featurizer, findings=(*featurizer.findings, Finding("labels", "pass", note)))
        arrays = StudyArrays.from_blocks(study, featurizer, featurizer.to_blocks(self.extracted))
        _, code = encode(pa.chunked_array([pa.array(arrays.replay.contexts, pa.string())]), self.log_pass.contexts)
        fold = np.where(code < 0, -1, self.log_pass.fold[code])
        return replace(arrays, long_log=LongLogArrays(statistics, self.log_pass.models, fold))


def plan_pass(study: Study, features: FeatureSpec, folds: int, seed: int) -> PlannedPass:
    """Everything that is known before the pass; ``folds`` and ``seed`` are those of the later cross-fit."""
    if _sums_size(study, features) > MAX_SUMS:
        raise UsageError(
            f"{study.log.source} is too long for memory, and sums over it would be too large with "
            f"{pluralize(len(study.models), 'model')} and {pluralize(len(study.feature_names), 'feature column')}. "
            "Leave out columns or models, or take a part of the log."
        )
    spec = replace(features, buckets=long_log_width(features.buckets))
    featurizer, extracted = spec.fit_scales(study.log, (study.experiment, study.replay))
    contexts, fold, count = _fold_of_contexts(study, folds, seed)
    log_pass = LogPass(
        featurizer=featurizer,
        models=(*study.models, *study.uncompared_models),
        n_compared=len(study.models),
        contexts=contexts,
        fold=fold,
        folds=count,
        labels=study.label_names,
        label_centers=find_label_centers(study.log.arrow, study.label_names),
        has_clusters="cluster" in study.log.arrow.column_names,
    )
    return PlannedPass(log_pass, extracted)


def _fold_of_contexts(study: Study, folds: int, seed: int) -> tuple[tuple[str, ...], IntArray, int]:
    """The experiment's contexts, the fold of each, and the number of folds; none with a single context."""
    contexts, _ = encode(study.replay.arrow["context_id"], None)
    context, cluster = experiment_groups(study, contexts)
    outer = group_folds(connected_groups(context, cluster), folds, seed)
    fold = np.full(len(contexts), -1)
    for number, each in enumerate(outer):
        fold[context[each.held_out]] = number
    used = np.flatnonzero(fold >= 0)
    return tuple(contexts[at] for at in used), fold[used], len(outer)
