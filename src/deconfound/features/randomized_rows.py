"""Every randomized row as numbers, with and without an outcome: what is needed to see why outcomes are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import Experiment, Study
from deconfound.data.encode import UNKNOWN_CODE, encode
from deconfound.design import FloatArray, IntArray
from deconfound.features.blocks import FeatureBlocks
from deconfound.features.study_arrays import ReplayArrays, StudyArrays, n_assignable_models


@dataclass(frozen=True, slots=True)
class RandomizedRows:
    """The rows with an outcome, in the order of ``StudyArrays.experiment``, then those without."""

    outcome: FloatArray  # (n,) NaN where it is missing
    model: IntArray  # (n,) into study.models, then study.uncompared_models
    cluster: IntArray  # (n,) the given clusters, or else the contexts
    context: IntArray  # (n,)
    propensity: FloatArray  # (n,) of the assigned model
    statistics: FloatArray  # (n, r) surface statistics of the output, then feature columns
    deviations: FloatArray  # (n, r) the same minus the mean of all replayed outputs on the context; 0 if none is
    modifiers: FloatArray  # (n, c) words and statistics of the context

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Rows without an outcome (n,)."""
        return np.asarray(np.isnan(self.outcome))

    @property
    def noise_clusters(self) -> IntArray:
        """Clusters and contexts (n, 2): rows that share either have correlated noise."""
        return np.column_stack([self.cluster, self.context])

    @classmethod
    def from_study(cls, study: Study, unrated: Experiment, arrays: StudyArrays) -> RandomizedRows:
        """Join both tables; ``arrays`` are those of the rated rows."""
        names = ["context_id", "model", "outcome", "cluster", "propensity"]
        present = [name for name in names if name in unrated.arrow.column_names]
        table = pa.concat_tables([study.experiment.arrow.select(present), unrated.arrow.select(present)])
        blocks = (arrays.experiment.blocks, arrays.featurizer.blocks(unrated.arrow))
        _, context = encode(table["context_id"], None)
        statistics = _stack(blocks, [each.dense for each in blocks])
        has_propensity = "propensity" in present
        return cls(
            outcome=table["outcome"].to_numpy(),
            model=encode(table["model"], (*study.models, *study.uncompared_models))[1],
            cluster=encode(table["cluster"], None)[1] if "cluster" in present else context,
            context=context,
            propensity=table["propensity"].to_numpy()
            if has_propensity
            else np.full(table.num_rows, 1.0 / n_assignable_models(study)),
            statistics=statistics,
            deviations=_deviations(statistics, table["context_id"], arrays.replay),
            modifiers=_stack(blocks, [each.modifiers for each in blocks]),
        )


def _deviations(statistics: FloatArray, context_id: pa.ChunkedArray, replay: ReplayArrays) -> FloatArray:
    """What is special about an output: its statistics minus those that its context leads to."""
    dense = replay.blocks.dense
    if dense is None:
        return statistics
    draws = np.bincount(replay.context, minlength=len(replay.contexts))[:, None]
    columns = dense[replay.blocks.row_index].T
    mean = np.stack([np.bincount(replay.context, weights=c, minlength=len(draws)) for c in columns], axis=1) / draws
    _, context = encode(context_id, replay.contexts)
    known = (context != UNKNOWN_CODE)[:, None]
    return np.where(known, statistics - mean[np.where(known[:, 0], context, 0)], 0.0)


def _stack(blocks: Sequence[FeatureBlocks], columns: Sequence[FloatArray | None]) -> FloatArray:
    """Columns of the distinct rows as columns of all rows; none where a study has no such features."""
    present = [column[each.row_index] for each, column in zip(blocks, columns, strict=True) if column is not None]
    return np.vstack(present) if present else np.zeros((sum(len(each.row_index) for each in blocks), 0))
