"""A4: does anything besides context and model decide an output? A system with a memory of its user violates this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.design import IntArray
from deconfound.diagnose.multiplicity import PendingFinding
from deconfound.diagnose.replay_fidelity import output_difference, pair_with_replay
from deconfound.diagnose.thresholds import MIN_STRATA
from deconfound.diagnose.two_sample_test import TwoSampleResult, two_sample_test
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding

MECHANISM = "output mechanism"


@dataclass(frozen=True, slots=True)
class TooFewReplayedLogContexts:
    """Too few of the log's contexts were replayed to compare its outputs with replay."""

    replayed_log_contexts: int
    minimum_cells: int


def check_output_mechanism(
    arrays: StudyArrays, study: Study, seed: int, level: float
) -> tuple[Finding | PendingFinding, ...]:
    """Whether the log's outputs look like replay of the same context by the same model.

    A difference does not show its cause: a memory, a personal setting, or another version of the model in the log.
    """
    result = compare_log_outputs(arrays, study, seed)
    if result is None:
        details = TooFewReplayedLogContexts(_replayed_log_contexts(arrays, study), MIN_STRATA)
        return (Finding(MECHANISM, "cannot tell", details, "A4"),)
    difference = output_difference(result, "log", arrays, level)
    return (PendingFinding(MECHANISM, "A4", difference, result.auc, result.p_value),)


def compare_log_outputs(arrays: StudyArrays, study: Study, seed: int) -> TwoSampleResult | None:
    """The log's outputs against replay, on the contexts that were replayed."""
    table = study.log_on_replayed.arrow
    if not table.num_rows:
        return None
    context = _codes(table["context_id"], arrays.replay.contexts)
    model = _codes(table["model"], arrays.models)
    blocks = arrays.log.blocks if study.log_stream is None else arrays.featurizer.blocks(table)
    return two_sample_test(pair_with_replay(arrays, blocks, context, model, seed), seed)


def _replayed_log_contexts(arrays: StudyArrays, study: Study) -> int:
    replayed = pa.array(arrays.replay.contexts, pa.string())
    return int(pc.sum(pc.is_in(pc.unique(study.log_on_replayed.arrow["context_id"]), value_set=replayed)).as_py() or 0)


def _codes(column: pa.ChunkedArray, names: tuple[str, ...]) -> IntArray:
    """The position of each value among the names; -1 where it is none of them."""
    codes = pc.fill_null(pc.index_in(column, value_set=pa.array(names, pa.string())), -1)
    return np.asarray(codes.to_numpy(), dtype=np.int64)
